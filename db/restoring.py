"""Puts a sound database in the place of a damaged one, by itself, and says what that cost.

In order: the new one is built beside it from the newest backup that is sound, or from nothing, with all that can be
salvaged; the damaged files are linked into a folder of their own, where only people delete them; a note says that the
new one is complete; the new one takes the name. Whenever the power goes, the next start finds either the damaged
database as it was, or the note, and finishes. The old log must be gone before the new file is in place: SQLite would
apply it.
"""

from __future__ import annotations

import logging
import os
import shutil
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from core.errors import StoreError, StoreFull
from db import backups, migrations
from db.pages import Pages
from db.restored import Facts, Restored, enter, raise_ids
from db.salvage import Salvage, roots
from db.settling import settle
from db.soundness import Examined, beside
from db.sqlite import Error, connect_draft, faults, store_error
from db.witness import Witness
from files.whole import flush, publish, write_whole

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """A database that cannot be used, and what is known beside it.

    Attributes:
        path: the database.
        why: what is wrong with it.
        found: what was seen of it.
        backups: the folder of the backups.
        witness: what the log file says.
    """

    path: Path
    why: str
    found: Examined
    backups: Path
    witness: Witness


def restore(damage: Damage, now: datetime) -> Restored:
    """Restore a database that nobody has open.

    Raises:
        StoreFull: there is no room to do it; nothing was changed.
        StoreError: it cannot be done; nothing was changed.
    """
    path, build = damage.path, beside(damage.path, ".restored")
    try:
        base = _lay_base(damage, build, now)
        restored = _fill(damage, build, base, now)
        if left := faults(build):
            raise StoreError(f"{path}: could not be restored, the new one is not sound: {left[0]}")
        _set_aside(path, restored.aside)
        flush(build)
        write_whole(beside(path, ".restoring"), f"{restored.aside}\n")
        finish(path)
    except Error as error:
        raise store_error(error, build) from error
    except OSError as error:
        raise StoreFull(f"{path}: is damaged ({damage.why}), and could not be restored: {error}") from error
    return restored


def finish(path: Path) -> None:
    """Finish a restore that was interrupted when all of it was ready; nothing happens when there was none."""
    note, build = beside(path, ".restoring"), beside(path, ".restored")
    if not note.exists():
        build.unlink(missing_ok=True)
        return
    if build.exists():
        for name in ("-wal", "-shm"):
            beside(path, name).unlink(missing_ok=True)
        flush(path.parent)
        publish(build, path)
    note.unlink()
    flush(path.parent)


def _lay_base(damage: Damage, build: Path, now: datetime) -> Path | None:
    """Copy the newest backup that is sound and fits; None where the new database begins empty."""
    build.parent.mkdir(parents=True, exist_ok=True)
    for backup in backups.kept(damage.backups, now):
        build.unlink(missing_ok=True)
        if found := faults(backup):
            log.warning("the backup %s is not sound: %s", backup, found[0])
            continue
        shutil.copyfile(backup, build)
        with closing(connect_draft(build)) as conn:
            try:
                migrations.pending(conn, backup)
            except StoreError as error:
                log.warning("the backup %s cannot be used: %s", backup, error)
                continue
        return backup
    build.unlink(missing_ok=True)
    return None


def _fill(damage: Damage, build: Path, base: Path | None, now: datetime) -> Restored:
    """Bring the base up to date, and into it all that can be salvaged."""
    with closing(connect_draft(build)) as conn:
        old = roots(conn)
        migrations.migrate(conn, build)
        for name in migrations.guards():
            conn.execute(f'DROP TRIGGER "{name}"')
        raw = damage.path.read_bytes() if damage.path.exists() else b""
        pages = Pages(raw, damage.found.log.pages)
        salvage = Salvage(conn, pages, old or roots(conn), doubtful=damage.found.log.unplaced)
        carried = salvage.run(beside(damage.path, ".salvage"))
        last_event = conn.execute("SELECT COALESCE(MAX(id), 0) FROM execution_logs").fetchone()[0]
        raise_ids(conn, carried, damage.witness)
        facts = Facts(
            why=damage.why,
            aside=_aside(damage.path, now),
            backup=base,
            backup_at=backups.time_of(base) if base else None,
            carried=carried,
            witness=damage.witness,
        )
        restored = enter(conn, facts, settle(conn, carried.tasks, now), last_event, now)
        migrations.migrate(conn, build)
    return restored


def _aside(path: Path, now: datetime) -> Path:
    """A folder that is not there yet."""
    stem = f"{path.stem}-{now:%Y%m%dT%H%M%SZ}"
    names = (stem, *(f"{stem}-{number}" for number in range(2, 1000)))
    return next(folder for name in names if not (folder := path.parent / "damaged" / name).exists())


def _set_aside(path: Path, folder: Path) -> None:
    """Keep the damaged files, which stay in their place as well until the new one takes it."""
    folder.mkdir(parents=True)
    for file in (beside(path, name) for name in ("", "-wal", "-shm")):
        if file.exists():
            try:
                os.link(file, folder / file.name)
            except OSError:  # a file system without hard links
                shutil.copyfile(file, folder / file.name)
                flush(folder / file.name)
    for place in (folder, folder.parent, path.parent):
        flush(place)
