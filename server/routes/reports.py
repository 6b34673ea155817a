"""Weekly reports: listed, read, downloaded, and made when they are wanted."""

from __future__ import annotations

from flask import Response

from report import stored
from server.bodies import BadBody
from server.endpoint import Call, Endpoint, Reply
from server.report_answers import (
    FileQuery,
    ReportDetail,
    ReportIn,
    ReportRow,
    Reports,
    ReportsQuery,
    report_detail,
    report_row,
)

_SUFFIXES = {"markdown": (".md", "text/markdown"), "html": (".html", "text/html")}


def list_reports(call: Call) -> Reply:
    """A page of reports."""
    query, folder = call.asked(ReportsQuery), call.context.reports_dir()
    names = stored.names(folder)
    if query.after is not None:
        names = names[names.index(query.after) + 1 :] if query.after in names else []
    page = names[: query.limit]
    rows = [report_row(stored.read(folder, name)) for name in page]
    return Reply(answer=Reports(reports=rows, next_after=page[-1] if len(names) > len(page) else None))


def show_report(call: Call) -> Reply:
    """One report, beside the one before."""
    folder, name = call.context.reports_dir(), call.text("name")
    filed = stored.read(folder, name)
    earlier = stored.before(stored.names(folder), name)
    before = stored.read(folder, earlier) if earlier else None
    return Reply(answer=report_detail(filed, before))


def download_report(call: Call) -> Response:
    """One report as a file."""
    suffix, media = _SUFFIXES[call.asked(FileQuery).form]
    path = stored.path_of(call.context.reports_dir(), call.text("name")).with_suffix(suffix)
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        raise stored.UnknownReport(f"there is no {path.name}") from None
    headers = {"Content-Disposition": f'attachment; filename="{path.name}"'}
    return Response(text, headers=headers, mimetype=media)


def make_report(call: Call) -> Reply:
    """Make a report now."""
    try:
        path = call.context.report(call.optional_body(ReportIn).week.strip())
    except ValueError as error:
        raise BadBody(f"week: {error}") from None
    row = report_row(stored.read(path.parent, path.stem))
    return Reply(answer=row, status=201, headers={"Location": f"/api/report/{path.stem}"})


ENDPOINTS = (
    Endpoint(
        name="list_reports",
        view=list_reports,
        method="GET",
        path="/api/reports",
        summary="The weekly reports with their figures for a glance, the newest first, page by page.",
        query=ReportsQuery,
        answers={200: Reports},
        errors=(400,),
    ),
    Endpoint(
        name="make_report",
        view=make_report,
        method="POST",
        path="/api/reports",
        summary="Make a report of a week, or of the time since the last checkpoint; one of the same name is replaced.",
        body=ReportIn,
        answers={201: ReportRow},
        errors=(400, 415, 503),
    ),
    Endpoint(
        name="show_report",
        view=show_report,
        method="GET",
        path="/api/report/{name}",
        summary="One report in full, beside the figures of the one before.",
        texts=("name",),
        answers={200: ReportDetail},
        errors=(400, 404),
    ),
    Endpoint(
        name="download_report",
        view=download_report,
        method="GET",
        path="/api/report/{name}/file",
        summary="One report as a file, in Markdown or HTML.",
        texts=("name",),
        query=FileQuery,
        media="text/markdown",
        errors=(400, 404),
    ),
)
