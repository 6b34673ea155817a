"""Weekly reports as the API shows them: the document in pieces of text, which pages draw; nothing in it is markup.

Its texts were made printable when the report was written (`report.wording.cut`), and are masked as every answer is.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from core.clock import Moment
from report.document import Shape, Style
from report.stored import Filed
from server.query import Query
from server.schemas import Answer


class Piece(Answer):
    """A piece of text; `code` is to be shown to the letter, `task` is the task that it names."""

    text: str
    style: Style
    task: int | None


Line = list[Piece]


class Paragraph(Answer):
    """Running text; `aside` for a remark on what stands above it."""

    kind: Literal[Shape.PARAGRAPH]
    text: Line
    aside: bool


class Bullets(Answer):
    """A list of lines."""

    kind: Literal[Shape.BULLETS]
    items: list[Line]


class Table(Answer):
    """Rows under a head; `numbers` are the columns that hold figures, counted from 0."""

    kind: Literal[Shape.TABLE]
    head: list[str]
    rows: list[list[Line]]
    numbers: list[int]
    title: str


class Part(Answer):
    """A part of a whole; the style is its colour."""

    name: str
    count: int
    style: Style


class Stack(Answer):
    """A whole in its parts, as one bar."""

    kind: Literal[Shape.STACK]
    title: str
    parts: list[Part]


class Plotted(Answer):
    """A figure over time, oldest first; `shown` are the values in words.

    `usual` and `change` say how the last one compares. `bars` is for what is counted from zero, `top` the largest value
    that there can be.
    """

    name: str
    values: list[float | None]
    shown: list[str]
    labels: list[str]
    bars: bool
    top: float | None
    usual: str
    change: str


class Trend(Answer):
    """Several figures over the same spans of time."""

    kind: Literal[Shape.TREND]
    series: list[Plotted]


class Entry(Answer):
    """One thing to look at: a head, lines below it, and commands to copy, each with what it does."""

    head: Line
    style: Style
    lines: list[Line]
    commands: list[tuple[str, str]]
    settled: bool


class Entries(Answer):
    """A numbered list of things to look at."""

    kind: Literal[Shape.ENTRIES]
    items: list[Entry]


Block = Annotated[Paragraph | Bullets | Table | Stack | Trend | Entries, Field(discriminator="kind")]


class Section(Answer):
    """A part of the report with a heading; `name` is its anchor."""

    name: str
    title: str
    blocks: list[Block]


class Fact(Answer):
    """A figure for a glance. `wanted` is 1 where more is better, -1 where less is, 0 where neither can be said."""

    name: str
    shown: str
    value: float | None
    wanted: Literal[-1, 0, 1]


class Page(Answer):
    """The document. `lead` are the sentences that tell the week, `advice` what follows from its figures."""

    title: str
    span: str
    lead: list[Line]
    facts: list[Fact]
    advice: list[Line]
    sections: list[Section]


class ReportRow(Answer):
    """A report. The span and the facts are null where only its Markdown and HTML are there."""

    name: str
    written_at: Moment
    since: Moment | None
    until: Moment | None
    facts: list[Fact] | None


class Reports(Answer):
    """A page of reports, the newest span first; `next_after` is the `after` of the next page, null on the last."""

    reports: list[ReportRow]
    next_after: str | None


class ReportDetail(ReportRow):
    """A report in full; `page` is null where only its Markdown and HTML are there.

    `before` is the report of the span before, of the same kind of name, and `facts_before` are its figures.
    """

    page: Page | None
    before: str | None
    facts_before: list[Fact] | None


class ReportsQuery(Query):
    """Which reports to list."""

    limit: int = Field(20, ge=1, le=100, description="at most so many")
    after: str | None = Field(None, max_length=40, description="the last name of the page before")


class FileQuery(Query):
    """In which form to download a report."""

    form: Literal["markdown", "html"] = Field("markdown", description="`html` needs nothing else to be read")


class ReportIn(BaseModel):
    """Which week the report is to be about; empty for the time since the last checkpoint."""

    model_config = ConfigDict(extra="forbid")

    week: Annotated[str, Field(max_length=20)] = ""


def report_row(filed: Filed) -> ReportRow:
    """A report as the list shows it."""
    return ReportRow(**_facts(filed))


def report_detail(filed: Filed, before: Filed | None) -> ReportDetail:
    """A report in full, beside the figures of the one before."""
    return ReportDetail(
        **_facts(filed),
        page=Page.model_validate(filed.report.page) if filed.report else None,
        before=before.name if before else None,
        facts_before=_facts(before)["facts"] if before else None,
    )


def _facts(filed: Filed) -> dict[str, Any]:
    report = filed.report
    return {
        "name": filed.name,
        "written_at": filed.written_at,
        "since": report and report.since,
        "until": report and report.until,
        "facts": [Fact.model_validate(fact) for fact in report.page.facts] if report else None,
    }
