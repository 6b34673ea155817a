"""Copies of the database: made while it is in use, and put back when the original is damaged."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from db.sqlite import Error, connect, faults, store_error


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """Where the damaged database went, and which backup took its place (None: no sound one was found)."""

    aside: Path
    backup: Path | None


def copy(source: Path, to: Path) -> None:
    """Copy a database with SQLite's online backup; `to` appears when the copy is complete and on the disk.

    Raises:
        StoreError: the copy could not be made; what stood at `to` is left as it was.
    """
    to.parent.mkdir(parents=True, exist_ok=True)
    part = to.with_name(to.name + ".part")
    part.unlink(missing_ok=True)
    try:
        with closing(connect(source, readonly=True)) as original, closing(connect(part)) as target:
            original.backup(target)
            # One file without a log beside it, so that it can be read from anywhere.
            target.execute("PRAGMA journal_mode=DELETE")
    except Error as error:
        part.unlink(missing_ok=True)
        raise store_error(error, to) from error
    _publish(part, to)


def restore(path: Path, backups: Iterable[Path], now: datetime) -> Restored:
    """Set a damaged database aside and put the newest sound backup in its place.

    Only while nobody has it open. Without a sound backup there is no database afterwards, and opening makes a new one.
    """
    aside = path.with_name(f"{path.name}.damaged-{now:%Y%m%dT%H%M%S}")
    for suffix in ("", "-wal", "-shm"):
        part = path.with_name(path.name + suffix)
        if part.exists():
            part.rename(aside.with_name(aside.name + suffix))
    newest_first = sorted((b for b in backups if b.is_file()), key=lambda b: b.stat().st_mtime, reverse=True)
    sound = next((backup for backup in newest_first if not faults(backup)), None)
    if sound is not None:
        copied = path.with_name(path.name + ".part")
        shutil.copyfile(sound, copied)
        _publish(copied, path)
    return Restored(aside=aside, backup=sound)


def _publish(part: Path, to: Path) -> None:
    """Give a complete file its name, so that it survives a power cut."""
    _flush(part)
    part.replace(to)
    _flush(to.parent)


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
