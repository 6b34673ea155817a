"""The log: pages of events; the live stream and the download, which are served outside Flask."""

from __future__ import annotations

from db.event_log import LogPage
from server.endpoint import Call, Endpoint, Reply
from server.log.log_query import DownloadQuery, LogsQuery, StreamQuery, check_place
from server.schemas import Logs, logs_of


def list_logs(call: Call) -> Reply:
    """Events behind a cursor, before one, since a time, or the newest."""
    query = call.asked(LogsQuery)
    check_place(query)
    return Reply(answer=logs_of(_page(call, query)))


def _page(call: Call, query: LogsQuery) -> LogPage:
    events = call.context.events
    pages = events.pages(query.wanted, query.accepts())
    after = events.cursor_at(query.at) if query.at else query.after
    return pages.before(query.before, query.limit) if after is None else pages.after(after, query.limit)


ENDPOINTS = (
    Endpoint(
        name="list_logs",
        view=list_logs,
        method="GET",
        path="/api/logs",
        summary="Events, oldest first: those behind `after`, before `before`, since `at`, or the newest.",
        query=LogsQuery,
        answers={200: Logs},
        errors=(400,),
    ),
    Endpoint(
        name="download_logs",
        method="GET",
        path="/api/logs/download",
        summary="All events that pass the filter, oldest first, as a file; up to the newest at the time of asking.",
        query=DownloadQuery,
        media="application/x-ndjson",
        other_media=("text/plain",),
        errors=(400, 503),
    ),
    Endpoint(
        name="stream_logs",
        method="GET",
        path="/api/logs/stream",
        summary="Events as they happen (server-sent events). Each has its id, and the JSON of a log line as its data; "
        "`Last-Event-ID` resumes behind it. Other event types: `resync` (ids began anew), `beat` (nothing happened for "
        "15 s) and `end` (the server stops).",
        query=StreamQuery,
        media="text/event-stream",
        errors=(400, 503),
    ),
)
