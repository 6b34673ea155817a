"""Guesses for indentation: tabs among spaces, lines that slipped, blocks without a body."""

from __future__ import annotations

from collections.abc import Iterator

from repair.quick.lexing import code_end, indent_of, is_header
from repair.quick.mend import Fault, Guess

_REACH = 8
_STEP = 4
_WORDS = ("indent", "outside", "expected an", "invalid syntax", "continue", "tab", "expected 'except'")


def layout(lines: list[str], fault: Fault) -> Iterator[Guess]:
    """Lines and blocks moved by some columns, so that they fit what is around them."""
    if any("\t" in indent_of(line) for line in lines):
        for width in (4, 8):
            expanded = [indent_of(line).expandtabs(width) + line.lstrip() for line in lines]
            yield Guess(cost=0.5 + width / 100, text="\n".join(expanded), note="tabs before lines become spaces")
    if not any(word in fault.message for word in _WORDS):
        return
    number = min(fault.line - 1, len(lines) - 1)
    for index in range(max(0, number - _REACH), min(number + 2, len(lines))):
        if lines[index].strip():
            yield from _shifted(lines, index, number)
    yield from _bodies(lines, fault, number)


def _shifted(lines: list[str], index: int, fault_index: int) -> Iterator[Guess]:
    """One line, or it with all that is deeper or as deep, moved to a level that is used near it."""
    here = len(indent_of(lines[index]))
    natural = _natural(lines, index)
    for level in _levels(lines, index):
        if level == here:
            continue
        strange = 0.0 if level in natural else 0.1 if abs(level - here) == _STEP else 0.8
        cost = 1.0 + 0.12 * abs(fault_index - index) + strange + 0.05 * abs(level - here)
        for end, more in ((index + 1, 0.0), (_block_end(lines, index), 0.25), (_run_end(lines, index), 0.3)):
            if more and end == index + 1:
                continue
            moved = [_moved(line, level - here) for line in lines[index:end]]
            text = "\n".join([*lines[:index], *moved, *lines[end:]])
            yield Guess(cost=cost + more, text=text, note=f"line {index + 1} moved to column {level}")


def _moved(line: str, by: int) -> str:
    return " " * max(len(indent_of(line)) + by, 0) + line.lstrip() if line.strip() else line


def _beside(lines: list[str], index: int, step: int) -> int | None:
    """The index of the next line with text in a direction."""
    index += step
    while 0 <= index < len(lines):
        if lines[index].strip():
            return index
        index += step
    return None


def _natural(lines: list[str], index: int) -> set[int]:
    """The levels that the neighbours suggest: that of the line before, deeper behind a header, that of the next."""
    found: set[int] = set()
    before, after = _beside(lines, index, -1), _beside(lines, index, 1)
    if before is not None:
        level = len(indent_of(lines[before]))
        found.add(level + 4 if lines[before][: code_end(lines[before])].endswith(":") else level)
    if after is not None:
        level = len(indent_of(lines[after]))
        found.add(max(level - 4, 0) if is_header(lines[index]) else level)
    return found


def _levels(lines: list[str], index: int) -> list[int]:
    near = [line for line in lines[max(0, index - _REACH) : index + _REACH] if line.strip()]
    levels = {len(indent_of(line)) for line in near} | _natural(lines, index)
    here = len(indent_of(lines[index]))
    return sorted(levels, key=lambda level: abs(level - here))


def _block_end(lines: list[str], index: int) -> int:
    """Behind the lines that are deeper than the one with this index."""
    level = len(indent_of(lines[index]))
    end = index + 1
    while end < len(lines) and (not lines[end].strip() or len(indent_of(lines[end])) > level):
        end += 1
    while end > index + 1 and not lines[end - 1].strip():
        end -= 1
    return end


def _run_end(lines: list[str], index: int) -> int:
    """Behind the lines up to the next blank one that are at least as deep."""
    level = len(indent_of(lines[index]))
    end = index + 1
    while end < len(lines) and lines[end].strip() and len(indent_of(lines[end])) >= level:
        end += 1
    return end


def _bodies(lines: list[str], fault: Fault, number: int) -> Iterator[Guess]:
    """A `pass` for a block that has no body."""
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
