"""Weekly reports as the API shows them: their figures, and what they say as HTML elements, which pages draw.

Their texts were made printable when the report was written (`report.markup`), and are masked as every answer is.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from nightshift.core.clock import Moment
from nightshift.report.html import Document, read
from nightshift.report.stored import Fact, Filed
from nightshift.server.query import Query
from nightshift.server.schemas import Answer


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
    """A report in full.

    `before` is the report of the span before, of the same kind of name, and `facts_before` are its figures.
    """

    page: Document
    before: str | None
    facts_before: list[Fact] | None


class ReportsQuery(Query):
    """Selection of reports to list."""

    limit: int = Field(20, ge=1, le=100, description="at most so many")
    after: str | None = Field(None, max_length=40, description="the last name of the page before")


class FileQuery(Query):
    """In which form to download a report."""

    form: Literal["markdown", "html"] = Field("markdown", description="`html` needs nothing else to be read")


class ReportIn(BaseModel):
    """Week of the report; empty for the time since the last checkpoint."""

    model_config = ConfigDict(extra="forbid")

    week: Annotated[str, Field(max_length=20)] = ""


def report_row(filed: Filed) -> ReportRow:
    """A report as the list shows it."""
    return ReportRow(**_row(filed))


def report_detail(filed: Filed, before: Filed | None) -> ReportDetail:
    """A report in full, beside the figures of the one before."""
    return ReportDetail(
        **_row(filed),
        page=read(filed.text, filed.report.trend if filed.report else ()),
        before=before.name if before else None,
        facts_before=_facts(before) if before else None,
    )


def _row(filed: Filed) -> dict[str, Any]:
    report = filed.report
    return {
        "name": filed.name,
        "written_at": filed.written_at,
        "since": report and report.since,
        "until": report and report.until,
        "facts": _facts(filed),
    }


def _facts(filed: Filed) -> list[Fact] | None:
    return list(filed.report.facts) if filed.report else None
