"""Exports lessons from the database of this home as JSON Lines, and imports lessons into it.

Both directions use the database directly, whether a daemon runs or not. Reading blocks no other process. An import is
one transaction: a running daemon waits for it and then sees the lessons, because the daemon reads them from the
database each time. The API is not used, because it would limit a file to the size of a request, or import it in parts
that could fail separately.
"""

from __future__ import annotations

import sys
from collections.abc import Sized
from pathlib import Path

import click

from nightshift.client.errors import Exit
from nightshift.client.output import Cell
from nightshift.client.session import Session
from nightshift.config.places import is_held
from nightshift.core.errors import NightshiftError, NotLessons
from nightshift.core.text.masking import Masker
from nightshift.storage.db.database import Database
from nightshift.storage.files.whole import write_whole
from nightshift.storage.memory import exchange
from nightshift.storage.memory.exchange import read, take

STREAM = "-"
OWNERS_ALONE = 0o600


def export_memory(session: Session, file: str) -> int:
    """Export every lesson in use.

    Raises:
        StoreError: there is no database yet, or it cannot be read.
        NightshiftError: the file cannot be written.
    """
    with Database(session.settings.db_path, readonly=True) as database:
        lines = [f"{line}\n" for line in exchange.lines(database.reader(), Masker(session.settings.secrets))]
    count = _count(lines)
    if file == STREAM:  # the standard output carries the lessons
        sys.stdout.writelines(lines)
        sys.stdout.flush()
        session.out.note(count)
    else:
        _write_file(file, "".join(lines))
        session.print({"file": file, "lessons": len(lines)}, Cell(f"{count} in {file}"))
    return Exit.OK


def import_memory(session: Session, file: str) -> int:
    """Import the lessons of a file that are not in the database yet: all of them, or none if one fails.

    Raises:
        NotLessons: some lines are not lessons; the message names each.
        StoreError: the database cannot be written.
        click.UsageError: the file cannot be read.
    """
    try:
        lessons = read(_text(file))
    except NotLessons as error:
        where = "the standard input" if file == STREAM else file
        raise NotLessons(f"{where} contains no lessons; nothing was imported\n{error}") from None
    if is_held(session.settings.lock_file):  # the tables of a running older daemon must not be migrated
        Database(session.settings.db_path, readonly=True).close()
    with Database(session.settings.db_path) as database:
        taken = database.write(lambda conn: take(conn, lessons)).result()
    line = f"{taken.new} new of {_count(lessons)} in {file}, {taken.known} known before"
    session.print({"file": file, "new": taken.new, "known": taken.known}, Cell(line))
    return Exit.OK


def _count(lessons: Sized) -> str:
    return f"{len(lessons)} lesson{'' if len(lessons) == 1 else 's'}"


def _write_file(name: str, text: str) -> None:
    try:
        write_whole(Path(name).expanduser(), text, mode=OWNERS_ALONE)
    except (OSError, ValueError) as error:  # ValueError: the name is empty or contains a null byte
        why = error.strerror if isinstance(error, OSError) else error
        raise NightshiftError(f"{name or 'a file without a name'} cannot be written: {why}") from None


def _text(name: str) -> str:
    try:
        raw = sys.stdin.buffer.read() if name == STREAM else Path(name).expanduser().read_bytes()
        return raw.decode("utf-8-sig")
    except (OSError, ValueError) as error:
        why = (
            error.strerror
            if isinstance(error, OSError)
            else "is not UTF-8 text"
            if isinstance(error, UnicodeDecodeError)
            else error
        )
        raise click.UsageError(f"memory import: {name}: {why}") from None
