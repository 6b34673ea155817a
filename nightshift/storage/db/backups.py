"""Copies of the database: made while it is in use, checked before they count, and kept by age.

A copy is made by SQLite's online backup in one step: it reads one moment of the database, and the writer goes on in the
log meanwhile. (`VACUUM INTO` would pack the pages anew; a copy with the same pages in the same places is faster to
make, and tells where the tables of a damaged original begin.) It appears under its name when it is complete, on the
disk and has passed SQLite's full check; then older ones go, so the last sound one is never among them.
"""

from __future__ import annotations

import re
from contextlib import closing
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from nightshift.core.errors import StoreError
from nightshift.storage.db.sqlite import Error, connect, connect_draft, faults, store_error
from nightshift.storage.files.whole import publish

_NAME = re.compile(r"agent_logs-(\d{8}T\d{6})Z\.sqlite", re.ASCII)


def copy(source: Path, to: Path) -> None:
    """Copy a database; `to` appears when the copy is complete, sound and on the disk.

    Raises:
        StoreError: the copy could not be made, or is not sound; what stood at `to` is left as it was.
    """
    part = to.with_name(to.name + ".part")
    try:
        to.parent.mkdir(parents=True, exist_ok=True)
        part.unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(f"{to}: the copy could not be written: {error}") from error
    try:
        _fill(source, part)
        if found := faults(part):
            raise StoreError(f"{to}: the copy is not sound and is not kept: {found[0]}")
        publish(part, to)
    except OSError as error:
        raise StoreError(f"{to}: the copy could not be written: {error}") from error
    finally:
        part.unlink(missing_ok=True)


def _fill(source: Path, part: Path) -> None:
    try:
        with closing(connect(source, readonly=True)) as original, closing(connect_draft(part)) as target:
            original.backup(target)
            # One file without a log beside it, so that it can be read from anywhere.
            target.execute("PRAGMA journal_mode=DELETE")
    except Error as error:
        raise store_error(error, part) from error


def make(source: Path, folder: Path, now: datetime, *, keep: int, daily: int) -> Path:
    """Make a backup and let go of old ones; its path.

    Args:
        source: the database.
        folder: where backups lie, each named by its time.
        now: its time.
        keep: how many of the newest are kept.
        daily: on how many days before today one a day is kept as well, the newest of it.

    Raises:
        StoreError: there is no sound new one; all old ones are kept.
    """
    new = folder / f"agent_logs-{now.astimezone(UTC):%Y%m%dT%H%M%S}Z.sqlite"
    copy(source, new)
    for old in _superfluous(kept(folder, now), now, keep, daily):
        if old != new:
            old.unlink(missing_ok=True)
    return new


def kept(folder: Path, now: datetime) -> list[Path]:
    """The backups in a folder, the newest first by the time in their names.

    Those that were made after `now` were made under a wrong clock (or it is wrong now), and come last.
    """
    found = folder.glob("agent_logs-*.sqlite") if folder.is_dir() else ()
    timed = [(at <= now, path.name, path) for path in found if (at := time_of(path))]
    return [path for _, _, path in sorted(timed, reverse=True)]


def time_of(backup: Path) -> datetime | None:
    """When a backup was made, or None where its name does not say."""
    match = _NAME.fullmatch(backup.name)
    try:
        return datetime.strptime(match[1], "%Y%m%dT%H%M%S").replace(tzinfo=UTC) if match else None
    except ValueError:
        return None


def _superfluous(newest_first: list[Path], now: datetime, keep: int, daily: int) -> list[Path]:
    """Those that no rule keeps."""
    today = now.astimezone(UTC).date()
    days: set[date] = set()
    gone: list[Path] = []
    for number, path in enumerate(newest_first):
        day = (time_of(path) or now).date()
        of_its_day = day not in days and today - timedelta(days=daily) <= day < today
        days.add(day)
        if number >= keep and not of_its_day:
            gone.append(path)
    return gone
