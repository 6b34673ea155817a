"""Gives room that pruning made back to the disk: free pages at the end of the file, and the write-ahead log.

A database file made with incremental vacuum (every new one) gives pages back in small steps between other writes. An
older file cannot: it has to be written anew once, which keeps every writer waiting, so that is done at a quiet moment,
with a limit, and only where it is worth it. Room that is not given back is used again, so the file does not grow either
way.
"""

from __future__ import annotations

import shutil
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from db.sqlite import Connection, OperationalError, connect

INCREMENTAL = 2
"""The value of `PRAGMA auto_vacuum` with which pages can be given back in steps."""
PAGES = 100
"""How many pages one job gives back; each may have to be moved."""
REWRITE_S = 15.0
"""How long all writers may be kept waiting; those who wait for an answer give up after 20 seconds."""
WORTH_PAGES, WORTH_SHARE = 4096, 0.25
_LOOK_EVERY = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """The database file in bytes, and how much of it is free."""

    file: int
    free: int
    in_steps: bool

    @property
    def used(self) -> int:
        """Bytes that hold something."""
        return self.file - self.free


def size(conn: Connection) -> Size:
    """How large the database is."""
    page, pages, free, mode = (
        int(conn.execute(f"PRAGMA {name}").fetchone()[0])
        for name in ("page_size", "page_count", "freelist_count", "auto_vacuum")
    )
    return Size(file=page * pages, free=page * free, in_steps=mode == INCREMENTAL)


def give_back(conn: Connection) -> bool:
    """Give some free pages back, inside a write job; False when there are none, or the file cannot."""
    if not conn.execute("PRAGMA freelist_count").fetchone()[0] or not size(conn).in_steps:
        return False
    conn.execute(f"PRAGMA incremental_vacuum({PAGES})").fetchall()
    return True


def rewrite(path: Path, within_s: float = REWRITE_S) -> bool:
    """Write the file anew without its free pages, from then on with incremental vacuum; nobody can write meanwhile.

    False when it is not worth it, the disk has no room for it, or it took too long and was undone.
    """
    with closing(connect(path)) as conn:
        found = size(conn)
        page = int(conn.execute("PRAGMA page_size").fetchone()[0])
        worth = max(WORTH_PAGES * page, WORTH_SHARE * found.file)
        if found.in_steps or found.free < worth or shutil.disk_usage(path.parent).free < 3 * found.used:
            return False
        end = time.monotonic() + within_s
        conn.set_progress_handler(lambda: time.monotonic() > end, _LOOK_EVERY)
        try:
            conn.execute("PRAGMA auto_vacuum=INCREMENTAL")  # heeded by the file that VACUUM writes
            conn.execute("VACUUM")
        except OperationalError:
            return False
    return True


def fold_log(path: Path) -> int:
    """Fold the write-ahead log into the file and cut it to nothing, unless somebody uses it; its bytes afterwards."""
    with closing(connect(path, busy_s=0.1)) as conn:
        conn.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    log = path.with_name(path.name + "-wal")
    return log.stat().st_size if log.exists() else 0
