"""Inspects a database from outside, beside a daemon that has it open; nothing is written, nothing kept open."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from nightshift.core.clock import from_text
from nightshift.core.errors import StoreError
from nightshift.core.events import Kind
from nightshift.storage.db import migrations
from nightshift.storage.db.sqlite import Connection, Error, connect, store_error
from nightshift.storage.db.sqlite import sqlite3 as taken  # type: ignore[attr-defined]  # the one of two that it took

_STEPS = 10_000
"""How many of SQLite's instructions pass between two looks at the clock."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What a few rows say."""

    newest_event_at: datetime | None
    """None in an empty log."""
    started: bool
    """Whether the newest start or stop of a daemon in the log is a start."""
    tasks: int
    """How many tasks there are."""
    unread: int
    """How many commits wait to be read by their owner."""


def library() -> tuple[str, str]:
    """The module that brings SQLite, and SQLite's version."""
    return taken.__name__, taken.sqlite_version


def facts(path: Path) -> Facts:
    """Read them.

    Raises:
        StoreMissing: there is no such file.
        StoreTooNew: a newer Nightshift wrote it.
        StoreTooOld: it has to be brought up to date first.
        StoreDamaged: it is no sound database.
        StoreError: it cannot be opened.
    """
    with _reading(path) as conn:
        migrations.check(conn, path)
        kinds = (Kind.DAEMON_STARTED, Kind.DAEMON_STOPPED)
        row = conn.execute("SELECT max(at) FROM (SELECT at FROM execution_logs ORDER BY id DESC LIMIT 100)").fetchone()
        last = conn.execute(
            "SELECT kind FROM execution_logs WHERE kind IN (?, ?) ORDER BY id DESC LIMIT 1", kinds
        ).fetchone()
        return Facts(
            newest_event_at=from_text(row[0]) if row[0] else None,
            started=last is not None and last[0] == Kind.DAEMON_STARTED,
            tasks=conn.execute("SELECT count(*) FROM tasks").fetchone()[0],
            unread=conn.execute("SELECT count(*) FROM git_commits WHERE reviewed_at IS NULL").fetchone()[0],
        )


def quick_faults(path: Path, limit_s: float) -> list[str] | None:
    """What SQLite's quick check finds; empty for a sound file, None where it did not come to its end in time.

    Raises:
        StoreError: the file cannot be opened.
    """
    with _reading(path) as conn:
        end = time.monotonic() + limit_s
        conn.set_progress_handler(lambda: int(time.monotonic() > end), _STEPS)
        try:
            found = [str(row[0]) for row in conn.execute("PRAGMA quick_check(20)")]
        except Error as error:
            if time.monotonic() > end:
                return None
            return [str(store_error(error, path))]
        return [] if found == ["ok"] else found


@contextmanager
def _reading(path: Path) -> Iterator[Connection]:
    with closing(connect(path, readonly=True, busy_s=1.0)) as conn:
        try:
            yield conn
        except StoreError:
            raise
        except Error as error:
            raise store_error(error, path) from error
