"""The log: pages of events, and the live stream (which is served outside Flask)."""

from __future__ import annotations

from server.endpoint import Call, Endpoint, Reply
from server.query import LogsQuery, StreamQuery
from server.schemas import Logs, log_line


def list_logs(call: Call) -> Reply:
    """Events behind a cursor, or the newest."""
    query, events = call.asked(LogsQuery), call.desk.events
    newest = events.newest_id()
    if query.after is None:
        found = events.last(query.limit, level=query.level, task_id=query.task)
    else:
        found = events.after(query.after, limit=query.limit, level=query.level, task_id=query.task)
    last_id = found[-1].id if found else 0
    if query.after is None or len(found) < query.limit:
        # All up to the newest was looked at; what did not pass the filter need not be read again.
        last_id = max(newest, last_id)
    return Reply(answer=Logs(events=[log_line(event) for event in found], last_id=last_id))


ENDPOINTS = (
    Endpoint(
        name="list_logs",
        view=list_logs,
        method="GET",
        path="/api/logs",
        summary="Events, oldest first: those behind `after`, or the newest.",
        query=LogsQuery,
        answers={200: Logs},
        errors=(400,),
    ),
    Endpoint(
        name="stream_logs",
        method="GET",
        path="/api/logs/stream",
        summary="Events as they happen (server-sent events). Each has its id, and the JSON of a log line as its data; "
        "`Last-Event-ID` resumes behind it. Other event types: `resync` (ids began anew) and `end` (the server stops).",
        query=StreamQuery,
        media="text/event-stream",
        errors=(400, 503),
    ),
)
