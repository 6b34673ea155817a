"""Whether a database may be used: looked at before anything is written to it, and how thoroughly.

SQLite's quick check always; its full check, the foreign keys and the sense of the rows where the last stop was not a
clean one, once a week, and wherever it takes no time. A stop is clean when nothing has touched the file since.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from nightshift.core.clock import from_text, to_text
from nightshift.core.errors import StoreDamaged, StoreError
from nightshift.storage.db import migrations, row_validation
from nightshift.storage.db.raw_file import PAGE, Log, read_log
from nightshift.storage.db.sqlite import NOT_THE_FILE, Connection, Error, code_of, connect, store_error
from nightshift.storage.files.whole import write_whole

ALWAYS_IN_FULL = 32 << 20
"""Up to this size, in bytes, the full check takes less than a second."""
FULL_EVERY = timedelta(days=7)
LONG_S = 1.0
_MAX_LINES = 20

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """What was found; no faults means that the database is sound. `log` is its write-ahead log."""

    faults: tuple[str, ...]
    log: Log
    full: bool
    took_s: float


def beside(path: Path, what: str) -> Path:
    """A file that belongs to a database: its name with something behind it."""
    return path.with_name(path.name + what)


def examine(path: Path, now: datetime, *, always_to: int = ALWAYS_IN_FULL) -> Examined:
    """Look at a database that nobody else has open for writing; up to `always_to` bytes always in full.

    Raises:
        StoreTooNew: a newer Nightshift wrote it; that is no damage.
        StoreError: it cannot be looked at: no permission, a failing disk, another process that keeps it locked.
    """
    began, full = time.monotonic(), _in_full(path, now, always_to)
    try:
        found = read_log(beside(path, "-wal"))
        lines = tuple(_faults(path, found, full=full))
    except OSError as error:
        raise StoreError(f"{path}: cannot be read: {error}") from error
    took_s = time.monotonic() - began
    if took_s > LONG_S:
        log.warning("%s: looked at in %.1f s (%s)", path, took_s, "in full" if full else "quickly")
    return Examined(faults=lines, log=found, full=full, took_s=took_s)


def _faults(path: Path, found: Log, *, full: bool) -> Iterator[str]:
    if not path.stat().st_size:
        if found.pages or found.damage:
            yield "the file is empty, but its write-ahead log is not"
        return
    yield from (found.damage,) if found.damage else ()
    yield from _head(path, found)
    try:
        conn = connect(path, readonly=True)
    except StoreError as error:
        if isinstance(error.__cause__, Error) and code_of(error.__cause__) in NOT_THE_FILE:
            raise
        yield str(error)
        return
    except UnicodeDecodeError as error:  # of SQLite's own message, which quotes what it found
        yield f"it cannot be read: {error}"
        return
    try:
        if not migrations.pending(conn, path):
            yield from _columns(conn)
        yield from _checks(conn, full=full)
    except Error as error:
        if code_of(error) in NOT_THE_FILE:
            raise store_error(error, path) from error
        yield f"it cannot be read: {error}"
    except (UnicodeDecodeError, StoreDamaged) as error:
        yield f"it cannot be read: {error}"
    finally:
        conn.close()


def _head(path: Path, found: Log) -> Iterator[str]:
    """What SQLite would believe of the file's head and act upon: forget the log, or read texts in other letters."""
    with path.open("rb") as file:
        head = file.read(100)
    if head[16:18] != PAGE.to_bytes(2) or head[20] or head[56:60] not in {b"\0\0\0\1", b"\0\0\0\0"}:
        yield "the head of the file is damaged"
    if found.pages and head[18:20] != b"\2\2" and 1 not in found.pages:
        yield "the head of the file denies that it has a write-ahead log"


def _columns(conn: Connection) -> Iterator[str]:
    """Tables whose columns are not those that the migrations make."""
    with closing(migrations.fresh()) as new:
        found, wanted = row_validation.columns(conn), row_validation.columns(new)
    for name in (name for name in wanted if found.get(name) != wanted[name]):
        yield f"the columns of {name} are not those that it was made with"


def _checks(conn: Connection, *, full: bool) -> Iterator[str]:
    name = "integrity_check" if full else "quick_check"
    conn.execute("SELECT sql FROM sqlite_master").fetchall()
    lines = [str(row[0]) for row in conn.execute(f"PRAGMA {name}({_MAX_LINES})")]
    yield from () if lines == ["ok"] else lines
    if full and lines == ["ok"]:
        strays = conn.execute("SELECT COUNT(*) FROM pragma_foreign_key_check").fetchone()[0]
        yield from [f"{strays} rows name others that are not there"] if strays else []
        yield from row_validation.faults(conn) if row_validation.tables(conn) else ()


def _in_full(path: Path, now: datetime, always_to: int) -> bool:
    """Whether more than a quick look is due."""
    if path.stat().st_size <= always_to:
        return True
    try:
        kept = json.loads(beside(path, ".clean").read_text())
        same = kept["file"] == _stamp(path) and not _logs(path)
        return not same or abs(now - from_text(kept["looked_at"])) >= FULL_EVERY
    except (OSError, ValueError, KeyError, TypeError):
        return True


def stopped_cleanly(path: Path, looked_at: datetime) -> None:
    """Note that the file is closed and whole, and when it was last looked at in full; else the next start does."""
    if _logs(path):  # another process has it open
        return
    try:
        write_whole(beside(path, ".clean"), json.dumps({"file": _stamp(path), "looked_at": to_text(looked_at)}))
    except OSError as error:
        log.warning("the next start looks at the whole database: %s", error)


def last_full_look(path: Path, now: datetime, *, full: bool) -> datetime:
    """When the file was looked at in full: now, or when the note of the last clean stop says."""
    if full:
        return now
    return from_text(json.loads(beside(path, ".clean").read_text())["looked_at"])


def _logs(path: Path) -> bool:
    """Whether its write-ahead log holds anything."""
    log_file = beside(path, "-wal")
    return log_file.exists() and log_file.stat().st_size > 0


def _stamp(path: Path) -> list[int]:
    found = path.stat()
    return [found.st_size, found.st_mtime_ns]
