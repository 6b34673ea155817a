"""What can be shown, as plain values: fields, tables and lines made of toned cells. `client.show` prints them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from core.clock import utc_now
from core.masking import printable


class Tone(StrEnum):
    """How a cell is meant; only a terminal with colours shows it."""

    PLAIN = "plain"
    GOOD = "good"
    BAD = "bad"
    WARN = "warn"
    BUSY = "busy"
    DIM = "dim"


@dataclass(frozen=True, slots=True)
class Cell:
    """One line of text; control characters and line breaks in it become visible or spaces."""

    text: str
    tone: Tone = Tone.PLAIN

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", printable(self.text).replace("\n", " ").replace("\t", " "))


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields:
    """Names with their values, one a line."""

    pairs: Sequence[tuple[str, Cell]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows of cells; the last column may be long."""

    head: Sequence[str]
    rows: Sequence[Sequence[Cell]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """Text as it is, a line a cell."""

    lines: Sequence[Cell]


Block = Fields | Table | Lines


def cell(value: object, tone: Tone = Tone.PLAIN) -> Cell:
    """A value as a cell; nothing is shown as a dash, so that columns can be counted."""
    text = "" if value is None else str(value)
    return Cell(text if text.strip() else "-", tone)


def stamp(at: datetime | None, *, local: bool) -> Cell:
    """A time: the owner's own and short on a terminal, UTC to the second where a program may read it."""
    if at is None:
        return cell(None)
    if not local:
        return Cell(at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))
    own = at.astimezone()
    today = own.date() == utc_now().astimezone().date()
    return Cell(own.strftime("%H:%M:%S" if today else "%Y-%m-%d %H:%M"))


def span(seconds: float) -> str:
    """A length of time in its two largest units."""
    whole = int(seconds)
    for size, unit, below_size, below in ((86400, "d", 3600, "h"), (3600, "h", 60, "m"), (60, "m", 1, "s")):
        if whole >= size:
            return f"{whole // size}{unit} {whole % size // below_size}{below}"
    return f"{seconds:.1f}s" if seconds < 10 else f"{whole}s"
