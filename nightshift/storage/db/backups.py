"""Copies of the database: made while it is in use, checked before they count, and kept by age.

A copy is made by SQLite's online backup in one step: it reads one moment of the database, and the writer goes on in the
log meanwhile. (`VACUUM INTO` would pack the pages anew; a copy with the same pages in the same places is faster to
make, and tells where the tables of a damaged original begin.) It appears under its name when it is complete, on the
disk and has passed SQLite's full check; then older ones go, so the last sound one is never among them. Where nothing
was done since the newest one, none is made.
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


# What a daemon notes of its own life; two of its starts differ in nothing else.
_OWN_LIFE = (
    Kind.DAEMON_STARTED, Kind.DAEMON_STOPPED, Kind.STATE_SAVED, Kind.INBOX_READ, Kind.ORPHANS_SWEPT, Kind.SWEPT,
    Kind.MODEL_UP, Kind.MODEL_DOWN, Kind.EMBEDDER_READY, Kind.EMBEDDER_MISSING, Kind.CLOCK_JUMPED,
)  # fmt: skip
# Pages that are copied between two looks at the clock.
_PAGES = 2000


def copy(source: Path, to: Path, *, limit_s: float | None = None) -> None:
    """Copy a database; `to` appears when the copy is complete, sound and on the disk.

    Raises:
        TimeoutError: that was not done within `limit_s` seconds; what stood at `to` is left as it was.
        StoreError: the copy could not be made, or is not sound; what stood at `to` is left as it was.
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
    """Copy the pages: all in one step, or in several where there is a time at which to end."""

    def look(*_: int) -> None:
        if time.monotonic() > end:
            raise TimeoutError

    try:
        with closing(connect(source, readonly=True)) as original, closing(connect_draft(part)) as target:
            original.backup(target, pages=-1 if end == math.inf else _PAGES, progress=look)
            # One file without a log beside it, so that it can be read from anywhere.
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
    """Make a backup and let go of old ones; its path, or None where nothing was done since the newest one.

    Args:
        source: the database.
        folder: where backups lie, each named by its time.
        now: its time.
        keep: how many are kept of the newest, at most one an hour.
        daily: on how many days before today one a day is kept as well, the newest of it.
        most_bytes: how large all are together; the newest one is kept however large it is.
        limit_s: in how many seconds it must be made.

    Raises:
        TimeoutError: it was not; all old ones are kept.
        StoreError: there is no sound new one; all old ones are kept.
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
    """Tell whether nothing was done in a database since its backup was made."""
    try:
        return _mark(backup) == _mark(source)
    except (Error, StoreError, OSError):
        return False


def _mark(path: Path) -> tuple[object, ...]:
    """Mark what was done in a database: the newest event that tells of work, and the number of rows."""
    with closing(connect(path, readonly=True)) as conn:
        own = ", ".join("?" * len(_OWN_LIFE))
        done = f"SELECT id FROM execution_logs WHERE kind NOT IN ({own}) ORDER BY id DESC LIMIT 1"  # noqa: S608
        newest = conn.execute(done, _OWN_LIFE).fetchone()
        tables = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
        names = {row[0] for row in conn.execute(tables)} - {"execution_logs", "system_state"}
        counts = (conn.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for name in names)  # noqa: S608
        return (newest and newest[0], dict(zip(names, counts, strict=True)))


def list_backups(folder: Path, now: datetime) -> list[Path]:
    """The backups in a folder, the newest first by the time in their names.

    Those that were made after `now` were made under a wrong clock (or it is wrong now), and come last.
    """
    paths = folder.glob("agent_logs-*.sqlite") if folder.is_dir() else ()
    timed = [(at <= now, path.name, path) for path in paths if (at := time_of(path))]
    return [path for _, _, path in sorted(timed, reverse=True)]


def time_of(backup: Path) -> datetime | None:
    """Return the time when a backup was made; None where its name does not say."""
    match = _NAME.fullmatch(backup.name)
    try:
        return datetime.strptime(match[1], "%Y%m%dT%H%M%S").replace(tzinfo=UTC) if match else None
    except ValueError:
        return None


def _superfluous(newest_first: list[Path], now: datetime, keep: int, daily: int, most_bytes: float) -> list[Path]:
    """List the backups that no rule keeps, or that there is no room for.

    Kept are the newest of the last hours, then the newest of each day.
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
