"""Guesses for single tokens: colons, commas, comparisons, words of other languages, strange characters, prose."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from repair.quick.lexing import (
    CLOSERS,
    HEADERS,
    OPENERS,
    Token,
    code_end,
    first_word,
    spliced_line,
    tokens,
)
from repair.quick.mend import Fault, Guess

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
    """Small changes at the faulty line and the one before it."""
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
            yield Guess(cost=1.2, text=spliced_line(lines, index, 0, len(line), changed), note=note)
    yield from _commas(lines, index, fault)
    yield from _surplus(lines, index, fault)
    if _PROSE.match(line) and first_word(line) not in HEADERS | {"return", "import", "from", "del", "not", "lambda"}:
        text = "\n".join([*lines[:index], *lines[index + 1 :]])
        yield Guess(cost=2.6, text=text, note=f"the line `{line.strip()[:40]}` dropped")


def _plain_characters(lines: list[str], index: int) -> Iterator[Guess]:
    line = lines[index]
    changed = "".join(_ASCII.get(character, character) for character in line)
    if changed != line:
        text = spliced_line(lines, index, 0, len(line), changed)
        yield Guess(cost=0.6, text=text, note="typographic characters become plain ones")
        everywhere = "".join(_ASCII.get(character, character) for character in "\n".join(lines))
        yield Guess(cost=0.9, text=everywhere, note="typographic characters become plain ones")


def _colons(lines: list[str], index: int, fault: Fault | None) -> Iterator[Guess]:
    line = lines[index]
    end = code_end(line)
    note = "a colon put in"
    if first_word(line) in HEADERS and not line[:end].endswith(":"):
        yield Guess(cost=0.8, text=spliced_line(lines, index, end, end, ":"), note=note)
    if fault is not None and "expected ':'" in fault.message:
        column = min(fault.column, len(line))
        place = len(line[:column].rstrip())
        yield Guess(cost=0.9, text=spliced_line(lines, index, place, place, ":"), note=note)
    found = tokens(line)
    for before, token in zip([None, *found], found, strict=False):
        if token.kind in _VALUES or token.text in OPENERS:
            is_key = (
                before is not None
                and before.text in {"{", ","}
                and token.kind == "string"
                and "{" in line[: token.start]
            )
            text = spliced_line(lines, index, token.end, token.end, ":")
            yield Guess(
                cost=0.95 if is_key and not line[token.end :].lstrip().startswith((",", "}")) else 2.2,
                text=text,
                note=note,
            )


def _comparisons(lines: list[str], index: int) -> Iterator[Guess]:
    for token in tokens(lines[index]):
        if token.text == "=":
            cost = 1.0 if first_word(lines[index]) in {"if", "elif", "while", "return", "assert"} else 1.8
            text = spliced_line(lines, index, token.start, token.end, "==")
            yield Guess(cost=cost, text=text, note="`=` becomes `==`")
        elif token.text == "==":
            text = spliced_line(lines, index, token.start, token.end, "=")
            yield Guess(cost=2.3, text=text, note="`==` becomes `=`")


def _printing(lines: list[str], index: int) -> Iterator[Guess]:
    line = lines[index]
    found = re.match(r"(\s*(?:.*:\s+)?)(print|exec)\s+(.*)$", line[: code_end(line)])
    if found:
        inner = found.group(3).rstrip(";")
        new = (
            f"{found.group(1)}{found.group(2)}({inner.rstrip(',')}{', end=' + repr(' ') if inner[-1:] == ',' else ''})"
        )
        text = spliced_line(lines, index, 0, code_end(line), new)
        yield Guess(cost=0.7, text=text, note=f"`{found.group(2)}` is called")
    raised = re.match(r"(\s*(?:raise|except)\s+[\w.]+)\s*,\s*(.*?)(:?)$", line[: code_end(line)])
    if raised:
        head, rest, colon = raised.groups()
        new = f"{head} as {rest}:" if colon else f"{head}({rest})"
        yield Guess(cost=0.9, text=spliced_line(lines, index, 0, code_end(line), new), note="an old form made new")


def _commas(lines: list[str], index: int, fault: Fault | None) -> Iterator[Guess]:
    """A comma between two values that stand side by side, and at the end of a line within brackets."""
    line = lines[index]
    found = [token for token in tokens(line) if token.kind != "comment"]
    sure = fault is not None and "comma" in fault.message
    for left, right in pairwise(found):
        if _ends(left) and _begins(right) and left.text not in {"in", "not", "and", "or", "is", "if", "else", "for"}:
            near = abs(left.end - fault.column) if fault is not None else 10
            cost = (1.0 if sure else 1.9) + min(near, 20) * 0.01
            text = spliced_line(lines, index, left.end, left.end, ",")
            yield Guess(cost=cost, text=text, note="a comma put in")
    if found and _ends(found[-1]):
        cost = 1.1 if sure else 2.0
        yield Guess(
            cost=cost, text=spliced_line(lines, index, found[-1].end, found[-1].end, ","), note="a comma put in"
        )


def _ends(token: Token) -> bool:
    return token.kind in _VALUES or token.text in OPENERS


def _begins(token: Token) -> bool:
    return token.kind in _VALUES or token.text in CLOSERS


def _surplus(lines: list[str], index: int, fault: Fault | None) -> Iterator[Guess]:
    """One token dropped, those near the fault first: a word or sign too many."""
    line = lines[index]
    for token in tokens(line):
        if token.kind == "operator" and token.text not in CLOSERS and token.text not in OPENERS:
            near = min(abs(token.start - fault.column), 20) * 0.02 if fault is not None else 0.4
            text = spliced_line(lines, index, token.start, token.end, "")
            yield Guess(cost=2.4 + near, text=text, note=f"`{token.text}` dropped")
