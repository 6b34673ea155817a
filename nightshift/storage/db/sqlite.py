"""The single SQLite module that this process uses, and functions to open files with it.

`pysqlite3` is used if it is installed, because many Python builds cannot load extensions; otherwise the standard module
is used. sqlite-utils makes the same choice, which is repeated here because importing sqlite-utils takes a quarter of a
second. Both choices must agree, because two builds of SQLite in one process drop each other's file locks.
"""

from __future__ import annotations

import contextlib
import importlib
import math
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from nightshift.core.errors import (
    StoreDamaged,
    StoreError,
    StoreFull,
    StoreLocked,
    StoreMissing,
    StoreReadOnly,
    StoreUnready,
)

if TYPE_CHECKING:
    import sqlite3
else:
    try:
        sqlite3 = importlib.import_module("pysqlite3")
    except ImportError:
        import sqlite3

LIBRARY, LIBRARY_VERSION = sqlite3.__name__, sqlite3.sqlite_version
Connection = sqlite3.Connection
# Number of SQLite instructions between two checks of the time limit.
_INSTRUCTIONS = 10_000
Row = sqlite3.Row
Error = sqlite3.Error
DatabaseError = sqlite3.DatabaseError
IntegrityError = sqlite3.IntegrityError
OperationalError = sqlite3.OperationalError
ProgrammingError = sqlite3.ProgrammingError

CHECKPOINT_PAGES = 4000
"""Size of the write-ahead log, in pages (16 MB), at which it is written back into the file.

A large log saves writing: a page that was written to the log a hundred times is written back only once.
"""

BUSY, LOCKED, READONLY, CORRUPT, FULL, CANTOPEN, NOTADB = 5, 6, 8, 11, 13, 14, 26
"""Primary result codes (https://sqlite.org/rescode.html). An extended code contains its primary code in the low byte.
"""
PERM, NOMEM, IOERR = 3, 7, 10
NOT_THE_FILE = frozenset({PERM, BUSY, LOCKED, NOMEM, READONLY, IOERR, FULL, CANTOPEN})
"""Codes that are not caused by the content of the file."""


def code_of(error: Error) -> int:
    """Return the primary result code of an error; 0 if SQLite gave none."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def store_error(error: Error, path: Path) -> StoreError:
    """Convert an SQLite error to our exception, with a message for the owner."""
    code, text = code_of(error), str(error)
    if code == FULL:
        return StoreFull(f"{path}: the disk is full; nothing was written ({text})")
    if code in {CORRUPT, NOTADB}:
        return StoreDamaged(f"{path}: the database is damaged ({text}); the daemon restores it when it starts")
    if code in {BUSY, LOCKED}:
        return StoreLocked(f"{path}: another process keeps the database locked ({text})")
    if code in {READONLY, PERM}:
        return StoreReadOnly(f"{path}: may not be written, or its disk is read-only ({text})")
    if code in {IOERR, CANTOPEN, NOMEM}:
        return StoreUnready(f"{path}: the disk reports errors ({text})")
    return StoreError(f"{path}: {text}")


def connect(path: Path, *, readonly: bool = False, busy_s: float = 5.0) -> Connection:
    """Open a connection in autocommit mode, so that transactions begin and end explicitly.

    WAL lets readers continue while the writer writes. `synchronous=FULL` makes a commit survive a power cut. The
    connection may be used in any thread, but only in one at a time.

    Args:
        path: the database file, which is created unless `readonly` is set.
        readonly: refuse every write. Works even for a file or folder that this user may not write to.
        busy_s: seconds that a statement waits for another connection's lock.

    Raises:
        StoreMissing: there is no such file, and `readonly` is set.
        StoreDamaged: the file is not a database, or a damaged one.
        StoreError: the file cannot be opened.
    """
    if readonly and not path.exists():
        raise StoreMissing(f"{path}: there is no database yet")
    try:
        return _open_readonly(path, busy_s) if readonly else _open_writable(path, busy_s)
    except Error as error:
        raise store_error(error, path) from error


def connect_draft(path: Path) -> Connection:
    """Open a new database file that nobody else uses until it is complete.

    Since nobody else uses the file, there is no log, no flush to the disk and no check of foreign keys.

    Raises:
        StoreError: the file cannot be opened.
    """
    try:
        conn = _open(path, "mode=rwc", 5.0)
        conn.execute("PRAGMA auto_vacuum=INCREMENTAL")
        conn.execute("PRAGMA journal_mode=MEMORY").fetchone()
        conn.execute("PRAGMA synchronous=OFF")
    except Error as error:
        raise store_error(error, path) from error
    return conn


def connect_memory() -> Connection:
    """Open a new database in memory."""
    conn = sqlite3.connect(":memory:", isolation_level=None)
    conn.row_factory = Row
    return conn


@contextlib.contextmanager
def transaction(conn: Connection) -> Iterator[None]:
    """Commit everything that is written within the block, or nothing if the block raises."""
    conn.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        conn.execute("ROLLBACK")
        raise
    conn.execute("COMMIT")


def _open(path: Path, query: str, busy_s: float) -> Connection:
    if query == "mode=rwc":
        make_private(path)
    uri = f"file:{quote(str(path.absolute()))}?{query}"
    conn = sqlite3.connect(uri, uri=True, timeout=busy_s, isolation_level=None, check_same_thread=False)
    conn.row_factory = Row
    return conn


def make_private(path: Path) -> None:
    """Create a new file that only its owner can read, because it will hold code, prompts and replies.

    SQLite gives its log the same permissions as the file. If the file cannot be created, SQLite reports the reason
    later.
    """
    with contextlib.suppress(OSError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def _open_writable(path: Path, busy_s: float) -> Connection:
    conn, empty = _open(path, "mode=rwc", busy_s), not (path.exists() and path.stat().st_size)
    try:
        if empty:  # no effect on a file with tables; see storage/db/pruning.py
            conn.execute("PRAGMA auto_vacuum=INCREMENTAL")
        _use_wal(conn, busy_s)
        conn.execute("PRAGMA synchronous=FULL")
        conn.execute("PRAGMA foreign_keys=ON")
        conn.execute(f"PRAGMA wal_autocheckpoint={CHECKPOINT_PAGES}")
    except BaseException:
        conn.close()
        raise
    return conn


def _use_wal(conn: Connection, busy_s: float) -> None:
    """Switch to WAL. SQLite does not wait for locks in this switch, so it is repeated if the file is locked."""
    deadline = time.monotonic() + busy_s
    while True:
        try:
            conn.execute("PRAGMA journal_mode=WAL").fetchone()
        except OperationalError as error:
            if code_of(error) not in {BUSY, LOCKED} or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return


def _open_readonly(path: Path, busy_s: float) -> Connection:
    """Open with mode=ro, for which SQLite still needs a shared-memory file beside a WAL database.

    If the shared-memory file can neither be found nor created, and the log is empty, then the file alone is the whole
    database, and is opened as immutable.
    """
    conn = _open(path, "mode=ro", busy_s)
    try:
        conn.execute("SELECT 1 FROM sqlite_master").fetchone()
    except OperationalError as error:
        conn.close()
        log = path.with_name(path.name + "-wal")
        if code_of(error) not in {CANTOPEN, READONLY} or (log.exists() and log.stat().st_size):
            raise
        return _open(path, "mode=ro&immutable=1", busy_s)
    except BaseException:
        conn.close()
        raise
    return conn


def watch(conn: Connection, end: float) -> None:
    """Make all statements of a connection abort with an error after the time `end` (monotonic clock, in seconds)."""
    if end < math.inf:
        conn.set_progress_handler(lambda: int(time.monotonic() > end), _INSTRUCTIONS)


def faults(path: Path, end: float = math.inf) -> list[str]:
    """Check a whole database file, and return its faults; an empty list means that the file is sound.

    Raises:
        TimeoutError: the check was not finished at the time `end` (monotonic clock, in seconds).
    """
    try:
        conn = connect(path, readonly=True)
    except (StoreError, UnicodeDecodeError) as error:
        return [str(error)]
    try:
        watch(conn, end)
        lines = [str(row[0]) for row in conn.execute("PRAGMA integrity_check")]
    except Error as error:
        if time.monotonic() > end:
            raise TimeoutError from error
        return [str(store_error(error, path))]
    except UnicodeDecodeError as error:  # SQLite's message quotes damaged text
        return [f"{path}: the database is damaged ({error})"]
    finally:
        conn.close()
    return [] if lines == ["ok"] else lines
