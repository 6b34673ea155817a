"""Exports lessons and accepted work from the database of this home as JSON Lines, and imports lessons into it.

Both directions use the database directly, whether a daemon runs or not. Reading blocks no other process. An import is
one transaction: a running daemon waits for it and then sees the lessons, because the daemon reads them from the
database each time. The API is not used, because it would limit a file to the size of a request, or import it in parts
that could fail separately.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import click

from nightshift.client.errors import Exit
from nightshift.client.output import Cell, Lines
from nightshift.client.session import Session
from nightshift.config.places import is_held
from nightshift.core.errors import NightshiftError, NotLessons
from nightshift.core.text.masking import Masker
from nightshift.maintenance.training_export import export, pairs
from nightshift.storage.db.database import Database
from nightshift.storage.files.whole import write_whole
from nightshift.storage.memory import exchange
from nightshift.storage.memory.exchange import read, take

STREAM = "-"
OWNERS_ALONE = 0o600
T = TypeVar("T")


def export_memory(session: Session, file: str) -> int:
    """Export every lesson in use.

    Raises:
        StoreError: there is no database yet, or it cannot be read.
        NightshiftError: the file cannot be written.
    """
    with Database(session.settings.db_path, readonly=True) as database:
        lines = list(exchange.lines(database.reader(), Masker(session.settings.secrets)))
    if file == STREAM:
        _stream(lines)
    else:
        _write_file(file, lambda path: _put(path, lines))
    return _print_counts(session, file, {"file": file, "lessons": len(lines)}, [f"{_count(lines, 'lesson')} in {file}"])


def import_memory(session: Session, file: str) -> int:
    """Import the lessons of a file that are not in the database yet: all of them, or none if one fails.

    Raises:
        NotLessons: some lines are not lessons; the message names each.
        StoreError: the database cannot be written.
        click.UsageError: the file cannot be read.
    """
    lessons = _naming_file(file, lambda: read(_text(file)))
    if is_held(session.settings.lock_file):  # the tables of a running older daemon must not be migrated
        Database(session.settings.db_path, readonly=True).close()
    with Database(session.settings.db_path) as database:
        taken = database.write(lambda conn: take(conn, lessons)).result()
    line = f"{taken.new} new of {_count(lessons, 'lesson')} in {file}, {taken.known} known before"
    session.print({"file": file, "new": taken.new, "known": taken.known}, Cell(line))
    return Exit.OK


def export_training(session: Session, file: str) -> int:
    """Export the replies that passed, and pairs of a reply that failed and the corresponding reply that passed.

    Raises:
        StoreError: there is no database yet, or it cannot be read.
        NightshiftError: the files cannot be written.
    """
    masker = Masker(session.settings.secrets)
    with Database(session.settings.db_path, readonly=True) as database:
        if file == STREAM:
            examples = pairs(database, masker)
            _stream([*examples.accepted, *examples.preferences])
            session.out.note(
                f"{len(examples.accepted)} accepted replies, then {len(examples.preferences)} preference pairs"
            )
            return Exit.OK
        done = _write_file(file, lambda path: export(database, path, masker))
    fields = {
        "accepted": done.accepted,
        "accepted_file": str(done.accepted_file),
        "preferences": done.preferences,
        "preferences_file": str(done.preferences_file),
    }
    lines = [
        f"{done.accepted} accepted replies in {done.accepted_file}",
        f"{done.preferences} preference pairs in {done.preferences_file}",
    ]
    return _print_counts(session, file, fields, lines)


def _stream(lines: Sequence[str]) -> None:
    for line in lines:
        sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _put(path: Path, lines: Sequence[str]) -> None:
    write_whole(path, "".join(f"{line}\n" for line in lines), mode=OWNERS_ALONE)


def _write_file(name: str, write: Callable[[Path], T]) -> T:
    try:
        return write(Path(name).expanduser())
    except (OSError, ValueError) as error:  # ValueError: the name is empty or contains a null byte
        why = error.strerror if isinstance(error, OSError) else error
        raise NightshiftError(f"{name or 'a file without a name'} cannot be written: {why}") from None


def _naming_file(name: str, read: Callable[[], T]) -> T:
    """Call `read` and return its value; name the file in the error for a file without lessons."""
    try:
        return read()
    except NotLessons as error:
        where = "the standard input" if name == STREAM else name
        raise NotLessons(f"{where} contains no lessons; nothing was imported\n{error}") from None


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


def _print_counts(session: Session, file: str, fields: dict[str, object], lines: Sequence[str]) -> int:
    """Print the counts; print them as a note if standard output carries the exported lines."""
    if file == STREAM:
        session.out.note("; ".join(lines).replace(f" in {STREAM}", ""))
    else:
        session.print(fields, [Lines(lines=[Cell(line) for line in lines])])
    return Exit.OK


def _count(rows: Sequence[object], what: str) -> str:
    return f"{len(rows)} {what}{'' if len(rows) == 1 else 's'}"
