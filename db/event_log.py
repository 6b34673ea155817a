"""The one log: an append-only table; streams, pages, reports and the file log are readers with a cursor over it.

Events are stored first and told afterwards. Ids grow in the order of the commits, also across processes (SQLite has
one writer at a time), so a reader that continues after the last id it saw misses nothing and sees nothing twice.
Subscribers are served from the table too: they see exactly what a reader sees, the events of other processes included.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from datetime import datetime

from core.clock import Clock, to_text, utc_now
from core.events import Event, Kind, Level
from core.masking import Masker
from db import artifacts, log_pages
from db.codec import encode, plain
from db.database import Database
from db.log_pages import Accepts, LogReader
from db.log_rows import SELECT, EventFilter, conditions, event_of
from db.sqlite import Connection

MAX_DATA_BYTES = 8192
MAX_MESSAGE_CHARS = 2000
BATCH = 1000

Subscriber = Callable[[Sequence[Event]], None]

log = logging.getLogger(__name__)


class EventLog:
    """Stores, reads and tells events.

    Args:
        db: where they are kept.
        clock: gives events their time.
        mask: takes secrets out of messages and data.
    """

    def __init__(self, db: Database, clock: Clock = utc_now, mask: Masker | None = None) -> None:
        self._db, self._clock, self._mask = db, clock, mask or Masker()
        self._subscribers: list[Subscriber] = []
        self._told = 0
        db.listen(self._tell)

    def insert(self, conn: Connection, event: Event) -> Event:
        """Store an event inside a write job; returned as stored, with id, time, and without secrets."""
        event_id = self.append(conn, event)
        return event_of(conn.execute(SELECT + "WHERE id = ?", (event_id,)).fetchone())

    def append(self, conn: Connection, event: Event) -> int:
        """Store an event inside a write job; returns its id."""
        data = _fitted(conn, encode(self._mask.shown_data(plain(event.data)))) if event.data else "{}"
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
        """Hand in an event that is part of no transaction; never raises and never waits (a `core.ports.Sink`)."""
        timed = event if event.at else replace(event, at=self._clock())
        self._db.write_patiently(lambda conn: self.append(conn, timed)).add_done_callback(_complain)

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Call `subscriber` with the new events after each commit, in order, on the writer's thread.

        It must be quick and must not wait for a write. One that raises is dropped. Returns what ends it.
        """
        if not self._subscribers:
            self._told = self.newest_id()
        self._subscribers.append(subscriber)
        return lambda: self._drop(subscriber)

    def catch_up(self) -> Future[None]:
        """Tell the subscribers what other processes have written (see `Database.data_version`)."""
        return self._db.write_patiently(lambda _: None)

    def _drop(self, subscriber: Subscriber) -> None:
        if subscriber in self._subscribers:
            self._subscribers.remove(subscriber)

    def _tell(self, conn: Connection) -> None:
        if not self._subscribers:
            return
        while rows := conn.execute(SELECT + "WHERE id > ? ORDER BY id LIMIT ?", (self._told, BATCH)).fetchall():
            events = [event_of(row) for row in rows]
            self._told = events[-1].id
            for subscriber in tuple(self._subscribers):
                try:
                    subscriber(events)
                except Exception:
                    log.exception("a subscriber of the event log is dropped: it raised")
                    self._drop(subscriber)

    def newest_id(self) -> int:
        """The id of the newest event, 0 when there is none."""
        return log_pages.newest_id(self._db.reader())

    def after(
        self,
        event_id: int,
        *,
        limit: int,
        level: Level | None = None,
        task_id: int | None = None,
        worker: str | None = None,
        kind: Kind | None = None,
        text: str | None = None,
    ) -> list[Event]:
        """The first `limit` events after a cursor, oldest first.

        Args:
            event_id: the id of the last event that was seen, 0 for none.
            limit: how many at most.
            level: only events of this level or a worse one.
            task_id: only events of this task.
            worker: only events of this worker.
            kind: only events of this kind.
            text: only events whose message holds it, in any case.
        """
        where, values = conditions(EventFilter(level=level, task_id=task_id, worker=worker, kind=kind), text)
        query = SELECT + f"WHERE id > ? {where} ORDER BY id LIMIT ?"
        return [event_of(row) for row in self._db.reader().execute(query, (event_id, *values, limit))]

    def last(
        self,
        limit: int,
        *,
        level: Level | None = None,
        task_id: int | None = None,
        worker: str | None = None,
        text: str | None = None,
        kind: Kind | None = None,
    ) -> list[Event]:
        """The newest `limit` events, oldest first, with the filters of `after`."""
        where, values = conditions(EventFilter(level=level, task_id=task_id, worker=worker, kind=kind), text)
        query = SELECT + f"WHERE id > 0 {where} ORDER BY id DESC LIMIT ?"
        return [event_of(row) for row in self._db.reader().execute(query, (*values, limit))][::-1]

    def pages(self, wanted: EventFilter, accepts: Accepts | None = None) -> LogReader:
        """What reads pages of these events, on this thread; `accepts` looks at their messages as well."""
        return LogReader(conn=self._db.reader(), wanted=wanted, accepts=accepts)

    def cursor_at(self, moment: datetime) -> int:
        """The cursor after which the events since `moment` come (a binary search: times grow with the ids)."""
        low, high, wanted = 0, self.newest_id(), to_text(moment)
        query = "SELECT at FROM execution_logs WHERE id > ? ORDER BY id LIMIT 1"
        while low < high:
            middle = (low + high) // 2
            if self._db.reader().execute(query, (middle,)).fetchone()[0] < wanted:
                low = middle + 1
            else:
                high = middle
        return low


def _fitted(conn: Connection, data: str) -> str:
    """The JSON text, or the name of the artifact that it became because it is too long."""
    if len(data) <= MAX_DATA_BYTES:
        return data
    return json.dumps({"cut": True, "bytes": len(data), "artifact": artifacts.put(conn, data)})


def _complain(written: Future[int]) -> None:
    if error := written.exception():
        log.error("an event could not be stored: %s", error)
