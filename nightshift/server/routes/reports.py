"""Serves weekly reports: listing, reading, downloading and creating them."""

from __future__ import annotations

from typing import Annotated

from flask import Response
from pydantic import Field

from nightshift.core.clock import Moment
from nightshift.report import stored
from nightshift.report.page import Document, read
from nightshift.server.bodies import BadBody
from nightshift.server.context import AppContext
from nightshift.server.endpoint import Reply, Routes
from nightshift.server.query import Query
from nightshift.server.schemas import Answer, Sent

routes = Routes()


class ReportRow(Answer):
    """A report in a list, with its name and the time when it was written."""

    name: str
    written_at: Moment


class Reports(Answer):
    """A page of reports, the newest week first. `next_after` is the `after` of the next page, null on the last page."""

    reports: list[ReportRow]
    next_after: str | None


class ReportDetail(ReportRow):
    """A report with its content. `page` holds the report as the HTML elements that the page draws."""

    page: Document


class ReportsQuery(Query):
    """Selection of reports to list."""

    limit: int = Field(20, ge=1, le=100, description="maximum number of results")
    after: str | None = Field(None, max_length=40, description="the last name of the previous page")


class ReportIn(Sent):
    """Week that the report covers. An empty text means the time since the last checkpoint."""

    week: Annotated[str, Field(max_length=20)] = ""


@routes.endpoint("GET", "/api/reports")
def list_reports(context: AppContext, query: ReportsQuery) -> Reports:
    """List the weekly reports, newest first, page by page."""
    folder = context.reports_dir()
    names = stored.list_names(folder)
    if query.after is not None:
        names = names[names.index(query.after) + 1 :] if query.after in names else []
    page = names[: query.limit]
    rows = [ReportRow.from_values(stored.read(folder, name)) for name in page]
    return Reports(reports=rows, next_after=page[-1] if len(names) > len(page) else None)


@routes.endpoint("GET", "/api/report/{name}")
def show_report(context: AppContext, name: str) -> ReportDetail:
    """Show a report with its content."""
    filed = stored.read(context.reports_dir(), name)
    return ReportDetail.from_values(filed, page=read(filed.text))


@routes.endpoint("GET", "/api/report/{name}/file", media="text/markdown")
def download_report(context: AppContext, name: str) -> Response:
    """Download a report as a Markdown file."""
    filed = stored.read(context.reports_dir(), name)
    headers = {"Content-Disposition": f'attachment; filename="{name}.md"'}
    return Response(filed.text, headers=headers, mimetype="text/markdown")


@routes.endpoint("POST", "/api/reports", answers={201: ReportRow})
def make_report(context: AppContext, body: ReportIn | None) -> Reply:
    """Create a report of a week, or of the time since the last checkpoint. It replaces a report with the same name."""
    try:
        path = context.report((body or ReportIn()).week.strip())
    except ValueError as error:
        raise BadBody(f"week: {error}") from None
    row = ReportRow.from_values(stored.read(path.parent, path.stem))
    return Reply(answer=row, status=201, headers={"Location": f"/api/report/{path.stem}"})
