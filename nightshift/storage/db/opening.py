"""The way a daemon comes to its database: looked at first, restored where it is damaged, and then opened.

Only under the instance lock, and before anything is written: a daemon that writes to a damaged file makes it worse.
"""

from __future__ import annotations

import logging
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from nightshift.core.errors import StoreError
from nightshift.storage.db import backups
from nightshift.storage.db.integrity import Examined, beside, examine, last_full_look
from nightshift.storage.db.log_end import LogEnd, read_log_end
from nightshift.storage.db.raw_file import read_log
from nightshift.storage.db.restore import Damage, Restored, finish, restore
from nightshift.storage.db.sqlite import Error, connect, store_error

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """How the database was found; `looked_at` is when it was last looked at in full."""

    looked_at: datetime
    restored: Restored | None = None


def ensure_sound(path: Path, backups_dir: Path, log_file: Path, now: datetime) -> Looked:
    """Make sure that the database at `path` is sound, or that there is none and never was.

    Raises:
        StoreTooNew: a newer Nightshift wrote it.
        StoreError: it can neither be read nor restored; nothing was changed.
    """
    finish(path)
    log_end = read_log_end(log_file)
    try:
        found = _examine(path, now)
        why = found.faults[0] if found.faults else _missing(path, backups_dir, log_end, now)
        if not why:
            looked_at = last_full_look(path, now, full=found.full)
            beside(path, ".clean").unlink(missing_ok=True)
            return Looked(looked_at=looked_at)
    except OSError as error:
        raise StoreError(f"{path}: cannot be used: {error}") from error
    log.error("%s is damaged and is restored: %s", path, "; ".join(found.faults) or why)
    restored = restore(Damage(path=path, why=why, found=found, backups=backups_dir, log_end=log_end), now)
    beside(path, ".clean").unlink(missing_ok=True)
    log.error("%s", restored.summary())
    return Looked(looked_at=now, restored=restored)


def _examine(path: Path, now: datetime) -> Examined:
    if path.exists():
        return examine(path, now)
    found = read_log(beside(path, "-wal"))
    faults = ("the file is gone, but its write-ahead log is not",) if found.pages or found.damage else ()
    return Examined(faults=faults, log=found, full=True, took_s=0.0)


def _missing(path: Path, backups_dir: Path, log_end: LogEnd, now: datetime) -> str:
    """What must have been there and is not, or nothing."""
    if not path.exists() or not path.stat().st_size:
        return "the file is gone" if backups.kept(backups_dir, now) or log_end.newest_event else ""
    newest = _newest_event(path)
    if log_end.newest_event <= newest:
        return ""
    return f"events {newest + 1} to {log_end.newest_event}, which the log file has, are not in it"


def _newest_event(path: Path) -> int:
    try:
        with closing(connect(path, readonly=True)) as conn:
            if conn.execute("SELECT 1 FROM sqlite_master WHERE name = 'execution_logs'").fetchone() is None:
                return 0
            query = "SELECT COALESCE(MAX(seq), 0) FROM sqlite_sequence WHERE name = 'execution_logs'"
            return int(conn.execute(query).fetchone()[0])
    except Error as error:
        raise store_error(error, path) from error
