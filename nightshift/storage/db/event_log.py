"""The event log: an append-only table. Its readers (streams, pages, reports, the log file) remember the last id seen.

Events are stored first and delivered afterwards. Ids grow in the order of the commits, even across processes, because
SQLite allows only one writer at a time. So a reader that continues after the last id it saw misses nothing and sees
nothing twice. Subscribers get their events from the table too, so they see exactly what a reader sees, including the
events of other processes.

A filter that matches almost no events would make a request scan the whole log. Therefore a page (`LogReader`) is read
in blocks of ids. It ends when it is full, when the log ends or when its time is up. It states the range of ids that it
covers, and contains every matching event in this range. A reader that continues after that range, or before it, sees
each event exactly once, however short the pages are.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from datetime import datetime

from nightshift.core.clock import Clock, to_text, utc_now
from nightshift.core.events import RANK, Event, Kind, Level
from nightshift.core.text.masking import Masker
from nightshift.storage.db import artifacts
from nightshift.storage.db.codec import encode, read_row, to_json_value
from nightshift.storage.db.database import Database
from nightshift.storage.db.sqlite import Connection, Row

MAX_DATA_BYTES = 8192
MAX_MESSAGE_CHARS = 2000
BATCH = 1000

Subscriber = Callable[[Sequence[Event]], None]

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class EventFilter:
    """Conditions on events. A condition that is None matches all events.

    `level` matches events of this level and more severe ones.
    """

    level: Level | None = None
    task_id: int | None = None
    worker: str | None = None
    kind: Kind | None = None


class EventLog:
    """Stores, reads and delivers events; thread-safe.

    Args:
        db: the database of the events.
        clock: sets the time of events.
        mask: removes secrets from messages and data.
    """

    def __init__(self, db: Database, clock: Clock = utc_now, mask: Masker | None = None) -> None:
        self._db, self._clock, self._mask = db, clock, mask or Masker()
        self._subscribers: list[Subscriber] = []
        self._delivered = 0
        db.listen(self._deliver)

    def append(self, conn: Connection, event: Event) -> int:
        """Store an event inside a write job, with a time and without secrets; return its id."""
        data = _fit(conn, encode(self._mask.show_data(to_json_value(event.data)))) if event.data else "{}"
        cursor = conn.execute(
            "INSERT INTO execution_logs (at, level, kind, message, task_id, attempt, iteration, phase, worker, data) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                to_text(event.at or self._clock()),
                event.level,
                event.kind,
                self._mask.clean(event.message, MAX_MESSAGE_CHARS),
                event.task_id,
                event.attempt,
                event.iteration,
                event.phase,
                event.worker,
                data,
            ),
        )
        return int(cursor.lastrowid or 0)

    def emit(self, event: Event) -> None:
        """Submit an event that is not part of a transaction. Never raises and never waits (a `core.ports.Sink`)."""
        timed = event if event.at else replace(event, at=self._clock())
        self._db.write_later(lambda conn: self.append(conn, timed)).add_done_callback(_log_failure)

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Call `subscriber` with the new events after each commit, in order, on the writer's thread.

        The subscriber must be quick and must not wait for a write. A subscriber that raises is removed. Returns a
        function that ends the subscription.
        """
        if not self._subscribers:
            self._delivered = self.newest_id()
        self._subscribers.append(subscriber)
        return lambda: self._drop(subscriber)

    def catch_up(self) -> Future[None]:
        """Deliver events that other processes have written to the subscribers of this process."""
        return self._db.write_retrying(lambda _: None)

    def _drop(self, subscriber: Subscriber) -> None:
        if subscriber in self._subscribers:
            self._subscribers.remove(subscriber)

    def _deliver(self, conn: Connection) -> None:
        if not self._subscribers:
            return
        while rows := conn.execute(SELECT + "WHERE id > ? ORDER BY id LIMIT ?", (self._delivered, BATCH)).fetchall():
            events = [event_of(row) for row in rows]
            self._delivered = events[-1].id
            for subscriber in tuple(self._subscribers):
                try:
                    subscriber(events)
                except Exception:
                    log.exception("a subscriber of the event log is dropped: it raised")
                    self._drop(subscriber)

    def newest_id(self) -> int:
        """Return the id of the newest event, 0 if there is none."""
        return newest_id(self._db.reader())

    def after(self, event_id: int, *, limit: int, wanted: EventFilter = EventFilter()) -> list[Event]:
        """List the first `limit` events with a greater id, oldest first; 0 stands for the beginning of the log."""
        where, values = conditions(wanted)
        query = SELECT + f"WHERE id > ? {where} ORDER BY id LIMIT ?"
        return [event_of(row) for row in self._db.reader().execute(query, (event_id, *values, limit))]

    def last(self, limit: int, wanted: EventFilter = EventFilter()) -> list[Event]:
        """List the newest `limit` events, oldest first."""
        where, values = conditions(wanted)
        query = SELECT + f"WHERE id > 0 {where} ORDER BY id DESC LIMIT ?"
        return [event_of(row) for row in self._db.reader().execute(query, (*values, limit))][::-1]

    def pages(self, wanted: EventFilter, accepts: Accepts | None = None) -> LogReader:
        """Return a reader for pages of these events. If `accepts` is given, it also checks their messages.

        The reader must be used in this thread.
        """
        return LogReader(conn=self._db.reader(), wanted=wanted, accepts=accepts)

    def cursor_at(self, moment: datetime) -> int:
        """Find by binary search the id after which the events since `moment` begin. Times grow with the ids."""
        low, high, wanted = 0, self.newest_id(), to_text(moment)
        query = "SELECT at FROM execution_logs WHERE id > ? ORDER BY id LIMIT 1"
        while low < high:
            middle = (low + high) // 2
            if self._db.reader().execute(query, (middle,)).fetchone()[0] < wanted:
                low = middle + 1
            else:
                high = middle
        return low


def _fit(conn: Connection, data: str) -> str:
    """Return the JSON text unchanged if it is short enough.

    Otherwise store it as an artifact, and return a reference to the artifact.
    """
    if len(data) <= MAX_DATA_BYTES:
        return data
    return json.dumps({"cut": True, "bytes": len(data), "artifact": artifacts.put(conn, data)})


def _log_failure(written: Future[int]) -> None:
    if error := written.exception():
        log.error("an event could not be stored: %s", error)


SELECT = "SELECT id, at, level, kind, message, task_id, attempt, iteration, phase, worker, data FROM execution_logs "
_AT_LEAST = {
    Level.DEBUG: "",
    Level.INFO: "AND level <> 'DEBUG' ",
    Level.WARNING: "AND level IN ('WARNING', 'ERROR') ",  # as in the partial index
    Level.ERROR: "AND level IN ('WARNING', 'ERROR') AND level = 'ERROR' ",
}
assert list(_AT_LEAST) == list(RANK)


def conditions(wanted: EventFilter) -> tuple[str, list[object]]:
    """Build conditions to append to a WHERE clause, each beginning with AND; also return their values."""
    where, values = _AT_LEAST[wanted.level or Level.DEBUG], list[object]()
    for column in ("task_id", "worker", "kind"):
        if (value := getattr(wanted, column)) is not None:
            where, values = where + f"AND {column} = ? ", [*values, value]
    return where, values


def event_of(row: Row) -> Event:
    """Convert a row of `SELECT` to an event."""
    return read_row(Event, row, data=json.loads(row["data"]))


SPAN = 50_000
TEXT_SPAN = 2_000
WALL_S = 0.1
_NAMED = "WHERE id IN (SELECT value FROM json_each(?))"

Accepts = Callable[[str], bool]
"""Checks an event's message; True to include the event in a page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPage:
    """All events with ids from `first_id` to `last_id` that match a filter, oldest first.

    To read the preceding page, pass `first_id` to `before`; if `first_id` is 1, there is none. To read the next page,
    pass `last_id` to `after`.
    """

    events: list[Event]
    first_id: int
    last_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LogReader:
    """Reads pages of events through one connection.

    Args:
        conn: a connection for reading.
        wanted: the filter.
        accepts: an additional check of the messages of matching events; None accepts all.
        wall_s: seconds after which a page ends early; at least one event is examined.
        now: a monotonic clock, in seconds.
        span: number of ids that are read between two checks of the time.
        text_span: the same number if messages are checked.
    """

    conn: Connection
    wanted: EventFilter
    accepts: Accepts | None = None
    wall_s: float = WALL_S
    now: Callable[[], float] = time.monotonic
    span: int = SPAN
    text_span: int = TEXT_SPAN

    def after(self, event_id: int, limit: int) -> LogPage:
        """Return the oldest `limit` events with a greater id."""
        end = newest_id(self.conn)
        reached = start = min(event_id, end)
        events, until = list[Event](), self.now() + self.wall_s
        while reached < end and len(events) < limit and (reached == start or self.now() < until):
            upto = min(reached + self._span, end)
            newer, reached = self._read(reached, upto, limit - len(events), until, newest_first=False)
            events += newer
        return LogPage(events=events, first_id=start + 1, last_id=reached)

    def before(self, event_id: int | None, limit: int) -> LogPage:
        """Return the newest `limit` events with a smaller id; None stands for the end of the log."""
        newest, oldest = newest_id(self.conn), _oldest_id(self.conn)
        reached = end = newest + 1 if event_id is None else min(event_id, newest + 1)
        events, until = list[Event](), self.now() + self.wall_s
        while reached > oldest and len(events) < limit and (reached == end or self.now() < until):
            down_to = max(reached - self._span, oldest)
            older, reached = self._read(down_to - 1, reached - 1, limit - len(events), until, newest_first=True)
            events += older
        return LogPage(events=events[::-1], first_id=reached if reached > oldest else 1, last_id=end - 1)

    @property
    def _span(self) -> int:
        return self.text_span if self.accepts else self.span

    def _read(self, after: int, upto: int, limit: int, until: float, *, newest_first: bool) -> tuple[list[Event], int]:
        """Return the first `limit` matching events from one end of a range of ids, and the last id examined."""
        where, values = conditions(self.wanted)
        order = "DESC" if newest_first else "ASC"
        end = after + 1 if newest_first else upto
        tail = f"WHERE id > ? AND id <= ? {where} ORDER BY id {order} "
        if self.accepts is None:
            events = self._events(f"{tail} LIMIT ?", [after, upto, *values, limit])
            return events, events[-1].id if len(events) == limit else end
        query = f"SELECT id, message FROM execution_logs {tail}"  # noqa: S608  question marks
        rows = self.conn.execute(query, (after, upto, *values)).fetchall()
        ids, reached = self._accept(rows, limit, until, end)
        return self._events(f"{_NAMED} ORDER BY id {order}", [json.dumps(ids)]), reached

    def _accept(self, rows: list[Row], limit: int, until: float, end: int) -> tuple[list[int], int]:
        """Return the ids of the first `limit` rows whose message is accepted, and the last id that was examined."""
        assert self.accepts is not None
        ids: list[int] = []
        for row in rows:
            if self.accepts(row["message"]):
                ids.append(row["id"])
            if len(ids) == limit or self.now() >= until:
                return ids, row["id"]
        return ids, end

    def _events(self, tail: str, values: list[object]) -> list[Event]:
        return [event_of(row) for row in self.conn.execute(SELECT + tail, values)]


def newest_id(conn: Connection) -> int:
    """Return the id of the newest event, 0 if there is none."""
    return int(conn.execute("SELECT COALESCE(MAX(id), 0) FROM execution_logs").fetchone()[0])


def _oldest_id(conn: Connection) -> int:
    return int(conn.execute("SELECT COALESCE(MIN(id), 1) FROM execution_logs").fetchone()[0])
