"""The document as Markdown that reads well raw, in a terminal, and rendered, on a forge.

A text becomes one line in which nothing is markup: printable (no terminal escapes, no bidirectional controls), and each
character that Markdown, its tables, autolinks, emoji or formulas could take for more than itself is escaped.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence

from core.masking import printable
from report.document import (
    Block,
    Bullets,
    Entries,
    Entry,
    Line,
    Page,
    Paragraph,
    Piece,
    Section,
    Series,
    Stack,
    Style,
    Table,
    Trend,
)

_MARKUP = re.compile(
    r"[\\`*\[\]<|~$]"  # escapes, code, emphasis, links, tags, tables, struck text, formulas
    r"|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])"  # emphasis; within a word it is none
    r"|&(?=[#A-Za-z])|:(?=//)|:(?=[a-z_][\w+-]*:)|@(?=\w)"  # character references, links, emoji, mentions
    r"|(?<=www)\.",
    re.IGNORECASE,
)
_AT_START = re.compile(r"^(?:[#>]|[-+=](?![0-9A-Za-z])|(?P<digits>\d{1,9})(?P<dot>[.)])(?=\s|$))")
"""What makes a line a heading, a quotation, a list or a rule."""
_BARS = "▁▂▃▄▅▆▇█"
_WIDTH = 40
_MARKS = {Style.GOOD: "█", Style.PLAIN: "▓", Style.DIM: "░", Style.WARN: "▒", Style.BAD: "▚"}


def render(page: Page) -> str:
    """The document as Markdown, ending with a newline."""
    facts = Table(head=[fact.name for fact in page.facts], rows=[[(Piece(fact.shown),) for fact in page.facts]])
    advice = Bullets(items=page.advice or [(Piece("Nothing stands out."),)])
    parts = [f"# {escaped(page.title)}", escaped(page.span)]
    parts += [_line(sentence) for sentence in page.lead]
    parts += [write_block(facts), "## Recommendations", write_block(advice)]
    for section in page.sections:
        parts += _section(section)
    return "\n\n".join(part for part in parts if part) + "\n"


def escaped(text: str) -> str:
    """Any text as a line of Markdown that shows as it is."""
    return _AT_START.sub(_guarded, _inline(text))


def as_code(text: str, *, in_table: bool = False) -> str:
    """Any text as a code span that shows as it is; the fence is longer than any run of backticks in it."""
    flat = _flat(text)
    if not flat:
        return ""
    fence = "`" * (max((len(run) for run in re.findall("`+", flat)), default=0) + 1)
    space = " " if flat.startswith("`") or flat.endswith("`") else ""
    span = f"{fence}{space}{flat}{space}{fence}"
    return span.replace("|", "\\|") if in_table else span


def spark(values: Sequence[float | None], top: float | None = None) -> str:
    """A row of bars, from zero to the largest value; a dot where there is none."""
    highest = top or max((value for value in values if value is not None), default=0.0)
    return "".join("·" if value is None else _BARS[round(7 * value / highest) if highest else 0] for value in values)


def _inline(text: str) -> str:
    return _MARKUP.sub(lambda found: "\\" + found[0], _flat(text))


def _guarded(found: re.Match[str]) -> str:
    return f"{found['digits']}\\{found['dot']}" if found["dot"] else f"\\{found[0]}"


def _flat(text: str) -> str:
    return " ".join(printable(text).split())


def _line(pieces: Line, *, in_table: bool = False) -> str:
    return _AT_START.sub(_guarded, "".join(_piece(piece, in_table) for piece in pieces).strip())


def _piece(piece: Piece, in_table: bool) -> str:
    if piece.style is Style.CODE:
        return as_code(piece.text, in_table=in_table)
    text = _inline(piece.text)
    before = " " if piece.text[:1].isspace() and text else ""
    after = " " if piece.text[-1:].isspace() else ""
    bold = text and piece.style in {Style.STRONG, Style.BAD, Style.WARN}
    return f"{before}**{text}**{after}" if bold else f"{before}{text}{after}"


def _section(section: Section) -> Iterator[str]:
    yield f"## {escaped(section.title)}"
    yield from (write_block(block) for block in section.blocks)


def write_block(block: Block) -> str:
    """One block of the document."""
    for kind, write in _WRITERS:
        if isinstance(block, kind):
            return write(block)
    raise AssertionError(block)


def _paragraph(block: Paragraph) -> str:
    return f"> {_line(block.text)}" if block.aside else _line(block.text)


def _bullets(block: Bullets) -> str:
    return "\n".join(f"- {_line(item)}" for item in block.items)


def _table(block: Table) -> str:
    rows = [
        [escaped(name) for name in block.head],
        *([_line(cell, in_table=True) for cell in row] for row in block.rows),
    ]
    widths = [max(3, *(_columns(row[at]) for row in rows)) for at in range(len(block.head))]
    rule = ["-" * (width - 1) + (":" if at in block.numbers else "-") for at, width in enumerate(widths)]
    lines = [_row(rows[0], widths, block.numbers), "| " + " | ".join(rule) + " |"]
    lines += [_row(row, widths, block.numbers) for row in rows[1:]]
    title = f"**{escaped(block.title)}**\n\n" if block.title else ""
    return title + "\n".join(lines)


def _row(cells: Sequence[str], widths: Sequence[int], numbers: frozenset[int]) -> str:
    padded = []
    for at, (cell, width) in enumerate(zip(cells, widths, strict=True)):
        space = " " * (width - _columns(cell))
        padded.append(space + cell if at in numbers else cell + space)
    return "| " + " | ".join(padded) + " |"


def _columns(text: str) -> int:
    """How many columns of a terminal a text takes."""
    return sum(
        0 if unicodedata.combining(char) else 1 + (unicodedata.east_asian_width(char) in {"W", "F"}) for char in text
    )


def _stack(block: Stack) -> str:
    whole = sum(part.count for part in block.parts)
    if not whole:
        return ""
    bar, reached, filled = "", 0, 0
    for part in block.parts:
        reached += part.count
        cells = round(_WIDTH * reached / whole) - filled
        bar, filled = bar + _MARKS.get(part.style, "▓") * cells, filled + cells
    legend = ", ".join(f"{_MARKS.get(p.style, '▓')} {escaped(p.name)} {p.count}" for p in block.parts if p.count)
    return f"**{escaped(block.title)}** `{bar}` {legend}"


def _trend(block: Trend) -> str:
    rows = [[(Piece(one.name),), *_figures(one)] for one in block.series]
    head = ("", "eight before, and now", "median before", "now", "change")
    return _table(Table(head=head, rows=rows, numbers=frozenset({2, 3})))


def _figures(one: Series) -> list[Line]:
    texts = (spark(one.values, one.top), one.usual, one.shown[-1], one.change)
    return [(Piece(text),) for text in texts]


def _entries(block: Entries) -> str:
    return "\n".join(_entry(number, entry) for number, entry in enumerate(block.items, 1))


def _entry(number: int, entry: Entry) -> str:
    indent = " " * (len(str(number)) + 2)
    lines = [f"{number}. {_line(entry.head)}"]
    lines += [f"{indent}- {_line(one)}" for one in entry.lines]
    lines += [f"{indent}- {escaped(what)}: {as_code(command)}" for what, command in entry.commands]
    return "\n".join(lines)


_WRITERS: tuple[tuple[type, Callable[..., str]], ...] = (
    (Paragraph, _paragraph),
    (Bullets, _bullets),
    (Table, _table),
    (Stack, _stack),
    (Trend, _trend),
    (Entries, _entries),
)
