"""Finds the lines of a text that a change wrote."""

from __future__ import annotations

from difflib import SequenceMatcher
from itertools import takewhile


def list_written_lines(before: str, after: str) -> frozenset[int]:
    """Return the lines of `after` that are new, changed, or next to deleted lines; lines are counted from 1."""
    old, new = _lines(before), _lines(after)
    head = _same(old, new)
    tail = _same(old[head:][::-1], new[head:][::-1])
    match = SequenceMatcher(None, old[head : len(old) - tail], new[head : len(new) - tail], autojunk=False)
    lines: set[int] = set()
    for tag, _, _, start, end in match.get_opcodes():
        if tag == "delete":
            lines |= {head + start, head + start + 1}
        elif tag != "equal":
            lines |= set(range(head + start + 1, head + end + 1))
    return frozenset(lines)


def _lines(text: str) -> list[str]:
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n") if text else []


def _same(first: list[str], other: list[str]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, other, strict=False)))
