"""The one SQLite module of this process, and how files are opened with it.

`pysqlite3` is taken where it is installed (many Python builds cannot load extensions), the standard module elsewhere.
That is what sqlite-utils does too; the choice is made here by hand because importing sqlite-utils costs a quarter of a
second, and it must come out the same: two builds of SQLite in one process drop each other's file locks.
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
# SQLite's instructions between two looks at the clock.
_INSTRUCTIONS = 10_000
Row = sqlite3.Row
Error = sqlite3.Error
DatabaseError = sqlite3.DatabaseError
IntegrityError = sqlite3.IntegrityError
OperationalError = sqlite3.OperationalError
ProgrammingError = sqlite3.ProgrammingError

CHECKPOINT_PAGES = 4000
"""How long the write-ahead log grows (16 MB) before it is folded into the file; a page that was written a hundred times
meanwhile is folded once."""

BUSY, LOCKED, READONLY, CORRUPT, FULL, CANTOPEN, NOTADB = 5, 6, 8, 11, 13, 14, 26
"""Primary result codes, https://sqlite.org/rescode.html; the low byte of an extended one."""
PERM, NOMEM, IOERR = 3, 7, 10
NOT_THE_FILE = frozenset({PERM, BUSY, LOCKED, NOMEM, READONLY, IOERR, FULL, CANTOPEN})
"""Codes that say nothing against what a file holds."""


def code_of(error: Error) -> int:
    """The primary result code, 0 where SQLite gave none."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def store_error(error: Error, path: Path) -> StoreError:
    """Say in our words what SQLite reported."""
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
        return StoreUnready(f"{path}: the disk does not do its work ({text})")
    return StoreError(f"{path}: {text}")


def connect(path: Path, *, readonly: bool = False, busy_s: float = 5.0) -> Connection:
    """Open a connection in autocommit mode: transactions are begun and ended in plain sight.

    WAL lets readers go on while the writer writes; synchronous=FULL makes a commit survive a power cut. The
    connection may be used on another thread than this one, but on one at a time.

    Args:
        path: the database file; created unless `readonly`.
        readonly: refuse every write, also on a file or in a folder that this user may not write.
        busy_s: how long a statement waits for another connection's lock.

    Raises:
        StoreMissing: `readonly`, and there is no such file.
        StoreDamaged: the file is not a database, or a broken one.
        StoreError: it cannot be opened.
    """
    if readonly and not path.exists():
        raise StoreMissing(f"{path}: there is no database yet")
    try:
        return _open_readonly(path, busy_s) if readonly else _open_writable(path, busy_s)
    except Error as error:
        raise store_error(error, path) from error


def connect_draft(path: Path) -> Connection:
    """Open a file that nobody relies on until it is complete and flushed: no log, no flushes, no foreign keys.

    Raises:
        StoreError: it cannot be opened.
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
    """Open a database of its own in memory."""
    conn = sqlite3.connect(":memory:", isolation_level=None)
    conn.row_factory = Row
    return conn


@contextlib.contextmanager
def transaction(conn: Connection) -> Iterator[None]:
    """Commit all that is written inside, or nothing of it."""
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
    """Make a new file that only its owner can read: it will hold code, prompts and replies.

    SQLite gives its log the permissions of the file. Where it cannot be made, SQLite says why.
    """
    with contextlib.suppress(OSError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def _open_writable(path: Path, busy_s: float) -> Connection:
    conn, empty = _open(path, "mode=rwc", busy_s), not (path.exists() and path.stat().st_size)
    try:
        if empty:  # it writes, and a file that has tables does not heed it; see storage/db/pruning.py
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
    """Switch to WAL; the switch itself does not wait for locks, so two first openers must try again."""
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
    """Open with mode=ro, which still needs a shared-memory file beside a WAL database.

    Where that can neither be found nor created, an empty log means that the file alone is the whole database, so it
    may be read as immutable.
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
    """End whatever the connection does then with an error, at a time in seconds of monotonic time."""
    if end < math.inf:
        conn.set_progress_handler(lambda: int(time.monotonic() > end), _INSTRUCTIONS)


def faults(path: Path, end: float = math.inf) -> list[str]:
    """Check a database file from end to end; an empty list means that it is sound.

    Raises:
        TimeoutError: it was not done at `end`, in seconds of monotonic time.
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
    except UnicodeDecodeError as error:  # SQLite quotes what it found
        return [f"{path}: the database is damaged ({error})"]
    finally:
        conn.close()
    return [] if lines == ["ok"] else lines
