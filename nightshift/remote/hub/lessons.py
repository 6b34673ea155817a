"""Shares lessons between nodes. Each node stores all shared lessons, so they are available even without the hub.

Each node sends its own lessons and receives those of the others, in the line format that is also used to transfer
lessons by hand (`storage.memory.exchange`). Each node indexes its own copy, so recall needs no network. Since paths are
not valid on other nodes, a lesson of a repository is sent with the address of the repository's remote, and the
receiving node replaces the address by its own path.

Later findings about lessons are shared too (`storage.memory.elsewhere`). Each node sends its own counts and receives
the sums of all other nodes. The counts are totals, so sending them again is harmless.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from itertools import islice
from typing import Any

from nightshift.core.clock import from_text
from nightshift.core.errors import NotLessons
from nightshift.core.text.masking import Masker
from nightshift.remote.hub import shared_schema
from nightshift.remote.hub.database import SharedDatabase
from nightshift.remote.hub.repositories import SharedRepositories
from nightshift.storage.db.database import Database
from nightshift.storage.db.sqlite import Connection
from nightshift.storage.db.state_store import StateStore
from nightshift.storage.memory import elsewhere, exchange, recall_log
from nightshift.storage.memory.elsewhere import Item, News, Tally, tally_of

AT_ONCE = 200
Row = dict[str, Any]


class LessonExchange:
    """Sends and receives lessons, on the dispatcher's thread.

    Args:
        connections: the hub's database.
        node: the id of this node.
        db: the database with this node's lessons.
        state: stores the number of the last row that was read from the lessons of other nodes.
        mask: removes secrets from sent lessons.
        repositories: the repositories on this machine.
        hear: applies other nodes' findings about lessons, like `storage.memory.store.LongTermMemory.hear`.
        report: called with a message about each line that is not a lesson and is skipped.
    """

    def __init__(
        self,
        connections: SharedDatabase,
        node: str,
        *,
        db: Database,
        state: StateStore,
        mask: Masker,
        repositories: SharedRepositories,
        hear: Callable[[News], Future[None]],
        report: Callable[[str], None],
    ) -> None:
        self._hub, self._node, self._db, self._state = connections, node, db, state
        self._mask, self._repositories, self._hear, self._report = mask, repositories, hear, report
        self._begin("")

    def turn(self) -> None:
        """Send the new lessons and findings of this node, and receive those of other nodes.

        Raises:
            HubAway: the hub cannot be reached; the next turn continues where this one stopped.
        """
        if (made_at := shared_schema.read_made_at(self._hub)) != self._made_at:
            self._begin(made_at)
        self._send()
        self._tell()
        self._take()
        self._since("tallies_since", "hub_tallies", self._hear_tallies)
        self._since("shapes_since", "hub_shapes", self._hear_shapes)
        self._since("forgotten_since", "hub_forgotten", self._hear_forgotten)

    def _begin(self, made_at: str) -> None:
        """Forget what this node has sent, because the hub has a new database, created at `made_at`."""
        self._made_at = made_at
        self._sent, self._sent_at = set[str](), tuple[object, ...]()
        self._named = dict[Item, str]()
        self._told_pairs, self._tallies = set[tuple[str, str]](), dict[str, Tally]()
        self._told_at: object = None

    # Sending lessons and findings.

    def _send(self) -> None:
        """Send the new lessons of this node, and store the key of each."""
        if (mark := exchange.mark(self._db.reader())) == self._sent_at:
            return
        entries = exchange.entries(self._db.reader(), self._mask)
        while part := [(entry, *self._share(entry.line)) for entry in islice(entries, AT_ONCE)]:
            names = [(entry.item, key) for entry, key, _ in part if self._named.get(entry.item) != key]
            if names:
                self._db.write_retrying(_name_lessons(names)).result()
                self._named.update(names)
            new = {key: line for entry, key, line in part if not entry.is_retired and key not in self._sent}
            if new:
                query = "SELECT share_lessons(%s, %s::text[], %s::text[])"
                self._hub.rows(query, (self._node, list(new), list(new.values())))
                self._sent.update(new)
        self._sent_at = mark

    def _share(self, line: str) -> tuple[str, str]:
        """Return the form of a lesson for other nodes.

        It consists of a key that is equal on all nodes, and the line with the repository's address in place of its
        path.
        """
        lesson = json.loads(line)
        if lesson["repo"]:
            lesson["repo"] = self._repositories.remote(lesson["repo"]) or lesson["repo"]
        return _key(lesson), json.dumps(lesson)

    def _tell(self) -> None:
        """Send the findings about lessons that are new since the last turn."""
        conn = self._db.reader()
        if (mark := (self._sent_at, recall_log.mark(conn))) == self._told_at:
            return
        forgotten = elsewhere.list_forgotten(conn)
        self._tell_pairs("forget_lessons", forgotten)
        self._tell_pairs("share_shapes", elsewhere.shapes(conn))
        tallies = recall_log.own_tallies(conn)
        changed = ((key, tally) for key, tally in tallies.items() if self._tallies.get(key) != tally)
        while part := dict(islice(changed, AT_ONCE)):
            rows = json.dumps([{"key": key, **tally.fields()} for key, tally in part.items()])
            self._hub.rows("SELECT share_tallies(%s, %s::jsonb)", (self._node, rows))
            self._tallies |= part
        self._told_at = mark

    def _tell_pairs(self, function: str, pairs: Iterable[tuple[str, str]]) -> None:
        new = (pair for pair in pairs if pair not in self._told_pairs)
        while part := list(islice(new, AT_ONCE)):
            values = ([first for first, _ in part], [other for _, other in part])
            self._hub.rows(f"SELECT {function}(%s, %s::text[], %s::text[])", (self._node, *values))
            self._told_pairs.update(part)

    # Receiving lessons and findings.

    def _since(self, function: str, cursor: str, read: Callable[[Sequence[Row]], None]) -> None:
        """Read the rows after the last row that was read, or all rows if the hub's database was replaced."""
        position = self._state.get(cursor)
        at = position["number"] if isinstance(position, dict) and position["hub"] == self._made_at else 0
        query = f"SELECT * FROM {function}(%s, %s, %s)"  # noqa: S608  our own name
        while rows := self._hub.rows(query, (self._node, at, AT_ONCE)):
            read(rows)
            at = rows[-1]["number"]
            self._state.set(cursor, {"hub": self._made_at, "number": at}).result()

    def _take(self) -> None:
        self._since("lessons_since", "hub_lessons", self._take_lessons)

    def _take_lessons(self, rows: Sequence[Row]) -> None:
        lessons = [lesson for row in rows if not row["is_own"] for lesson in self._read(row["line"])]
        self._db.write_retrying(_take_lessons(lessons)).result()

    def _read(self, line: str) -> Sequence[tuple[str, exchange.FailureIn | exchange.PatternIn]]:
        """Return a line's lesson and its key in a one-element list; empty if the line is not a lesson."""
        try:
            lesson = json.loads(line)
            key = _key(lesson)
            if lesson["repo"]:
                lesson["repo"] = self._repositories.path_of(lesson["repo"]) or lesson["repo"]
            (parsed_lesson,) = exchange.read(json.dumps(lesson))
        except (NotLessons, ValueError, KeyError, TypeError) as error:
            self._report(f"a lesson of another node is invalid: {error}")
            return ()
        self._sent.add(key)
        return ((key, parsed_lesson),)

    def _hear_tallies(self, rows: Sequence[Row]) -> None:
        tallies = dict[str, Tally]()
        for row in rows:
            try:
                if row["judged_from"]:
                    from_text(row["judged_from"])
            except ValueError as error:
                self._report(f"counts of other nodes are invalid: {error}")
            else:
                tallies[row["key"]] = tally_of(row)
        self._tell_of(News(tallies=tallies))

    def _hear_shapes(self, rows: Sequence[Row]) -> None:
        self._tell_of(News(shapes=[(row["key"], row["shape"]) for row in rows]))

    def _hear_forgotten(self, rows: Sequence[Row]) -> None:
        keys = {kind: [row["key"] for row in rows if row["kind"] == kind] for kind in ("lesson", "shape")}
        self._tell_of(News(forgotten_lessons=keys["lesson"], forgotten_shapes=keys["shape"]))

    def _tell_of(self, news: News) -> None:
        # Findings may be about lessons that another node shared a moment ago, so read the new lessons before the
        # findings.
        self._take()
        self._send()
        self._hear(news).result()


def _name_lessons(names: Sequence[tuple[Item, str]]) -> Callable[[Connection], object]:
    return lambda conn: elsewhere.name(conn, names)


def _take_lessons(
    lessons: Sequence[tuple[str, exchange.FailureIn | exchange.PatternIn]],
) -> Callable[[Connection], object]:
    """Return a job that stores the lessons, except those that were deleted on this node."""

    def job(conn: Connection) -> None:
        exchange.take(conn, [lesson for key, lesson in lessons if not elsewhere.is_forgotten(conn, "lesson", key)])

    return job


def _key(lesson: dict[str, Any]) -> str:
    """Return a key that is equal for equal problems with equal solutions, as in `storage.memory.exchange.take`."""
    names = ("signature", "fix") if lesson["kind"] == "failure" else ("problem", "solution")
    text = json.dumps([lesson["kind"], *(lesson[name] for name in names)])
    return hashlib.sha256(text.encode()).hexdigest()
