"""Completion of task numbers in a shell: read from the database alone, daemon or not."""

from __future__ import annotations

from pathlib import Path

from nightshift.client.session import places_of
from nightshift.core.errors import NightshiftError
from nightshift.queue.listing import newest_words
from nightshift.storage.db.database import Database

WORDS = 50


def newest_tasks(home: Path | None, count: int) -> list[tuple[str, str]]:
    """The numbers of the newest tasks with the beginning of their words; nothing where there is no database."""
    try:
        with Database(places_of(home).db_path, readonly=True) as database:
            found = newest_words(database.reader(), count)
    except NightshiftError:  # a shell shows no errors while one types; the command itself will say what is wrong
        return []
    return [(str(task_id), " ".join(words.split())[:WORDS]) for task_id, words in found]
