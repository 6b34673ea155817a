"""Pages of the log in both directions, through any filter, in bounded time.

A filter that hardly any event passes would have a request look at the whole log. So a page is made of spans of ids, is
done when it is full, when the log ends or when its time is over, and says which span it has looked at: all that passes
the filter in there is on the page. Whoever goes on behind the span, or before it, sees each event exactly once,
however short the pages turn out.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass

from core.events import Event
from db.log_rows import SELECT, EventFilter, conditions, event_of
from db.sqlite import Connection, Row

SPAN = 50_000
TEXT_SPAN = 2_000
WALL_S = 0.1
_NAMED = "WHERE id IN (SELECT value FROM json_each(?))"

Accepts = Callable[[str], bool]
"""Takes a message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPage:
    """Events, oldest first: all that pass the filter with ids from `first_id` to `last_id`.

    `first_id` is the `before` of the page that precedes, 1 when none does; `last_id` the `after` of the one that
    follows.
    """

    events: list[Event]
    first_id: int
    last_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LogReader:
    """Reads pages over one connection.

    Args:
        conn: for reading.
        wanted: which events.
        accepts: looks at the messages of those as well; None takes all.
        wall_s: after so many seconds the page ends where it is; at least one event is looked at.
        now: seconds that only grow.
        span: how many ids are looked at between two looks at the time.
        text_span: the same where messages are looked at.
    """

    conn: Connection
    wanted: EventFilter
    accepts: Accepts | None = None
    wall_s: float = WALL_S
    now: Callable[[], float] = time.monotonic
    span: int = SPAN
    text_span: int = TEXT_SPAN

    def after(self, event_id: int, limit: int) -> LogPage:
        """The oldest `limit` events with a greater id."""
        end = newest_id(self.conn)
        reached = start = min(event_id, end)
        events, until = list[Event](), self.now() + self.wall_s
        while reached < end and len(events) < limit and (reached == start or self.now() < until):
            upto = min(reached + self._span, end)
            found, reached = self._read(reached, upto, limit - len(events), until, newest_first=False)
            events += found
        return LogPage(events=events, first_id=start + 1, last_id=reached)

    def before(self, event_id: int | None, limit: int) -> LogPage:
        """The newest `limit` events with a smaller id; of all events, where none is given."""
        newest, oldest = newest_id(self.conn), _oldest_id(self.conn)
        reached = end = newest + 1 if event_id is None else min(event_id, newest + 1)
        events, until = list[Event](), self.now() + self.wall_s
        while reached > oldest and len(events) < limit and (reached == end or self.now() < until):
            down_to = max(reached - self._span, oldest)
            found, reached = self._read(down_to - 1, reached - 1, limit - len(events), until, newest_first=True)
            events += found
        return LogPage(events=events[::-1], first_id=reached if reached > oldest else 1, last_id=end - 1)

    @property
    def _span(self) -> int:
        return self.text_span if self.accepts else self.span

    def _read(self, after: int, upto: int, limit: int, until: float, *, newest_first: bool) -> tuple[list[Event], int]:
        """The first `limit` events of a span of ids, from one of its ends, and the last id that was looked at."""
        where, values = conditions(self.wanted)
        order = "DESC" if newest_first else "ASC"
        end = after + 1 if newest_first else upto
        tail = f"WHERE id > ? AND id <= ? {where} ORDER BY id {order} "
        if self.accepts is None:
            events = self._events(f"{tail} LIMIT ?", [after, upto, *values, limit])
            return events, events[-1].id if len(events) == limit else end
        query = f"SELECT id, message FROM execution_logs {tail}"  # noqa: S608  question marks
        rows = self.conn.execute(query, (after, upto, *values)).fetchall()
        ids, reached = self._accepted(rows, limit, until, end)
        return self._events(f"{_NAMED} ORDER BY id {order}", [json.dumps(ids)]), reached

    def _accepted(self, rows: list[Row], limit: int, until: float, end: int) -> tuple[list[int], int]:
        """The ids of the first `limit` rows whose message is accepted, and how far that was looked for."""
        assert self.accepts is not None
        found: list[int] = []
        for row in rows:
            if self.accepts(row["message"]):
                found.append(row["id"])
            if len(found) == limit or self.now() >= until:
                return found, row["id"]
        return found, end

    def _events(self, tail: str, values: list[object]) -> list[Event]:
        return [event_of(row) for row in self.conn.execute(SELECT + tail, values)]


def newest_id(conn: Connection) -> int:
    """The id of the newest event, 0 when there is none."""
    return int(conn.execute("SELECT COALESCE(MAX(id), 0) FROM execution_logs").fetchone()[0])


def _oldest_id(conn: Connection) -> int:
    return int(conn.execute("SELECT COALESCE(MIN(id), 1) FROM execution_logs").fetchone()[0])
