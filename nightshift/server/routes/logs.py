"""Serves pages of the log; the live stream is served outside Flask."""

from __future__ import annotations

from collections.abc import Iterator

from flask import Response

from nightshift.core.clock import utc_now
from nightshift.server.context import AppContext
from nightshift.server.endpoint import Endpoint, Routes
from nightshift.server.log.log_query import FollowQuery, LogsQuery, TextQuery, check_place
from nightshift.server.schemas import Logs, log_line
from nightshift.storage.db.event_log import LogReader

DOWNLOAD_PAGE = 500
"""Number of events that a download reads at a time."""
routes = Routes()


@routes.endpoint("GET", "/api/logs")
def list_logs(context: AppContext, query: LogsQuery) -> Logs:
    """List events, oldest first: the events after `after`, before `before` or since `at`, or else the newest events."""
    check_place(query)
    pages = context.events.pages(query.wanted, query.accepts())
    after = context.events.cursor_at(query.at) if query.at else query.after
    page = pages.before(query.before, query.limit) if after is None else pages.after(after, query.limit)
    return Logs(events=[log_line(event) for event in page.events], first_id=page.first_id, last_id=page.last_id)


@routes.endpoint("GET", "/api/logs/download", media="application/x-ndjson")
def download_logs(context: AppContext, query: TextQuery) -> Response:
    """Download all events that match the filter, oldest first, as one JSON object per line.

    Events that are logged after the download began are not included.
    """
    headers = {"Content-Disposition": f'attachment; filename="nightshift-{utc_now():%Y%m%d-%H%M%S}.jsonl"'}
    end = min(context.events.newest_id(), (query.before or 2**63) - 1)
    pages = context.events.pages(query.wanted, query.accepts())
    lines = _read_lines(context, pages, query.after or 0, end)
    return Response(lines, headers=headers, mimetype="application/x-ndjson")


def _read_lines(context: AppContext, pages: LogReader, reached: int, end: int) -> Iterator[str]:
    """Read events one page at a time, so that memory use does not depend on the size of the log."""
    while reached < end:
        page = pages.after(reached, DOWNLOAD_PAGE)
        reached = page.last_id
        yield "".join(f"{context.mask(log_line(e).model_dump_json())}\n" for e in page.events if e.id <= end)


STREAM = Endpoint(
    name="stream_logs",
    method="GET",
    path="/api/logs/stream",
    summary="Stream events as they happen (server-sent events). Each has an id, and a log line's JSON as its data; "
    "`Last-Event-ID` resumes after it. Other event types: `resync` (ids restarted), `beat` (nothing happened for "
    "15 s), `end` (the server stops) and, with `live=true`, `writing`: new text of replies being written. "
    "`writing` events have no id and are not sent again; a new client first gets the text written so far.",
    query=FollowQuery,
    media="text/event-stream",
)
