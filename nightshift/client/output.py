"""Defines output as plain values (fields, tables and lines of cells), and prints it.

A terminal gets Rich's tables and colours. A pipe gets aligned text without colours, in which nothing is cut: columns
are padded with spaces, and a dash stands for an empty value. Rich is imported only for a terminal, because its import
takes longer than the daemon's answer.
"""

from __future__ import annotations

import json
import select
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, TextIO

from nightshift.core.clock import from_text, utc_now
from nightshift.core.text.masking import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text


LAST_COLUMN, GAP = 20, 2
"""Widths in characters: the minimum width of a table's last column, and the gap between columns.

A narrow terminal does not reduce the minimum.
"""


class Tone(StrEnum):
    """The meaning of a cell, such as good or bad. A terminal shows it as a colour; without colours it is not shown."""

    PLAIN = "plain"
    GOOD = "good"
    BAD = "bad"
    WARN = "warn"
    BUSY = "busy"
    DIM = "dim"


@dataclass(frozen=True, slots=True)
class Cell:
    """One line of text. Control characters are made visible, and line breaks and tabs become spaces."""

    text: str
    tone: Tone = Tone.PLAIN

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", printable(self.text).replace("\n", " ").replace("\t", " "))


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields:
    """Pairs of a name and a value, printed one pair per line."""

    pairs: Sequence[tuple[str, Cell]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows of cells under column names. The last column may be long.

    On a narrow terminal, as many of the columns in `spare` as necessary are left out, in the order of `spare`.
    """

    head: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    spare: Sequence[str] = ()

    def within(self, width: int) -> Table:
        """Return a copy of the table without the spare columns that have to be left out for this width."""
        columns, spare = list(range(len(self.head))), list(self.spare)
        chars = [max(map(len, (name, *(row[at].text for row in self.rows)))) for at, name in enumerate(self.head)]
        while spare and sum(chars[at] + GAP for at in columns[:-1]) + LAST_COLUMN > width:
            columns.remove(self.head.index(spare.pop(0)))
        return Table(head=[self.head[at] for at in columns], rows=[[row[at] for at in columns] for row in self.rows])


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """Lines of text, each given as a cell."""

    lines: Sequence[Cell]


Block = Fields | Table | Lines


def cell(value: object, tone: Tone = Tone.PLAIN) -> Cell:
    """Return a value as a cell. An empty value becomes a dash, so that scripts can count columns."""
    text = "" if value is None else str(value)
    return Cell(text if text.strip() else "-", tone)


def cells(*values: object) -> list[Cell]:
    """Return a row of a table. Values that are not cells are converted to cells."""
    return [value if isinstance(value, Cell) else cell(value) for value in values]


def fields(*pairs: tuple[str, object]) -> Fields:
    """Return names with their values. A pair whose value is None, empty or 0 is left out."""
    return Fields(pairs=[(name, cells(value)[0]) for name, value in pairs if value not in {None, "", 0}])


def stamp(at: datetime | str | None, *, short: bool) -> Cell:
    """Return a time as a cell, in local time.

    The full form has seconds and the offset from UTC. The short form leaves out the date if it is today, otherwise the
    seconds.
    """
    if not at:
        return cell(None)
    own = (from_text(at) if isinstance(at, str) else at).astimezone()
    if not short:
        return Cell(own.isoformat(timespec="seconds"))
    today = own.date() == utc_now().astimezone().date()
    return Cell(own.strftime("%H:%M:%S" if today else "%Y-%m-%d %H:%M"))


STYLES = {
    Tone.PLAIN: "",
    Tone.GOOD: "green",
    Tone.BAD: "bold red",
    Tone.WARN: "yellow",
    Tone.BUSY: "cyan",
    Tone.DIM: "dim",
}


class Color(StrEnum):
    """The values of the option `--color`."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


class Printer:
    """Prints answers on standard output, and notes on the standard error stream.

    Args:
        as_json: print answers as JSON documents instead of blocks.
        color: `auto` uses colours on a terminal, unless `NO_COLOR` is set (Rich checks that).
    """

    def __init__(self, *, as_json: bool = False, color: Color = Color.AUTO) -> None:
        self.as_json = as_json
        self._color = color
        self._console: Console | None = None
        self.is_terminal = not as_json and (color is Color.ALWAYS or sys.stdout.isatty())

    def blocks(self, blocks: Sequence[Block]) -> None:
        """Print blocks, with an empty line between them."""
        for number, block in enumerate(blocks):
            if number:
                sys.stdout.write("\n")
                sys.stdout.flush()
            if self.is_terminal:
                self._rich(block)
            else:
                sys.stdout.write("".join(line + "\n" for line in plain_lines(block)))
        sys.stdout.flush()

    def clear(self) -> None:
        """Clear the terminal. If the output is not a terminal, do nothing, so that successive answers are all kept."""
        if self.is_terminal:
            self._terminal().clear()

    def line(self, line: Cell) -> None:
        """Print one line and flush it."""
        if self.is_terminal:
            self._terminal().print(_text(line), soft_wrap=True)
        else:
            sys.stdout.write(line.text + "\n")
            sys.stdout.flush()

    def text(self, text: str) -> None:
        """Print a text unchanged, and flush it."""
        sys.stdout.write(text + "\n")
        sys.stdout.flush()

    def document(self, answer: object) -> None:
        """Print a JSON document on one line."""
        self.text(json.dumps(answer, ensure_ascii=False, separators=(",", ":")))

    def note(self, text: str, stream: TextIO | None = None) -> None:
        """Print a text that is not part of the answer, by default on the standard error stream."""
        print(Cell(text).text, file=stream or sys.stderr, flush=True)

    def reader_has_gone(self) -> bool:
        """Check, without writing, whether the program that reads our output has ended (as in `… | head -1`)."""
        try:
            pipe = select.poll()
            pipe.register(sys.stdout.fileno(), 0)
            return any(events & (select.POLLERR | select.POLLHUP) for _, events in pipe.poll(0))
        except OSError:  # the stream has no file descriptor
            return False

    def _terminal(self) -> Console:
        if self._console is None:
            from rich.console import Console  # noqa: PLC0415  # only a terminal pays for it

            force = True if self._color is Color.ALWAYS else None
            no_color = True if self._color is Color.NEVER else None
            self._console = Console(force_terminal=force, no_color=no_color, highlight=False, markup=False, emoji=False)
        return self._console

    def _rich(self, block: Block) -> None:
        console = self._terminal()
        if isinstance(block, Table):
            console.print(_rich_table(block, console.width), soft_wrap=False)
        elif isinstance(block, Fields):
            console.print(_rich_fields(block))
        else:
            for line in block.lines:
                console.print(_text(line), soft_wrap=True)


def plain_lines(block: Block) -> list[str]:
    """Return the block as aligned lines of text."""
    if isinstance(block, Fields):
        return _align([[f"{name}", value.text] for name, value in block.pairs])
    if isinstance(block, Table):
        head = [name.upper() for name in block.head]
        return _align([head, *([c.text for c in row] for row in block.rows)])
    return [line.text for line in block.lines]


def _align(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    widths[-1:] = [0]
    padded = (zip(row, widths, strict=True) for row in rows)
    return ["  ".join(text.ljust(width) for text, width in row).rstrip() for row in padded]


def _text(line: Cell) -> Text:
    from rich.text import Text  # noqa: PLC0415  # only a terminal pays for it

    return Text(line.text, style=STYLES[line.tone])


def _rich_table(table: Table, width: int) -> object:
    """Build a Rich table for a terminal of this width.

    On a narrow terminal, spare columns are left out first, and then the last column is shortened.
    """
    from rich import box  # noqa: PLC0415  # only a terminal pays for it
    from rich.table import Table as RichTable  # noqa: PLC0415

    table = table.within(width)
    shown = RichTable(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    columns = zip(table.head, *([cell.text for cell in row] for row in table.rows), strict=True)
    fixed = [max(map(len, column)) for column in columns][:-1]
    left = max(LAST_COLUMN, width - sum(fixed) - GAP * len(fixed))
    for name, chars in zip(table.head, [*fixed, left], strict=True):
        shown.add_column(name, no_wrap=True, min_width=min(chars, left), max_width=chars, overflow="ellipsis")
    for row in table.rows:
        shown.add_row(*map(_text, row))
    return shown


def _rich_fields(fields: Fields) -> object:
    from rich.table import Table as RichTable  # noqa: PLC0415  # only a terminal pays for it

    shown = RichTable.grid(padding=(0, 2))
    shown.add_column(style="bold", no_wrap=True)
    shown.add_column(overflow="fold")
    for name, value in fields.pairs:
        shown.add_row(name, _text(value))
    return shown
