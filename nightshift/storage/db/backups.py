"""Copies of the database: made while the database is in use, checked before they count, and deleted by age.

SQLite's online backup copies a single state of the database, while the writer continues in the write-ahead log.
(`VACUUM INTO` would repack the pages. A copy with the same pages at the same positions is faster to make, and shows
where the tables of a damaged original begin.) A copy gets its final name only when it is complete, on the disk, and has
passed SQLite's full check. Older backups are deleted after that, so the last sound backup is never deleted. If no work
was done since the newest backup, none is made.
"""

from __future__ import annotations

import math
import re
import time
from contextlib import closing
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from nightshift.core.errors import StoreError
from nightshift.core.events import Kind
from nightshift.storage.db.sqlite import Error, connect, connect_draft, faults, store_error
from nightshift.storage.files.whole import publish

_NAME = re.compile(r"agent_logs-(\d{8}T\d{6})Z\.sqlite", re.ASCII)


# Kinds of events about the daemon's own starts and stops. A daemon that only starts and stops, without any work, adds
# no other events.
_OWN_LIFE = (
    Kind.DAEMON_STARTED, Kind.DAEMON_STOPPED, Kind.STATE_SAVED, Kind.INBOX_READ, Kind.ORPHANS_SWEPT, Kind.SWEPT,
    Kind.MODEL_UP, Kind.MODEL_DOWN, Kind.EMBEDDER_READY, Kind.EMBEDDER_MISSING, Kind.CLOCK_JUMPED,
)  # fmt: skip
# Pages copied between two checks of the time limit.
_PAGES = 2000


def copy(source: Path, to: Path, *, limit_s: float | None = None) -> None:
    """Copy a database. `to` appears only when the copy is complete, sound and on the disk.

    Raises:
        TimeoutError: the copy took longer than `limit_s` seconds; an existing file at `to` is left unchanged.
        StoreError: the copy could not be made, or is not sound; an existing file at `to` is left unchanged.
    """
    part = to.with_name(to.name + ".part")
    try:
        to.parent.mkdir(parents=True, exist_ok=True)
        part.unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(f"{to}: the copy could not be written: {error}") from error
    try:
        end = time.monotonic() + limit_s if limit_s is not None else math.inf
        _fill(source, part, end)
        if problems := faults(part, end):
            raise StoreError(f"{to}: the copy is not sound and is not kept: {problems[0]}")
        publish(part, to)
    except TimeoutError:
        raise
    except OSError as error:
        raise StoreError(f"{to}: the copy could not be written: {error}") from error
    finally:
        part.unlink(missing_ok=True)


def _fill(source: Path, part: Path, end: float) -> None:
    """Copy the pages of the database.

    Without a time limit, all pages are copied at once. With a limit, they are copied in steps, and the time is checked
    between the steps.
    """

    def look(*_: int) -> None:
        if time.monotonic() > end:
            raise TimeoutError

    try:
        with closing(connect(source, readonly=True)) as original, closing(connect_draft(part)) as target:
            original.backup(target, pages=-1 if end == math.inf else _PAGES, progress=look)
            # Write a single file without a log, so that the backup can be read from read-only places too.
            target.execute("PRAGMA journal_mode=DELETE")
    except Error as error:
        raise store_error(error, part) from error


def make(
    source: Path,
    folder: Path,
    now: datetime,
    *,
    keep: int,
    daily: int,
    most_bytes: float = math.inf,
    limit_s: float | None = None,
) -> Path | None:
    """Make a backup and delete old ones; return its path, or None if nothing was done since the newest backup.

    Args:
        source: the database.
        folder: the folder of the backups, which are named by their time.
        now: the time of the new backup.
        keep: number of latest hours whose newest backup is kept. Only hours that have a backup count.
        daily: number of days before today whose newest backup is kept as well.
        most_bytes: limit of the total size; the newest backup is kept whatever its size.
        limit_s: seconds within which the backup must be made.

    Raises:
        TimeoutError: the backup was not made in time; all old backups are kept.
        StoreError: no sound backup could be made; all old backups are kept.
    """
    new = folder / f"agent_logs-{now.astimezone(UTC):%Y%m%dT%H%M%S}Z.sqlite"
    if (newest := next(iter(list_backups(folder, now)), None)) and is_current(newest, source):
        return None
    copy(source, new, limit_s=limit_s)
    for old in _superfluous(list_backups(folder, now), now, keep, daily, most_bytes):
        if old != new:
            old.unlink(missing_ok=True)
    return new


def is_current(backup: Path, source: Path) -> bool:
    """Return True if nothing was done in the database since this backup was made."""
    try:
        return _mark(backup) == _mark(source)
    except (Error, StoreError, OSError):
        return False


def _mark(path: Path) -> tuple[object, ...]:
    """Return a value that changes whenever work is done in a database.

    The value consists of the newest event about work, and the number of rows in each table.
    """
    with closing(connect(path, readonly=True)) as conn:
        own = ", ".join("?" * len(_OWN_LIFE))
        done = f"SELECT id FROM execution_logs WHERE kind NOT IN ({own}) ORDER BY id DESC LIMIT 1"  # noqa: S608
        newest = conn.execute(done, _OWN_LIFE).fetchone()
        tables = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
        names = {row[0] for row in conn.execute(tables)} - {"execution_logs", "system_state"}
        counts = (conn.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for name in names)  # noqa: S608
        return (newest and newest[0], dict(zip(names, counts, strict=True)))


def list_backups(folder: Path, now: datetime) -> list[Path]:
    """List the backups in a folder by the time in their names, newest first.

    Backups with a time after `now` come last, because the clock was wrong when they were made, or is wrong now.
    """
    paths = folder.glob("agent_logs-*.sqlite") if folder.is_dir() else ()
    timed = [(at <= now, path.name, path) for path in paths if (at := time_of(path))]
    return [path for _, _, path in sorted(timed, reverse=True)]


def time_of(backup: Path) -> datetime | None:
    """Return the time when a backup was made; None if its name does not contain one."""
    match = _NAME.fullmatch(backup.name)
    try:
        return datetime.strptime(match[1], "%Y%m%dT%H%M%S").replace(tzinfo=UTC) if match else None
    except ValueError:
        return None


def _superfluous(newest_first: list[Path], now: datetime, keep: int, daily: int, most_bytes: float) -> list[Path]:
    """List the backups that no rule keeps, or that exceed `most_bytes` in total.

    One rule keeps the newest backup of each hour, for the latest `keep` hours that have a backup. The other rule keeps
    the newest backup of each day, for the `daily` days before today.
    """
    today = now.astimezone(UTC).date()
    hours, days, gone, together = set[datetime](), set[date](), list[Path](), 0
    for path in newest_first:
        at = time_of(path) or now
        hour = at.replace(minute=0, second=0, microsecond=0)
        is_of_hour = hour not in hours and len(hours) < keep
        is_of_day = at.date() not in days and today - timedelta(days=daily) <= at.date() < today
        size = path.stat().st_size
        if (is_of_hour or is_of_day) and (not days or together + size <= most_bytes):
            days.add(at.date())
            together += size
        else:
            gone.append(path)
        hours |= {hour} if is_of_hour else set()
    return gone
