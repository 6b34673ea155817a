"""Finds lines of the log and model calls by words, the newest first, among so many of the newest and no more.

A search is made while somebody types, so it must end soon whatever the database holds. What is older is found on the
page of the log, which reads all of it, and on the page of a task.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from nightshift.core.clock import from_text
from nightshift.core.events import Level
from nightshift.core.tasks.states import Phase
from nightshift.storage.db import artifacts
from nightshift.storage.db.codec import like
from nightshift.storage.db.sqlite import Connection

LINES, CALLS = 20_000, 200
"""Among so many of the newest it is looked."""
AROUND = 60
"""Characters that are shown before the first word that was found."""
EXCERPT = 240


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundLine:
    """A line of the log."""

    id: int
    at: datetime
    level: Level
    task_id: int | None
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundCall:
    """A model call whose prompt or reply holds the words; `excerpt` is what stands around the first of them."""

    task_id: int
    attempt: int
    iteration: int
    step_no: int
    phase: Phase
    at: datetime
    excerpt: str


def find_lines(conn: Connection, words: Sequence[str], most: int) -> list[FoundLine]:
    """The newest lines whose message holds all the words, in any case of ASCII letters."""
    where = " AND ".join(["1", *("message LIKE ? ESCAPE '\\'" for _ in words)])
    query = (
        "SELECT id, at, level, task_id, message FROM execution_logs WHERE id > "  # noqa: S608  ours
        f"(SELECT coalesce(max(id), 0) FROM execution_logs) - ? AND {where} ORDER BY id DESC LIMIT ?"
    )
    rows = conn.execute(query, (LINES, *map(like, words), most))
    return [
        FoundLine(id=row[0], at=from_text(row[1]), level=Level(row[2]), task_id=row[3], message=row[4]) for row in rows
    ]


def find_calls(conn: Connection, words: Sequence[str], most: int) -> list[FoundCall]:
    """The newest model calls whose prompt or reply holds all the words; of a step the newest one alone."""
    query = (
        "SELECT task_id, attempt, iteration, step_no, phase, at, prompt, reply FROM replies ORDER BY rowid DESC LIMIT ?"
    )
    found = dict[tuple[int, int, int], FoundCall]()
    for row in conn.execute(query, (CALLS,)):
        place = (row["task_id"], row["attempt"], row["step_no"])
        if place not in found and (excerpt := _excerpt(_text(conn, row["prompt"], row["reply"]), words)):
            found[place] = FoundCall(
                task_id=row["task_id"],
                attempt=row["attempt"],
                iteration=row["iteration"],
                step_no=row["step_no"],
                phase=Phase(row["phase"]),
                at=from_text(row["at"]),
                excerpt=excerpt,
            )
            if len(found) == most:
                break
    return list(found.values())


def _text(conn: Connection, prompt: str, reply: str) -> str:
    """Return the text that a call added to the one before, and its reply, without the program's system prompt."""
    stored = json.loads(artifacts.get(conn, prompt) or "[]")
    turns = stored["turns"] if isinstance(stored, dict) else stored
    said = [text for role, text in turns if role != "system"]
    return "\n".join([*said, artifacts.get(conn, reply) or ""])


def _excerpt(text: str, words: Sequence[str]) -> str:
    """Cut out the text around the word that comes first; empty where a word is missing."""
    places = list(_places(text.casefold(), words))
    if not places or min(places) < 0:
        return ""
    begin = max(0, min(places) - AROUND)
    return ("… " if begin else "") + " ".join(text[begin : begin + EXCERPT].split())


def _places(text: str, words: Sequence[str]) -> Iterator[int]:
    for word in words:
        yield text.find(word.casefold())
