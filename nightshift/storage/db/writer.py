"""The one thread that writes: every job that waits goes into one transaction (group commit).

Several writers on one SQLite file starve each other, because its busy handler sleeps and is not fair; one writer that
shares the cost of a disk flush among all who wait is several times faster and its worst case far shorter. Each job has
a savepoint of its own, so one that raises undoes only its own changes. A future is resolved after the COMMIT that holds
its job, never before, and a job that was accepted cannot be withdrawn. A job that is `retrying` waits where the
database takes no writes for now, and is tried again with growing rests; any other fails at once. One that is `patient`,
because nobody waits for it, goes along with the next that is not, or is written after a moment.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Generic, TypeVar

from nightshift.core.errors import StoreError, StoreFull, StoreLocked, StoreUnready
from nightshift.storage.db.sqlite import (
    BUSY,
    LOCKED,
    Connection,
    DatabaseError,
    Error,
    IntegrityError,
    OperationalError,
    code_of,
    connect,
    store_error,
)
from nightshift.storage.db.write_failures import FIRST_REST_S, MAX_REST_S, WriteFailures

T = TypeVar("T")
Job = Callable[[Connection], T]
Listener = Callable[[Connection], None]

MAX_GROUP = 256
LINGER = 0.5
"""How long to wait for those who are about to write again, as a share of the last commit's time."""
MAX_LINGER_S = 0.005
PATIENCE_S = 0.05
"""How long a patient job waits for one that it can go along with."""

log = logging.getLogger(__name__)


class _Entry(Generic[T]):
    """A job on its way, with the future of whoever waits for it."""

    __slots__ = ("error", "future", "job", "patient", "result", "retrying")

    def __init__(self, job: Job[T], *, retrying: bool, patient: bool) -> None:
        self.job, self.retrying, self.patient = job, retrying, patient
        self.future: Future[T] = Future()
        self.future.set_running_or_notify_cancel()
        self.result: T | None = None
        self.error: BaseException | None = None

    def run(self, conn: Connection) -> None:
        """Do the job in its savepoint. An error that ended the whole transaction is raised, others are kept."""
        self.result = self.error = None
        conn.execute("SAVEPOINT job")
        try:
            self.result = self.job(conn)
        except BaseException as error:
            if not conn.in_transaction:
                raise
            self.error = error  # whatever it is, it belongs to who waits for the job
            conn.execute("ROLLBACK TO job")
        conn.execute("RELEASE job")


class Writer:
    """Runs jobs in the order they came; starts its thread with the first one.

    Args:
        path: the database file.
        busy_s: how long SQLite itself waits for a lock.
        retry_for_s: how long a group waits for another process's lock before its futures fail.
    """

    def __init__(self, path: Path, busy_s: float, retry_for_s: float) -> None:
        self._path, self._busy_s, self._retry_for_s = path, busy_s, retry_for_s
        self._waiting: deque[_Entry[object]] = deque()
        self._listeners: list[Listener] = []
        self._arrived = threading.Condition(threading.Lock())
        self._due = math.inf
        self._thread: threading.Thread | None = None
        self._closed, self._open = False, True
        self._conn: Connection | None = None
        self._expected, self._last_commit_s, self._changed = 1, 0.0, False
        self.failures = WriteFailures()
        self._parked: list[_Entry[object]] = []
        self._waits, self._rest_s, self._retry_at = True, FIRST_REST_S, 0.0

    def submit(self, job: Job[T], *, retrying: bool = False, patient: bool = False) -> Future[T]:
        """Hand in a job; it may be run more than once (all but the last undone), so it changes only the database."""
        entry = _Entry(job, retrying=retrying, patient=patient)
        with self._arrived:
            if self._closed:
                entry.future.set_exception(StoreError(f"{self._path}: the database is closed"))
                return entry.future
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="db-writer", daemon=True)
                self._thread.start()
            self._waiting.append(entry)  # type: ignore[arg-type]  # Entry is invariant in T
            due = time.monotonic() + (PATIENCE_S if patient else 0.0)
            if due < self._due:
                self._due = due
                self._arrived.notify()
        return entry.future

    @property
    def is_alive(self) -> bool:
        """Tell whether a job would be run: the thread starts with the first one."""
        return not self._closed and (self._thread is None or self._thread.is_alive())

    def listen(self, listener: Listener) -> None:
        """Call `listener` with the writer's connection after each commit, on the writer's thread."""
        self._listeners.append(listener)

    def hurry(self) -> None:
        """Let jobs that retry fail like any other from now on."""
        self._waits = False
        self.submit(lambda _: None)

    def stop(self) -> None:
        """Finish what was accepted, then end the thread. May be called twice, and not from a job."""
        self._waits = False
        with self._arrived:
            self._closed = True
            self._arrived.notify()
        if self._thread is not None:
            self._thread.join()

    def release(self) -> None:
        """Close the connection of a stopped writer. Closed last of all, it folds the write-ahead log into the file."""
        if self._conn is not None:
            self._conn.close()
            self._conn = None

    def _run(self) -> None:
        while self._open:
            if group := self._gather():
                self._write(group)
            if self._parked and (time.monotonic() >= self._retry_at or not (self._waits and self.failures.now)):
                self._retry()
        while self._parked:
            self._retry()

    def _gather(self) -> list[_Entry[object]]:
        """The next group.

        Writers come back: those who were just served, and those who waited meanwhile, are likely to write again at
        once. The group lingers a moment until as many are there, else they would fall into two halves that take turns,
        and each flush would serve only one half (compare PostgreSQL's commit_delay). A lone writer is never held up.
        """
        group: list[_Entry[object]] = []
        self._take(group, self._retry_at if self._parked else math.inf)
        until = time.monotonic() + min(LINGER * self._last_commit_s, MAX_LINGER_S)
        while 0 < _urgent(group) < self._expected and time.monotonic() < until and self._open:
            self._take(group, until)
        return group

    def _take(self, group: list[_Entry[object]], until: float) -> None:
        """Move what waits into the group as soon as some of it is due, or at a time of the monotonic clock."""
        with self._arrived:
            while not self._closed and (left_s := min(self._due, until) - time.monotonic()) > 0:
                self._arrived.wait(left_s if left_s < math.inf else None)
            while self._waiting and len(group) < MAX_GROUP:
                group.append(self._waiting.popleft())
            if not self._waiting:
                self._due, self._open = math.inf, not self._closed

    def _write(self, group: list[_Entry[object]]) -> None:
        if self.failures.now and self.failures.now.damage:
            self._fail(group, self.failures.now.error)
            return
        try:
            conn = self._begin()
        except BaseException as error:  # noqa: BLE001  the thread must outlive a full disk; who waits gets the error
            self._fail(group, error)
            return
        try:
            self._transact(conn, group)
        except BaseException as error:  # noqa: BLE001  as above
            self._undo(conn)
            self._one_by_one(group, error)
            return
        if self._changed:  # an empty commit goes well on a full disk too
            self.failures.clear()
        for entry in group:
            if entry.error is None:
                entry.future.set_result(entry.result)
            else:
                self._fail([entry], entry.error)
        self._notify(conn)

    def _begin(self) -> Connection:
        """Take the write lock, trying again while another process holds it."""
        if self._conn is None:
            self._conn = connect(self._path, busy_s=self._busy_s)
        deadline = time.monotonic() + self._retry_for_s
        while True:
            try:
                self._conn.execute("BEGIN IMMEDIATE")
            except OperationalError as error:
                if code_of(error) not in {BUSY, LOCKED} or time.monotonic() > deadline:
                    raise
            else:
                return self._conn

    def _transact(self, conn: Connection, group: list[_Entry[object]]) -> None:
        changes = conn.total_changes
        for entry in group:
            entry.run(conn)
        self._changed = conn.total_changes > changes and all(entry.error is None for entry in group)
        started = time.monotonic()
        conn.execute("COMMIT")
        self._last_commit_s = time.monotonic() - started
        self._expected = min(_urgent(group) + len(self._waiting), MAX_GROUP)

    def _undo(self, conn: Connection) -> None:
        """Leave no transaction open; a connection that cannot even do that is replaced."""
        try:
            if conn.in_transaction:
                conn.execute("ROLLBACK")
        except Error:
            log.exception("the write connection is reopened")
            conn.close()
            self._conn = None

    def _one_by_one(self, group: list[_Entry[object]], error: BaseException) -> None:
        """Write each job alone after the whole transaction was lost (a full disk ends it), to find whose job it was."""
        if len(group) == 1:
            self._fail(group, error)
            return
        for entry in group:
            self._write([entry])

    def _fail(self, group: list[_Entry[object]], error: BaseException) -> None:
        """Fail those who wait because nothing was written, or let them wait longer."""
        if isinstance(error, DatabaseError) and not isinstance(error, IntegrityError):
            error = store_error(error, self._path)
        self.failures.record(error)
        retrying = isinstance(error, StoreUnready) and self._waits
        if retrying and not self._parked:
            self._retry_at = time.monotonic() + self._rest_s
        if isinstance(error, StoreUnready) and not isinstance(error, StoreFull | StoreLocked):
            self._reopen()
        for entry in group:
            if retrying and entry.retrying:
                self._parked.append(entry)
            else:
                entry.future.set_exception(error)

    def _retry(self) -> None:
        """Try what waits: one job first, and the others when that one went well."""
        waiting, self._parked = self._parked, []
        self._rest_s = min(2 * self._rest_s, MAX_REST_S)
        self._write(waiting[:1])
        if self.failures.now and self._waits:
            self._parked += waiting[1:]
            return
        self._rest_s = FIRST_REST_S
        for start in range(1, len(waiting), MAX_GROUP):
            self._write(waiting[start : start + MAX_GROUP])

    def _reopen(self) -> None:
        """Open the connection anew: after a disk that was read-only, or away, it may still refuse."""
        if self._conn is not None and not self._conn.in_transaction:
            self._conn.close()
            self._conn = None

    def _notify(self, conn: Connection) -> None:
        for listener in tuple(self._listeners):
            try:
                listener(conn)
            except Exception:
                log.exception("a listener of the database is dropped: it raised")
                self._listeners.remove(listener)


def _urgent(group: Sequence[_Entry[object]]) -> int:
    """Count the writes of a group that somebody waits for."""
    return sum(not entry.patient for entry in group)
