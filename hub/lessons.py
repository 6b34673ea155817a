"""Lessons go from each node to all others: what one has learned, each remembers, also while the hub is away.

Each node sends what it has learned and takes in what others have, through the same lines by which lessons are carried
by hand (`memory.exchange`); so each indexes its own copy, and recall asks nobody. Paths mean nothing elsewhere: a
lesson of a repository is sent under its remote's address, and gets the path of the repository where it is taken in.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

from core.errors import NotLessons
from core.masking import Masker
from db.database import Database
from db.state_store import StateStore
from hub.connection import HubConnections
from hub.repositories import SharedRepositories
from memory import exchange

CURSOR = "hub_lessons"
AT_ONCE = 200


class LessonExchange:
    """Sends and takes lessons; on the dispatcher's thread.

    Args:
        connections: of the hub.
        node: the id of this node.
        db: where this node's lessons are.
        state: keeps how far those of others were read.
        mask: takes secrets out of what is sent.
        repositories: where repositories are here.
        report: told of a line that is no lesson; it is passed over.
    """

    def __init__(
        self,
        connections: HubConnections,
        node: str,
        *,
        db: Database,
        state: StateStore,
        mask: Masker,
        repositories: SharedRepositories,
        report: Callable[[str], None],
    ) -> None:
        self._hub, self._node, self._db, self._state = connections, node, db, state
        self._mask, self._repositories, self._report = mask, repositories, report
        self._sent, self._sent_at = set[str](), tuple[object, ...]()

    def turn(self) -> None:
        """Send what is new here, and take in what is new elsewhere.

        Raises:
            HubAway: the hub cannot be reached; the next turn goes on where this one stopped.
        """
        self._send()
        self._take()

    def _send(self) -> None:
        if (mark := exchange.mark(self._db.reader())) == self._sent_at:
            return
        named = map(self._named, exchange.lines(self._db.reader(), self._mask))
        new = ((key, line) for key, line in named if key not in self._sent)
        while part := tuple(islice(new, AT_ONCE)):
            keys = [key for key, _ in part]
            query = "SELECT share_lessons(%s, %s::text[], %s::text[])"
            self._hub.rows(query, (self._node, keys, [line for _, line in part]))
            self._sent.update(keys)
        self._sent_at = mark

    def _named(self, line: str) -> tuple[str, str]:
        """A lesson with its repository's address in the place of its path, and what it is known by everywhere."""
        lesson = json.loads(line)
        if lesson["repo"]:
            lesson["repo"] = self._repositories.remote(lesson["repo"]) or lesson["repo"]
        return _key(lesson), json.dumps(lesson)

    def _take(self) -> None:
        cursor = int(self._state.get(CURSOR) or 0)
        query = "SELECT * FROM lessons_since(%s, %s, %s)"
        while rows := self._hub.rows(query, (self._node, cursor, AT_ONCE)):
            lessons = [one for row in rows if not row["is_own"] for one in self._read(row["line"])]
            self._db.write_retrying(_taken(lessons)).result()
            cursor = rows[-1]["number"]
            self._state.set(CURSOR, cursor).result()

    def _read(self, line: str) -> Sequence[exchange.FailureIn | exchange.PatternIn]:
        try:
            lesson = json.loads(line)
            self._sent.add(_key(lesson))
            if lesson["repo"]:
                lesson["repo"] = self._repositories.path_of(lesson["repo"]) or lesson["repo"]
            return exchange.read(json.dumps(lesson))
        except (NotLessons, ValueError, KeyError, TypeError) as error:
            self._report(f"a lesson of another node is none: {error}")
            return ()


def _taken(lessons: Sequence[exchange.FailureIn | exchange.PatternIn]) -> Callable[[Any], object]:
    return lambda conn: exchange.take(conn, lessons)


def _key(lesson: dict[str, Any]) -> str:
    """The same for the same problem with the same solution, as `memory.exchange.take` knows them."""
    names = ("signature", "fix") if lesson["kind"] == "failure" else ("problem", "solution")
    text = json.dumps([lesson["kind"], *(lesson[name] for name in names)])
    return hashlib.sha256(text.encode()).hexdigest()
