"""The database as the rest of the program uses it: a connection for reading in each thread, and one writer for all."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Self

from nightshift.core.errors import StoreDamaged, StoreError
from nightshift.storage.db import migrations
from nightshift.storage.db.sqlite import Connection, Error, connect, store_error
from nightshift.storage.db.write_failures import WriteFailure
from nightshift.storage.db.writer import Job, Listener, T, Writer


class Database:
    """One SQLite file; thread-safe.

    Opening the database brings the schema up to date. Another process may use the same file through its own `Database`.

    Args:
        path: the file; its folder is created.
        readonly: never write, not even the schema.
        busy_s: seconds that SQLite itself waits for a lock before the writer tries again.
        retry_for_s: seconds that a write waits for another process's lock before its future fails.

    Raises:
        StoreMissing: there is no database yet, and `readonly` is set.
        StoreTooNew: the database was written by a newer Nightshift.
        StoreTooOld: the schema is out of date, and `readonly` is set.
        StoreDamaged: the file is damaged, or not a database.
        StoreError: the database cannot be opened.
    """

    def __init__(self, path: Path, *, readonly: bool = False, busy_s: float = 5.0, retry_for_s: float = 60.0) -> None:
        self.path, self.readonly, self._busy_s = path, readonly, busy_s
        self._lock = threading.Lock()
        self._local = threading.local()
        self._readers: dict[threading.Thread, Connection] = {}
        self._closed = False
        self._writer = None if readonly else Writer(path, busy_s, retry_for_s)
        self._prepare()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _prepare(self) -> None:
        if not self.readonly:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        conn = connect(self.path, readonly=self.readonly)
        try:
            migrations.check(conn, self.path) if self.readonly else migrations.migrate(conn, self.path)
        except Error as error:
            raise store_error(error, self.path) from error
        finally:
            conn.close()

    def reader(self) -> Connection:
        """Return this thread's own connection for reading. Each statement sees the newest commit.

        Raises:
            StoreError: the database is closed or cannot be opened.
        """
        if self._closed:
            raise StoreError(f"{self.path}: the database is closed")
        conn: Connection | None = getattr(self._local, "conn", None)
        if conn is None:
            conn = connect(self.path, readonly=True, busy_s=self._busy_s)
            self._adopt(conn)
            self._local.conn = conn
        return conn

    def _adopt(self, conn: Connection) -> None:
        """Register a thread's connection, and close the connections of threads that have ended."""
        with self._lock:
            for thread in [thread for thread in self._readers if not thread.is_alive()]:
                self._readers.pop(thread).close()
            self._readers[threading.current_thread()] = conn

    def write(self, job: Job[T]) -> Future[T]:
        """Run `job` in a transaction on the writer's thread.

        The future resolves when the job's changes are on the disk. It fails with the job's error, in which case nothing
        was changed. It cannot be cancelled. A job may be run more than once. Only its changes of the database are
        undone before it is run again, so it must change nothing else. `StoreFull` and other `StoreError`s mean that the
        database itself failed.
        """
        if self._writer is None:
            future: Future[T] = Future()
            future.set_exception(StoreError(f"{self.path}: opened for reading only"))
            return future
        return self._writer.submit(job)

    def write_retrying(self, job: Job[T]) -> Future[T]:
        """Write like `write`, but wait while the database temporarily accepts no writes (`StoreUnready`).

        Meant for data that must not be lost, and for callers that can only wait. After `hurry` it fails like `write`.
        """
        return self.write(job) if self._writer is None else self._writer.submit(job, retrying=True)

    def write_later(self, job: Job[T]) -> Future[T]:
        """Write like `write_retrying`, but without haste: together with the next write, or after a moment."""
        return self.write(job) if self._writer is None else self._writer.submit(job, retrying=True, patient=True)

    def hurry(self) -> None:
        """Fail writes that wait for the database to accept writes again, because the program is about to end."""
        if self._writer is not None:
            self._writer.hurry()

    @property
    def write_failure(self) -> WriteFailure | None:
        """Reason why nothing can be written, or None."""
        return self._writer.failures.now if self._writer else None

    def note_damage(self, error: StoreDamaged) -> None:
        """Stop all writes: the file was found to be damaged."""
        if self._writer is not None:
            self._writer.failures.record(error)

    def on_write_failure(self, listener: Callable[[WriteFailure], None]) -> None:
        """Call `listener` on the writer's thread when a write failure begins or ends."""
        if self._writer is not None:
            self._writer.failures.listen(listener)

    @property
    def writes(self) -> bool:
        """True if the writer's thread is alive."""
        return self._writer is not None and self._writer.is_alive

    def listen(self, listener: Listener) -> None:
        """Call `listener(conn)` after each commit, on the writer's thread; a listener that raises is removed."""
        if self._writer is not None:
            self._writer.listen(listener)

    def data_version(self) -> int:
        """Return a number that changes with every commit of any process.

        Numbers that were read on different threads are not comparable.
        """
        return int(self.reader().execute("PRAGMA data_version").fetchone()[0])

    def close(self) -> None:
        """Finish all accepted writes, then close all connections. Nothing can be read afterwards."""
        if self._writer is not None:
            self._writer.stop()
        with self._lock:
            self._closed = True
            for conn in self._readers.values():
                conn.close()
            self._readers.clear()
        if self._writer is not None:
            self._writer.release()
