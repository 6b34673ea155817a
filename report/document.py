"""The report as a document: what it says, apart from how Markdown and HTML write it.

The sections make it from the figures, once; `markdown` and `html` only write it down, and pages draw it from what
`stored` keeps. So they can never disagree, and there is one place in each where a foreign text is escaped. Every text
here may be foreign.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from enum import Enum, StrEnum
from typing import Any, Literal

Mask = Callable[[str], str]


class Style(StrEnum):
    """How a piece of text stands out. CODE is shown to the letter; the last three say what it means."""

    PLAIN = "plain"
    STRONG = "strong"
    CODE = "code"
    DIM = "dim"
    GOOD = "good"
    WARN = "warn"
    BAD = "bad"


class Shape(StrEnum):
    """What kind a block is; stored with it, so that it can be told from others when it is read again."""

    PARAGRAPH = "paragraph"
    BULLETS = "bullets"
    TABLE = "table"
    STACK = "stack"
    TREND = "trend"
    ENTRIES = "entries"


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of text; `task` is the id of the task that it names, where it names one."""

    text: str
    style: Style = Style.PLAIN
    task: int | None = None


Line = tuple[Piece, ...]
"""A line of text, in pieces that follow each other without a space."""


def line(*parts: str | Piece) -> Line:
    """A line of pieces; plain text may stand for itself."""
    return tuple(part if isinstance(part, Piece) else Piece(part) for part in parts)


def code(text: str) -> Piece:
    """A name, a path or a command."""
    return Piece(text, Style.CODE)


def strong(text: str) -> Piece:
    """What the eye should find."""
    return Piece(text, Style.STRONG)


def of_task(task_id: int, text: str = "") -> Piece:
    """A task by its id, or by a text that stands for it."""
    return Piece(text or str(task_id), task=task_id)


def dim(text: str) -> Piece:
    """What need not be read."""
    return Piece(text, Style.DIM)


@dataclass(frozen=True, slots=True, kw_only=True)
class Paragraph:
    """Running text; `aside` for a remark on what stands above it."""

    kind: Literal[Shape.PARAGRAPH] = Shape.PARAGRAPH
    text: Line
    aside: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Bullets:
    """A list of lines."""

    kind: Literal[Shape.BULLETS] = Shape.BULLETS
    items: Sequence[Line]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows under a head; `numbers` are the columns that hold figures, counted from 0. `title` names it."""

    kind: Literal[Shape.TABLE] = Shape.TABLE
    head: Sequence[str]
    rows: Sequence[Sequence[Line]]
    numbers: frozenset[int] = frozenset()
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part of a whole; the style is its colour."""

    name: str
    count: int
    style: Style = Style.PLAIN


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """A whole in its parts, as one bar."""

    kind: Literal[Shape.STACK] = Shape.STACK
    title: str
    parts: Sequence[Part]


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """A figure over time, oldest first; None where it is not known. `shown` are the same values in words.

    `bars` for what is counted from zero, otherwise a line. `top` is the largest value that there can be, if one is.
    """

    name: str
    values: Sequence[float | None]
    shown: Sequence[str]
    labels: Sequence[str]
    bars: bool = False
    top: float | None = None
    usual: str = ""
    """The median of the values but the last, in words."""
    change: str = ""
    """The last value against that, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """Several figures over the same spans of time."""

    kind: Literal[Shape.TREND] = Shape.TREND
    series: Sequence[Series]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One thing to look at: a head, lines below it, and commands to copy, each with what it does."""

    head: Line
    style: Style
    lines: Sequence[Line]
    commands: Sequence[tuple[str, str]] = ()
    settled: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Entries:
    """A numbered list of things to look at."""

    kind: Literal[Shape.ENTRIES] = Shape.ENTRIES
    items: Sequence[Entry]


Block = Paragraph | Bullets | Table | Stack | Trend | Entries


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of the report with a heading; `name` is its anchor."""

    name: str
    title: str
    blocks: Sequence[Block] = field(default_factory=tuple)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A figure for a glance. `value` is what `shown` says in words, None where it is not known.

    `wanted` is 1 where more is better, -1 where less is, and 0 where neither can be said.
    """

    name: str
    shown: str
    value: float | None = None
    wanted: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """The whole report. `lead` are the sentences that tell the week, `facts` figures for a glance with their names."""

    title: str
    span: str
    lead: Sequence[Line]
    facts: Sequence[Fact]
    advice: Sequence[Line]
    sections: Sequence[Section]


def masked(page: Page, mask: Mask) -> Page:
    """The document with every text passed through `mask`."""
    found: Page = _masked(page, mask)
    return found


def _masked(part: Any, mask: Mask) -> Any:
    if isinstance(part, str):
        return part if isinstance(part, Enum) else mask(part)
    if isinstance(part, list | tuple):
        return type(part)(_masked(each, mask) for each in part)
    if is_dataclass(part) and not isinstance(part, type):
        return replace(part, **{each.name: _masked(getattr(part, each.name), mask) for each in fields(part)})
    return part
