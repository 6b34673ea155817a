"""Weekly reports: listed, read, downloaded, and made when they are wanted."""

from __future__ import annotations

from flask import Response

from nightshift.report import stored
from nightshift.server.bodies import BadBody
from nightshift.server.context import AppContext
from nightshift.server.endpoint import Reply, Routes
from nightshift.server.report_answers import (
    FileQuery,
    ReportDetail,
    ReportIn,
    ReportRow,
    Reports,
    ReportsQuery,
    report_detail,
    report_row,
)

routes = Routes()

_SUFFIXES = {"markdown": (".md", "text/markdown"), "html": (".html", "text/html")}


@routes.endpoint("GET", "/api/reports")
def list_reports(context: AppContext, query: ReportsQuery) -> Reports:
    """List the weekly reports with their figures for a glance, the newest first, page by page."""
    folder = context.reports_dir()
    names = stored.names(folder)
    if query.after is not None:
        names = names[names.index(query.after) + 1 :] if query.after in names else []
    page = names[: query.limit]
    rows = [report_row(stored.read(folder, name)) for name in page]
    return Reports(reports=rows, next_after=page[-1] if len(names) > len(page) else None)


@routes.endpoint("GET", "/api/report/{name}", errors=(400, 404))
def show_report(context: AppContext, name: str) -> ReportDetail:
    """Show a report in full, beside the figures of the one before."""
    folder = context.reports_dir()
    filed = stored.read(folder, name)
    earlier = stored.before(stored.names(folder), name)
    before = stored.read(folder, earlier) if earlier else None
    return report_detail(filed, before)


@routes.endpoint("GET", "/api/report/{name}/file", media="text/markdown", errors=(400, 404))
def download_report(context: AppContext, name: str, query: FileQuery) -> Response:
    """Download a report as a file, in Markdown or HTML."""
    suffix, media = _SUFFIXES[query.form]
    path = stored.path_of(context.reports_dir(), name).with_suffix(suffix)
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        raise stored.UnknownReport(f"there is no {path.name}") from None
    headers = {"Content-Disposition": f'attachment; filename="{path.name}"'}
    return Response(text, headers=headers, mimetype=media)


@routes.endpoint("POST", "/api/reports", answers={201: ReportRow}, errors=(400, 415, 503))
def make_report(context: AppContext, body: ReportIn | None) -> Reply:
    """Make a report of a week, or of the time since the last checkpoint; one of the same name is replaced."""
    try:
        path = context.report((body or ReportIn()).week.strip())
    except ValueError as error:
        raise BadBody(f"week: {error}") from None
    row = report_row(stored.read(path.parent, path.stem))
    return Reply(answer=row, status=201, headers={"Location": f"/api/report/{path.stem}"})
