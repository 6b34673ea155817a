"""Guesses for brackets and quotes that are missing, surplus or of the wrong shape."""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterator
from itertools import pairwise

from repair.quick.lexing import CLOSERS, OPENERS, Token, code_end, indent_of, spliced_line, tokens
from repair.quick.mend import Fault, Guess

_REACH = 12  # lines between a bracket and its lost partner
_SINGLE = frozenset({"len", "int", "str", "abs", "float", "bool", "list", "set", "sum", "ord", "chr", "sorted"})
_RELATIONS = frozenset({"==", "!=", "<", ">", "<=", ">=", "in", "not", "is", "and", "or", "if", "else", "for"})
_BEFORE_VALUE = frozenset({"=", "return", "in", "(", "[", "{", ",", "+=", "yield", "==", ":", "+", "-", "*", "not"})

_BUILTINS = frozenset(dir(builtins))

_Open = tuple[int, Token]  # the index of the line, the bracket


def brackets(lines: list[str], fault: Fault) -> Iterator[Guess]:
    """Closers put in, openers put in, surplus and wrong ones taken away or turned."""
    last = min(fault.line - 1, len(lines) - 1)
    first = max(0, last - _REACH)
    is_open, strays = _unpaired(lines, first, last)
    for line, token in is_open[-4:]:
        yield from _closed(lines, line, token, last)
    for line, token in strays[:3]:
        yield from _of_stray(lines, first, line, token)


def _unpaired(lines: list[str], first: int, last: int) -> tuple[list[_Open], list[_Open]]:
    """The brackets that are open at the end of these lines, and the closers that close nothing or the wrong one."""
    stack: list[_Open] = []
    strays: list[_Open] = []
    for index in range(first, last + 1):
        for token in tokens(lines[index]):
            if token.text in CLOSERS:
                stack.append((index, token))
            elif token.text in OPENERS:
                if stack and CLOSERS[stack[-1][1].text] == token.text:
                    stack.pop()
                else:
                    strays.append((index, token))
    return stack, strays


def _closed(lines: list[str], start: int, opener: Token, last: int) -> Iterator[Guess]:
    closer = CLOSERS[opener.text]
    for index in range(start, last + 1):
        line = lines[index]
        found = tokens(line)
        ends = [token.end for token in found if token.kind != "comment"]
        for position in ends:
            if index == start and position < opener.end:
                continue
            cost = _closing_cost(line, position, opener, index == start) + 0.3 * (index - start)
            text = spliced_line(lines, index, position, position, closer)
            yield Guess(cost=cost, text=text, note=f"`{closer}` put in for the `{opener.text}` that was not closed")
    without = spliced_line(lines, start, opener.start, opener.end, "")
    yield Guess(cost=3.5, text=without, note=f"a surplus `{opener.text}` dropped")


def _closing_cost(line: str, position: int, opener: Token, same_line: bool) -> float:
    """How unlikely a closer belongs there: best at the end, before a final colon, or before what relates a call."""
    rest = line[position : code_end(line)].strip()
    inside = line[opener.end : position] if same_line else line[:position]
    caller = re.search(r"(\w+)$", line[: opener.start]) if same_line else None
    following = tokens(rest)[0].text if rest else ""
    if caller and caller.group(1) in _SINGLE and following in _RELATIONS and "," not in inside and inside.strip():
        return 0.9
    if rest in {"", ":"}:
        return 1.0
    if set(rest) <= set(")]}:,"):
        return 1.3 if rest[0] != "," else 1.5
    if following in _RELATIONS:
        return 1.8
    return 2.0 if following in {",", ":", "+", "-", "*", "/", "%", "=", "."} else 3.0


def _of_stray(lines: list[str], first: int, number: int, stray: Token) -> Iterator[Guess]:
    """A closer whose opener is missing, or that is surplus, or that has the wrong shape."""
    opener = OPENERS[stray.text]
    yield Guess(
        cost=2.1, text=spliced_line(lines, number, stray.start, stray.end, ""), note=f"a surplus `{stray.text}` dropped"
    )
    for other in OPENERS:
        if other != stray.text:
            turned = spliced_line(lines, number, stray.start, stray.end, other)
            yield Guess(cost=1.6, text=turned, note=f"`{stray.text}` becomes `{other}`")
            both = spliced_line(lines, number, stray.start, stray.start, other)
            yield Guess(cost=1.4, text=both, note=f"`{other}` put in before `{stray.text}`")
    words = set(re.findall(r"\w+", "\n".join(lines)))
    for index in range(max(first, number - 6), number + 1):
        end = stray.start if index == number else len(lines[index])
        for position, cost in _openings(lines[index], end, opener, words):
            text = spliced_line(lines, index, position, position, opener)
            note = f"`{opener}` put in for the `{stray.text}` that closed nothing"
            yield Guess(cost=cost + 0.3 * (number - index), text=text, note=note)


def _openings(line: str, end: int, opener: str, words: set[str]) -> Iterator[tuple[int, float]]:
    """Where an opener may have stood: between words that ran together, after a caller, before a value."""
    found = [token for token in tokens(line) if token.start < end]
    for before, token in zip([None, *found], found, strict=False):
        if token.kind == "name":
            yield from _splits(token, before.text if before else "", opener, words)
        after_name = before is not None and before.kind == "name" and before.text not in _BEFORE_VALUE
        value = before is None or before.text in _BEFORE_VALUE
        yield token.start, 1.5 if after_name and opener != "{" else 1.7 if value and opener != "(" else 2.4
        if token.kind == "name" or token.text in OPENERS:
            yield token.end, 2.5
    if end < len(line) and found:
        yield end, 1.0 if found[-1].text in _BEFORE_VALUE else 1.5 if found[-1].kind == "name" else 2.6


def _splits(token: Token, before: str, opener: str, words: set[str]) -> Iterator[tuple[int, float]]:
    """Words that ran together where an opener was lost: a known word and a number, two known words.

    What is defined, and an attribute, need not be known: there the second word decides.
    """
    if opener == "{":
        return
    for cut in range(1, len(token.text)):
        left, right = token.text[:cut], token.text[cut:]
        known = left in words or left in _BUILTINS
        if right.isdigit() and opener == "[" and known:
            yield token.start + cut, 0.7
        elif right in words or right in {"self", "cls"} or (right.isdigit() and opener == "("):
            sure = 0.9 if known else 0.95 if before in {"def", "class"} else 1.2 if before == "." else 2.0
            yield token.start + cut, sure - 0.03 * min(len(right) if before == "def" else len(left), 10)


def quotes(lines: list[str], fault: Fault) -> Iterator[Guess]:
    """Strings that do not end, and quotes too many."""
    number = min(fault.line - 1, len(lines) - 1)
    if "triple-quoted" in fault.message:
        yield from _triple(lines)
        return
    line = lines[number]
    lone = [token for token in tokens(line) if token.text in {'"', "'"}]
    for mark in dict.fromkeys(token.text for token in lone):
        for position in range(len(indent_of(line)), len(line.rstrip()) + 1):
            cost = _oddity(line[:position] + mark + line[position:], position)
            if cost < _TOO_ODD:
                text = spliced_line(lines, number, position, position, mark)
                yield Guess(cost=1.0 + cost, text=text, note=f"a string gets its other `{mark}`")
    for token in lone:
        yield Guess(cost=2.2, text=spliced_line(lines, number, token.start, token.end, ""), note="a lone quote dropped")


_TOO_ODD = 2.5


def _oddity(line: str, position: int) -> float:
    """How strange the strings of a line are into which a quote was put at this position; lone quotes will not do."""
    found = tokens(line)
    if any(token.text in {'"', "'"} for token in found):
        return _TOO_ODD
    inside_word = position > 0 and line[position - 1].isalnum() and line[position + 1 : position + 2].isalnum()
    cramped = line[:position].endswith((",", "+", "=")) and line[position + 1 : position + 2] == " "
    wide = line[position + 1 : position + 3] == "  "
    odd = 0.8 if inside_word else 0.2 if cramped or wide else 0.0
    for token in found:
        if token.kind == "string" and re.search(r"[\[\](){}:,]|[=+] ", token.text.strip("'\"")):
            odd += 0.4
    for left, right in pairwise(found):
        odd += 0.8 if left.kind == "string" and right.kind in {"string", "name", "number"} else 0.0
    return odd


def _triple(lines: list[str]) -> Iterator[Guess]:
    """A text in three quotes that does not end: at the end of its first line, or before what looks like code again."""
    for index, line in enumerate(lines):
        for lame in re.finditer(r"""(?<!")""(?!")|(?<!')''(?!')""", line):
            text = spliced_line(lines, index, lame.end(), lame.end(), lame.group()[0])
            yield Guess(cost=0.9, text=text, note="two quotes become three")
    for mark in ('"""', "'''"):
        opened = [index for index, line in enumerate(lines) if line.count(mark) % 2]
        if len(opened) % 2 == 0:
            continue
        for start in opened:
            for index in range(start, len(lines)):
                after = lines[index + 1] if index + 1 < len(lines) else ""
                ends = not after.strip() or index + 1 == len(lines) or bool(_CODE.match(after))
                cost = (1.0 if ends else 2.0) + 0.05 * (index - start)
                text = spliced_line(lines, index, len(lines[index]), len(lines[index]), mark)
                yield Guess(cost=cost, text=text, note=f"a text gets its last `{mark}`")
            without = spliced_line(lines, start, lines[start].find(mark), lines[start].find(mark) + 3, "")
            yield Guess(cost=2.5, text=without, note=f"a lone `{mark}` dropped")


_CODE = re.compile(
    r"\s*(?:def |class |return\b|if .*:|for .* in |while .*:|import |from \w+ import |try:|with |@"
    r"|\w+(?:\.\w+)* [-+*/]?= |\w+\()"
)
