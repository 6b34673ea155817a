"""The log: pages of events; the live stream is served outside Flask."""

from __future__ import annotations

from nightshift.server.context import AppContext
from nightshift.server.endpoint import Endpoint, Routes
from nightshift.server.log.log_query import FollowQuery, LogsQuery, check_place
from nightshift.server.schemas import Logs, logs_of
from nightshift.storage.db.event_log import LogPage

routes = Routes()


@routes.endpoint("GET", "/api/logs")
def list_logs(context: AppContext, query: LogsQuery) -> Logs:
    """Events, oldest first: those behind `after`, before `before`, since `at`, or the newest."""
    check_place(query)
    return logs_of(_page(context, query))


def _page(context: AppContext, query: LogsQuery) -> LogPage:
    events = context.events
    pages = events.pages(query.wanted, query.accepts())
    after = events.cursor_at(query.at) if query.at else query.after
    return pages.before(query.before, query.limit) if after is None else pages.after(after, query.limit)


NATIVE = (
    Endpoint(
        name="stream_logs",
        method="GET",
        path="/api/logs/stream",
        summary="Events as they happen (server-sent events). Each has its id, and the JSON of a log line as its data; "
        "`Last-Event-ID` resumes behind it. Other event types: `resync` (ids began anew), `beat` (nothing happened for "
        "15 s), `end` (the server stops) and, with `live=true`, `writing`: what is new of the replies that models "
        "write just now. These have no id and are not sent again; whoever connects gets first what was written so far.",
        query=FollowQuery,
        media="text/event-stream",
    ),
)
