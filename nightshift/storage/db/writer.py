"""The one thread that writes. It puts all waiting jobs into one transaction (group commit).

Several writers on one SQLite file starve each other, because SQLite waits for locks by sleeping, which is not fair. One
writer that shares the cost of a disk flush among all waiting jobs is several times faster, and its worst case is far
shorter. Each job has its own savepoint, so a job that raises undoes only its own changes. A future is resolved only
after the COMMIT that contains its job, and an accepted job cannot be withdrawn. If the database temporarily accepts no
writes, a `retrying` job is retried with growing pauses; any other job fails at once. A `patient` job, for which nobody
waits, is written with the next job that is not patient, or after a moment.
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
"""Time to wait for clients that are likely to write again, as a share of the duration of the last commit."""
MAX_LINGER_S = 0.005
PATIENCE_S = 0.05
"""Maximum seconds that a patient job waits for another job, to be written together with it."""

log = logging.getLogger(__name__)


class _Entry(Generic[T]):
    """A submitted job with its future."""

    __slots__ = ("error", "future", "job", "patient", "result", "retrying")

    def __init__(self, job: Job[T], *, retrying: bool, patient: bool) -> None:
        self.job, self.retrying, self.patient = job, retrying, patient
        self.future: Future[T] = Future()
        self.future.set_running_or_notify_cancel()
        self.result: T | None = None
        self.error: BaseException | None = None

    def run(self, conn: Connection) -> None:
        """Run the job in its savepoint and store its error. An error that ended the whole transaction is raised."""
        self.result = self.error = None
        conn.execute("SAVEPOINT job")
        try:
            self.result = self.job(conn)
        except BaseException as error:
            if not conn.in_transaction:
                raise
            self.error = error  # whatever it is, it belongs to the caller that waits for the job
            conn.execute("ROLLBACK TO job")
        conn.execute("RELEASE job")


class Writer:
    """Runs jobs in the order in which they were submitted. Its thread starts with the first job.

    Args:
        path: the database file.
        busy_s: seconds that SQLite itself waits for a lock.
        retry_for_s: seconds that jobs wait for another process's lock before their futures fail.
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
        """Submit a job.

        A job may be run more than once. Only its changes of the database are undone before it is run again, so it must
        change nothing else.
        """
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
        """True if a submitted job would be run: the thread is running, or has not been started yet."""
        return not self._closed and (self._thread is None or self._thread.is_alive())

    def listen(self, listener: Listener) -> None:
        """Call `listener` with the writer's connection after each commit, on the writer's thread."""
        self._listeners.append(listener)

    def hurry(self) -> None:
        """From now on, let retrying jobs fail like any other job."""
        self._waits = False
        self.submit(lambda _: None)

    def stop(self) -> None:
        """Finish the accepted jobs, then end the thread. May be called twice, but not from a job."""
        self._waits = False
        with self._arrived:
            self._closed = True
            self._arrived.notify()
        if self._thread is not None:
            self._thread.join()

    def release(self) -> None:
        """Close the connection of a stopped writer. If it is the last one, SQLite writes the log back into the file."""
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
        """Return the jobs for the next transaction.

        Clients that were just served, or that waited during the last commit, are likely to write again at once. So the
        writer waits a moment until the same number of jobs has arrived. Otherwise the clients would split into two
        halves that take turns, and each flush would serve only one half (compare PostgreSQL's commit_delay). A single
        client is never delayed.
        """
        group: list[_Entry[object]] = []
        self._take(group, self._retry_at if self._parked else math.inf)
        until = time.monotonic() + min(LINGER * self._last_commit_s, MAX_LINGER_S)
        while 0 < _urgent(group) < self._expected and time.monotonic() < until and self._open:
            self._take(group, until)
        return group

    def _take(self, group: list[_Entry[object]], until: float) -> None:
        """Wait until a job is due or `until` (monotonic clock) is reached; then move waiting jobs into the group."""
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
        if self._changed:  # an empty commit succeeds on a full disk too
            self.failures.clear()
        for entry in group:
            if entry.error is None:
                entry.future.set_result(entry.result)
            else:
                self._fail([entry], entry.error)
        self._notify(conn)

    def _begin(self) -> Connection:
        """Take SQLite's write lock; retry while another process holds it."""
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
        """Make sure that no transaction is open. If that fails, close the connection, so that a new one is opened."""
        try:
            if conn.in_transaction:
                conn.execute("ROLLBACK")
        except Error:
            log.exception("the write connection is reopened")
            conn.close()
            self._conn = None

    def _one_by_one(self, group: list[_Entry[object]], error: BaseException) -> None:
        """Write each job alone after an error (such as a full disk) ended the transaction, to find the failed job."""
        if len(group) == 1:
            self._fail(group, error)
            return
        for entry in group:
            self._write([entry])

    def _fail(self, group: list[_Entry[object]], error: BaseException) -> None:
        """Fail the futures of jobs that were not written. If the failure may pass, put retrying jobs aside instead."""
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
        """Retry the jobs that were put aside: first one of them, and the others only if the first one succeeded."""
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
        """Close the connection, so that a new one is opened.

        The old connection may still refuse writes after a disk problem.
        """
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
    """Count the jobs of a group that somebody waits for."""
    return sum(not entry.patient for entry in group)
