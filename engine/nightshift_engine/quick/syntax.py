"""Fixes of texts that do not compile: small changes near the compiler's position, the cheapest first.

The fixes change brackets and indentation, correct single tokens (colons, commas, comparisons, words of other languages,
and unusual characters), and remove prose. A fix is kept only if the changed text compiles.
"""

from __future__ import annotations

import builtins
import heapq
import itertools
import re
from collections.abc import Iterator
from itertools import pairwise

from nightshift_engine.quick.fix import (
    CLOSERS,
    HEADERS,
    OPENERS,
    Fault,
    Guess,
    QuickFix,
    Token,
    code_end,
    fault_of,
    first_word,
    indent_of,
    is_header,
    splice_line,
    tokens,
)

_BRACKET_REACH = 12  # maximum number of lines between a bracket and its lost partner
_SINGLE = frozenset({"len", "int", "str", "abs", "float", "bool", "list", "set", "sum", "ord", "chr", "sorted"})
_RELATIONS = frozenset({"==", "!=", "<", ">", "<=", ">=", "in", "not", "is", "and", "or", "if", "else", "for"})
_BEFORE_VALUE = frozenset({"=", "return", "in", "(", "[", "{", ",", "+=", "yield", "==", ":", "+", "-", "*", "not"})

_BUILTINS = frozenset(dir(builtins))

_Open = tuple[int, Token]  # an unpaired bracket: (index of its line, token)


def brackets(lines: list[str], fault: Fault) -> Iterator[Guess]:
    """Insert closing or opening brackets, and drop or replace surplus and wrong ones."""
    last = min(fault.line - 1, len(lines) - 1)
    first = max(0, last - _BRACKET_REACH)
    is_open, strays = _find_unpaired(lines, first, last)
    for line, token in is_open[-4:]:
        yield from _close(lines, line, token, last)
    for line, token in strays[:3]:
        yield from _of_stray(lines, first, line, token)


def _find_unpaired(lines: list[str], first: int, last: int) -> tuple[list[_Open], list[_Open]]:
    """Return the brackets that are open at the end of these lines, and the closing brackets that match nothing."""
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


def _close(lines: list[str], start: int, opener: Token, last: int) -> Iterator[Guess]:
    closer = CLOSERS[opener.text]
    for index in range(start, last + 1):
        line = lines[index]
        line_tokens = tokens(line)
        ends = [token.end for token in line_tokens if token.kind != "comment"]
        for position in ends:
            if index == start and position < opener.end:
                continue
            cost = _closing_cost(line, position, opener, index == start) + 0.3 * (index - start)
            text = splice_line(lines, index, position, position, closer)
            yield Guess(cost=cost, text=text, note=f"`{closer}` put in for the `{opener.text}` that was not closed")
    without = splice_line(lines, start, opener.start, opener.end, "")
    yield Guess(cost=3.5, text=without, note=f"a surplus `{opener.text}` dropped")


def _closing_cost(line: str, position: int, opener: Token, same_line: bool) -> float:
    """Rate how unlikely a closing bracket is at a position.

    It is likeliest at the end of the code, and before a final colon or a comparison operator.
    """
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
    """Drop or replace a closing bracket without an opening bracket, or insert the opening bracket."""
    opener = OPENERS[stray.text]
    yield Guess(
        cost=2.1, text=splice_line(lines, number, stray.start, stray.end, ""), note=f"a surplus `{stray.text}` dropped"
    )
    for other in OPENERS:
        if other != stray.text:
            turned = splice_line(lines, number, stray.start, stray.end, other)
            yield Guess(cost=1.6, text=turned, note=f"`{stray.text}` becomes `{other}`")
            both = splice_line(lines, number, stray.start, stray.start, other)
            yield Guess(cost=1.4, text=both, note=f"`{other}` put in before `{stray.text}`")
    words = set(re.findall(r"\w+", "\n".join(lines)))
    for index in range(max(first, number - 6), number + 1):
        end = stray.start if index == number else len(lines[index])
        for position, cost in _openings(lines[index], end, opener, words):
            text = splice_line(lines, index, position, position, opener)
            note = f"`{opener}` put in for the `{stray.text}` that closed nothing"
            yield Guess(cost=cost + 0.3 * (number - index), text=text, note=note)


def _openings(line: str, end: int, opener: str, words: set[str]) -> Iterator[tuple[int, float]]:
    """Yield positions of a lost opening bracket with costs: between joined words, after a name, or before a value."""
    line_tokens = [token for token in tokens(line) if token.start < end]
    for before, token in zip([None, *line_tokens], line_tokens, strict=False):
        if token.kind == "name":
            yield from _splits(token, before.text if before else "", opener, words)
        after_name = before is not None and before.kind == "name" and before.text not in _BEFORE_VALUE
        value = before is None or before.text in _BEFORE_VALUE
        yield token.start, 1.5 if after_name and opener != "{" else 1.7 if value and opener != "(" else 2.4
        if token.kind == "name" or token.text in OPENERS:
            yield token.end, 2.5
    if end < len(line) and line_tokens:
        yield end, 1.0 if line_tokens[-1].text in _BEFORE_VALUE else 1.5 if line_tokens[-1].kind == "name" else 2.6


def _splits(token: Token, before: str, opener: str, words: set[str]) -> Iterator[tuple[int, float]]:
    """Split a name where a lost bracket joined two words: a known word and a number, or two known words.

    After `def`, `class` or a dot the first word need not be known; there the second word decides.
    """
    if opener == "{":
        return
    for cut in range(1, len(token.text)):
        left, right = token.text[:cut], token.text[cut:]
        is_word = left in words or left in _BUILTINS
        if right.isdigit() and opener == "[" and is_word:
            yield token.start + cut, 0.7
        elif right in words or right in {"self", "cls"} or (right.isdigit() and opener == "("):
            sure = 0.9 if is_word else 0.95 if before in {"def", "class"} else 1.2 if before == "." else 2.0
            yield token.start + cut, sure - 0.03 * min(len(right) if before == "def" else len(left), 10)


def quotes(lines: list[str], fault: Fault) -> Iterator[Guess]:
    """Complete strings that do not end, and drop surplus quotes."""
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
                text = splice_line(lines, number, position, position, mark)
                yield Guess(cost=1.0 + cost, text=text, note=f"a string gets its other `{mark}`")
    for token in lone:
        yield Guess(cost=2.2, text=splice_line(lines, number, token.start, token.end, ""), note="a lone quote dropped")


_TOO_ODD = 2.5


def _oddity(line: str, position: int) -> float:
    """Rate how unusual a line's strings are after a quote was inserted at a position; unpaired quotes are rejected."""
    line_tokens = tokens(line)
    if any(token.text in {'"', "'"} for token in line_tokens):
        return _TOO_ODD
    inside_word = position > 0 and line[position - 1].isalnum() and line[position + 1 : position + 2].isalnum()
    cramped = line[:position].endswith((",", "+", "=")) and line[position + 1 : position + 2] == " "
    wide = line[position + 1 : position + 3] == "  "
    odd = 0.8 if inside_word else 0.2 if cramped or wide else 0.0
    for token in line_tokens:
        if token.kind == "string" and re.search(r"[\[\](){}:,]|[=+] ", token.text.strip("'\"")):
            odd += 0.4
    for left, right in pairwise(line_tokens):
        odd += 0.8 if left.kind == "string" and right.kind in {"string", "name", "number"} else 0.0
    return odd


def _triple(lines: list[str]) -> Iterator[Guess]:
    """End a triple-quoted text after its first line or before a line that looks like code, or drop its quotes."""
    for index, line in enumerate(lines):
        for pair in re.finditer(r"""(?<!")""(?!")|(?<!')''(?!')""", line):
            text = splice_line(lines, index, pair.end(), pair.end(), pair.group()[0])
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
                text = splice_line(lines, index, len(lines[index]), len(lines[index]), mark)
                yield Guess(cost=cost, text=text, note=f"a text gets its last `{mark}`")
            without = splice_line(lines, start, lines[start].find(mark), lines[start].find(mark) + 3, "")
            yield Guess(cost=2.5, text=without, note=f"a lone `{mark}` dropped")


_CODE = re.compile(
    r"\s*(?:def |class |return\b|if .*:|for .* in |while .*:|import |from \w+ import |try:|with |@"
    r"|\w+(?:\.\w+)* [-+*/]?= |\w+\()"
)


_LAYOUT_REACH = 8
_STEP = 4
_WORDS = ("indent", "outside", "expected an", "invalid syntax", "continue", "tab", "expected 'except'")


def layout(lines: list[str], fault: Fault) -> Iterator[Guess]:
    """Move lines and blocks by some columns, so that they fit the lines around them."""
    if any("\t" in indent_of(line) for line in lines):
        for width in (4, 8):
            expanded = [indent_of(line).expandtabs(width) + line.lstrip() for line in lines]
            yield Guess(cost=0.5 + width / 100, text="\n".join(expanded), note="tabs before lines become spaces")
    if not any(word in fault.message for word in _WORDS):
        return
    number = min(fault.line - 1, len(lines) - 1)
    for index in range(max(0, number - _LAYOUT_REACH), min(number + 2, len(lines))):
        if lines[index].strip():
            yield from _shift(lines, index, number)
    yield from _bodies(lines, fault, number)


def _shift(lines: list[str], index: int, fault_index: int) -> Iterator[Guess]:
    """Move a line to a nearby level of indentation, alone or with the following lines that are at least as deep."""
    here = len(indent_of(lines[index]))
    natural = _natural(lines, index)
    for level in _levels(lines, index):
        if level == here:
            continue
        unusual = 0.0 if level in natural else 0.1 if abs(level - here) == _STEP else 0.8
        cost = 1.0 + 0.12 * abs(fault_index - index) + unusual + 0.05 * abs(level - here)
        for end, more in ((index + 1, 0.0), (_block_end(lines, index), 0.25), (_run_end(lines, index), 0.3)):
            if more and end == index + 1:
                continue
            moved = [_move(line, level - here) for line in lines[index:end]]
            text = "\n".join([*lines[:index], *moved, *lines[end:]])
            yield Guess(cost=cost + more, text=text, note=f"line {index + 1} moved to column {level}")


def _move(line: str, by: int) -> str:
    return " " * max(len(indent_of(line)) + by, 0) + line.lstrip() if line.strip() else line


def _beside(lines: list[str], index: int, step: int) -> int | None:
    """Return the index of the next line with text in a direction (1 or -1); None if there is none."""
    index += step
    while 0 <= index < len(lines):
        if lines[index].strip():
            return index
        index += step
    return None


def _natural(lines: list[str], index: int) -> set[int]:
    """Return the levels of indentation that the lines before and after this one suggest.

    After a line that ends with a colon the level is deeper.
    """
    levels: set[int] = set()
    before, after = _beside(lines, index, -1), _beside(lines, index, 1)
    if before is not None:
        level = len(indent_of(lines[before]))
        levels.add(level + 4 if lines[before][: code_end(lines[before])].endswith(":") else level)
    if after is not None:
        level = len(indent_of(lines[after]))
        levels.add(max(level - 4, 0) if is_header(lines[index]) else level)
    return levels


def _levels(lines: list[str], index: int) -> list[int]:
    near = [line for line in lines[max(0, index - _LAYOUT_REACH) : index + _LAYOUT_REACH] if line.strip()]
    levels = {len(indent_of(line)) for line in near} | _natural(lines, index)
    here = len(indent_of(lines[index]))
    return sorted(levels, key=lambda level: abs(level - here))


def _block_end(lines: list[str], index: int) -> int:
    """Return the index after the lines that follow this line and are indented more deeply."""
    level = len(indent_of(lines[index]))
    end = index + 1
    while end < len(lines) and (not lines[end].strip() or len(indent_of(lines[end])) > level):
        end += 1
    while end > index + 1 and not lines[end - 1].strip():
        end -= 1
    return end


def _run_end(lines: list[str], index: int) -> int:
    """Return the index after the lines that are at least as deep as this one; a blank line ends them."""
    level = len(indent_of(lines[index]))
    end = index + 1
    while end < len(lines) and lines[end].strip() and len(indent_of(lines[end])) >= level:
        end += 1
    return end


def _bodies(lines: list[str], fault: Fault, number: int) -> Iterator[Guess]:
    """Add a `pass` to a block that has no body."""
    if "expected an indented block" not in fault.message:
        return
    header = _beside(lines, number, -1) if lines[number].strip() else None
    if header is None:
        header = len(lines) - 1
        while header > 0 and not lines[header].strip():
            header -= 1
    body = " " * (len(indent_of(lines[header])) + 4) + "pass"
    text = "\n".join([*lines[: header + 1], body, *lines[header + 1 :]])
    yield Guess(cost=2.0, text=text, note=f"line {header + 1} gets an empty body")


_ASCII = {
    "‘": "'", "’": "'", "‚": "'", "′": "'", "“": '"', "”": '"', "„": '"', "″": '"', "«": '"', "»": '"', "–": "-",
    "—": "-", "−": "-", "‐": "-", "×": "*", "÷": "/", "≤": "<=", "≥": ">=", "≠": "!=", "…": "...", "，": ",", "：": ":",
    "（": "(", "）": ")", "；": ";", "\u00a0": " ", "\u200b": "", "\ufeff": "", "\u2009": " ", "\u3000": " ",
    "\u200c": "", "\u200d": "", "\u2060": "", "\x00": "",
}  # fmt: skip
_FOREIGN = (
    (r"\belse\s+if\b", "elif"), (r"\b(?:elseif|elsif)\b", "elif"), (r"&&", "and"), (r"\|\|", "or"),
    (r"!(?!=)\s*(?=[\w(])", "not "), (r"\b(\w+)\s*\+\+", r"\1 += 1"), (r"\b(\w+)\s*--(?=\s*$)", r"\1 -= 1"),
    (r"<>", "!="), (r"=>", ">="), (r"=<", "<="), (r"===", "=="), (r"!==", "!="), (r"\bfunction\s+(?=\w+\s*\()", "def "),
    (r";\s*$", ""), (r"\)\s*\{\s*$", "):"), (r"^\s*\}\s*$", ""), (r":\s*=(?!=)", "="), (r"\bthen\b\s*$", ":"),
)  # fmt: skip
_PROSE = re.compile(r"^\s*(?:[-*>#\d.]+\s+)?[A-Za-z][\w'’`*,;()/-]*(?:\s+[\w'’`*,;()/\"-]+){2,}\s*[.:!?…]*\s*$")
_VALUES = frozenset({"name", "number", "string"})


def wording(lines: list[str], fault: Fault) -> Iterator[Guess]:
    """Make small changes at the faulty line and at the line before it."""
    number = min(fault.line - 1, len(lines) - 1)
    before = number - 1
    while before > 0 and not lines[before].strip():
        before -= 1
    for index in dict.fromkeys((number, max(before, 0))):
        extra = 0.0 if index == number else 0.4
        for guess in _at(lines, index, fault if index == number else None):
            yield Guess(cost=guess.cost + extra, text=guess.text, note=guess.note)


def _at(lines: list[str], index: int, fault: Fault | None) -> Iterator[Guess]:
    line = lines[index]
    yield from _plain_characters(lines, index)
    yield from _colons(lines, index, fault)
    yield from _comparisons(lines, index)
    yield from _printing(lines, index)
    for pattern, new in _FOREIGN:
        changed = re.sub(pattern, new, line)
        if changed != line:
            note = f"`{line.strip()}` becomes `{changed.strip()}`"
            yield Guess(cost=1.2, text=splice_line(lines, index, 0, len(line), changed), note=note)
    yield from _commas(lines, index, fault)
    yield from _surplus(lines, index, fault)
    if _PROSE.match(line) and first_word(line) not in HEADERS | {"return", "import", "from", "del", "not", "lambda"}:
        text = "\n".join([*lines[:index], *lines[index + 1 :]])
        yield Guess(cost=2.6, text=text, note=f"the line `{line.strip()[:40]}` dropped")


def _plain_characters(lines: list[str], index: int) -> Iterator[Guess]:
    line = lines[index]
    changed = "".join(_ASCII.get(character, character) for character in line)
    if changed != line:
        text = splice_line(lines, index, 0, len(line), changed)
        yield Guess(cost=0.6, text=text, note="typographic characters become plain ones")
        everywhere = "".join(_ASCII.get(character, character) for character in "\n".join(lines))
        yield Guess(cost=0.9, text=everywhere, note="typographic characters become plain ones")


def _colons(lines: list[str], index: int, fault: Fault | None) -> Iterator[Guess]:
    line = lines[index]
    end = code_end(line)
    note = "a colon put in"
    if first_word(line) in HEADERS and not line[:end].endswith(":"):
        yield Guess(cost=0.8, text=splice_line(lines, index, end, end, ":"), note=note)
    if fault is not None and "expected ':'" in fault.message:
        column = min(fault.column, len(line))
        position = len(line[:column].rstrip())
        yield Guess(cost=0.9, text=splice_line(lines, index, position, position, ":"), note=note)
    line_tokens = tokens(line)
    for before, token in zip([None, *line_tokens], line_tokens, strict=False):
        if token.kind in _VALUES or token.text in OPENERS:
            is_key = (
                before is not None
                and before.text in {"{", ","}
                and token.kind == "string"
                and "{" in line[: token.start]
            )
            text = splice_line(lines, index, token.end, token.end, ":")
            yield Guess(
                cost=0.95 if is_key and not line[token.end :].lstrip().startswith((",", "}")) else 2.2,
                text=text,
                note=note,
            )


def _comparisons(lines: list[str], index: int) -> Iterator[Guess]:
    for token in tokens(lines[index]):
        if token.text == "=":
            cost = 1.0 if first_word(lines[index]) in {"if", "elif", "while", "return", "assert"} else 1.8
            text = splice_line(lines, index, token.start, token.end, "==")
            yield Guess(cost=cost, text=text, note="`=` becomes `==`")
        elif token.text == "==":
            text = splice_line(lines, index, token.start, token.end, "=")
            yield Guess(cost=2.3, text=text, note="`==` becomes `=`")


def _printing(lines: list[str], index: int) -> Iterator[Guess]:
    line = lines[index]
    match = re.match(r"(\s*(?:.*:\s+)?)(print|exec)\s+(.*)$", line[: code_end(line)])
    if match:
        inner = match.group(3).rstrip(";")
        new = (
            f"{match.group(1)}{match.group(2)}({inner.rstrip(',')}{', end=' + repr(' ') if inner[-1:] == ',' else ''})"
        )
        text = splice_line(lines, index, 0, code_end(line), new)
        yield Guess(cost=0.7, text=text, note=f"`{match.group(2)}` is called")
    raised = re.match(r"(\s*(?:raise|except)\s+[\w.]+)\s*,\s*(.*?)(:?)$", line[: code_end(line)])
    if raised:
        head, rest, colon = raised.groups()
        new = f"{head} as {rest}:" if colon else f"{head}({rest})"
        yield Guess(cost=0.9, text=splice_line(lines, index, 0, code_end(line), new), note="an old form made new")


def _commas(lines: list[str], index: int, fault: Fault | None) -> Iterator[Guess]:
    """Insert a comma between two adjacent values, or at the end of a line within brackets."""
    line = lines[index]
    line_tokens = [token for token in tokens(line) if token.kind != "comment"]
    sure = fault is not None and "comma" in fault.message
    for left, right in pairwise(line_tokens):
        if _ends(left) and _begins(right) and left.text not in {"in", "not", "and", "or", "is", "if", "else", "for"}:
            near = abs(left.end - fault.column) if fault is not None else 10
            cost = (1.0 if sure else 1.9) + min(near, 20) * 0.01
            text = splice_line(lines, index, left.end, left.end, ",")
            yield Guess(cost=cost, text=text, note="a comma put in")
    if line_tokens and _ends(line_tokens[-1]):
        cost = 1.1 if sure else 2.0
        yield Guess(
            cost=cost,
            text=splice_line(lines, index, line_tokens[-1].end, line_tokens[-1].end, ","),
            note="a comma put in",
        )


def _ends(token: Token) -> bool:
    return token.kind in _VALUES or token.text in OPENERS


def _begins(token: Token) -> bool:
    return token.kind in _VALUES or token.text in CLOSERS


def _surplus(lines: list[str], index: int, fault: Fault | None) -> Iterator[Guess]:
    """Drop one operator token; tokens near the fault are cheaper."""
    line = lines[index]
    for token in tokens(line):
        if token.kind == "operator" and token.text not in CLOSERS and token.text not in OPENERS:
            near = min(abs(token.start - fault.column), 20) * 0.02 if fault is not None else 0.4
            text = splice_line(lines, index, token.start, token.end, "")
            yield Guess(cost=2.4 + near, text=text, note=f"`{token.text}` dropped")


MOST_TRIES = 400
MOST_ANSWERS = 6
_ROUNDS = 4
_FEWEST_TRIES = 40
_EFFORT = 4_000_000  # limit of the characters compiled while one text is repaired: about two seconds
_FENCE = re.compile(r"^\s*(?:```|~~~)")


def syntax_fixes(path: str, text: str) -> Iterator[QuickFix]:
    """Yield new texts that compile, best first; nothing if the text already compiles.

    If one change is not enough, the search continues from texts that compile further than before.
    """
    fault = fault_of(text)
    if fault is None:
        return
    ending = "\n" if text.endswith("\n") else ""
    seen: set[str] = set()
    for guess in itertools.islice(_solutions(text, fault), MOST_ANSWERS):
        new = guess.text if guess.text.endswith("\n") or not ending else guess.text + ending
        if new not in seen:
            seen.add(new)
            yield QuickFix(path=path, text=new, kind="syntax", note=guess.note)


def _solutions(text: str, fault: Fault) -> Iterator[Guess]:
    """Yield texts that compile, cheapest first, by best-first search over guesses with a limited number of tries."""
    counter = itertools.count()
    waiting: list[tuple[float, int, int, Guess]] = []
    _push(waiting, counter, text, fault, 0, Guess(cost=0.0, text=text, note=""))
    seen, tries = {text}, 0
    most = max(_FEWEST_TRIES, min(MOST_TRIES, _EFFORT // (len(text) + 1)))
    while waiting and tries < most:
        _, _, depth, guess = heapq.heappop(waiting)
        if guess.text in seen:
            continue
        seen.add(guess.text)
        tries += 1
        left = fault_of(guess.text)
        if left is None:
            yield guess
        elif depth < _ROUNDS and _further(left, guess.text, fault, text):
            _push(waiting, counter, guess.text, left, depth, guess)


def _push(
    waiting: list[tuple[float, int, int, Guess]],
    counter: itertools.count[int],
    text: str,
    fault: Fault,
    depth: int,
    base: Guess,
) -> None:
    for guess in guesses(text, fault):
        note = f"{base.note}; {guess.note}" if base.note else guess.note
        next_guess = Guess(cost=base.cost + guess.cost, text=guess.text, note=note)
        heapq.heappush(waiting, (next_guess.cost, next(counter), depth + 1, next_guess))


def _further(left: Fault, text: str, fault: Fault, before: str) -> bool:
    """Check whether the fault moved down by at least one line, counted from the start and from the end of the text."""
    gone = left.line - fault.line
    still = (text.count("\n") - left.line) - (before.count("\n") - fault.line)
    return gone >= 1 and still <= -1


def guesses(text: str, fault: Fault) -> Iterator[Guess]:
    """Yield changed texts that may compile, in no particular order."""
    lines = text.split("\n")
    yield from _remove_fences(lines)
    yield from wording(lines, fault)
    yield from layout(lines, fault)
    yield from brackets(lines, fault)
    yield from quotes(lines, fault)


def _remove_fences(lines: list[str]) -> Iterator[Guess]:
    """Drop the code fences (lines such as ```) around the code."""
    marks = [index for index, line in enumerate(lines) if _FENCE.match(line)]
    if not marks:
        return
    note = "the marks of a document around the code dropped"
    pairs = list(zip(marks[::2], [*marks[1::2], len(lines)][: len(marks[::2])], strict=False))
    blocks = ["\n".join(lines[start + 1 : end]) for start, end in pairs]
    yield Guess(cost=0.3, text="\n".join(blocks), note=note)
    yield Guess(cost=0.4, text=max(blocks, key=len), note=note)
    yield Guess(cost=0.5, text="\n".join(lines[: marks[0]]), note=note)
    yield Guess(cost=0.2, text="\n".join(line for line in lines if not _FENCE.match(line)), note=note)
