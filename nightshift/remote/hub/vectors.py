"""Searches the vectors that all nodes have sent, if the hub's database has pgvector.

A node receives the text of each lesson within seconds. But after the node has joined the hub or changed its embedder,
its embedder may need minutes to embed all lessons. Until then the node searches at the hub, among vectors that other
nodes computed with the same embedder. After that, the node's own copy answers in half the time, even while the hub is
unavailable. Since the hub is searched only for a while, it has no index to maintain, and compares every vector
(measured: a search among 10,000 vectors takes 25 ms at the hub and 13 ms on a node).
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING

from nightshift.remote.hub import shared_schema
from nightshift.remote.hub.database import SharedDatabase
from nightshift.storage.db.database import Database
from nightshift.storage.memory import elsewhere
from nightshift.storage.memory.rows import KINDS
from nightshift.storage.memory.vector_index import (
    MAX_NEAREST,
    LessonKind,
    Near,
    nearest_of,
    newest_vector,
    read_vectors,
)

if TYPE_CHECKING:
    from nightshift.storage.memory.embedders.base import Embedder, Vector, Vectors

AT_ONCE = 200


class HubVectors:
    """The vectors of one embedder at the hub (`storage.memory.vector_index.VectorStore`). May be used in any thread.

    Lessons are identified by their ids on this node. Lessons that this node does not have are not found.

    Args:
        connections: the hub's database.
        node: the id of this node.
        db: maps lessons' keys to their ids on this node.
        embedder: the name of the embedder.
        dims: number of dimensions of a vector.
    """

    def __init__(self, connections: SharedDatabase, node: str, db: Database, embedder: str, dims: int) -> None:
        self._hub, self._node, self._db, self._space = connections, node, db, (embedder, dims)
        self._sent = 0

    def add(self, kind: LessonKind, items: Sequence[int], vectors: Vectors) -> None:
        """Send the vectors of lessons. Vectors that the hub already has are not replaced.

        Raises:
            HubAway: the hub cannot be reached.
            HubRefused: the hub's database has no pgvector.
        """
        keys = elsewhere.keys(self._db.reader(), kind, items)
        named = [(keys[item], _text(vector)) for item, vector in zip(items, vectors, strict=True) if item in keys]
        query = "SELECT share_vectors(%s, %s, %s, %s, %s::text[], %s::text[])"
        self._hub.rows(query, (self._node, *self._space, kind, [key for key, _ in named], [text for _, text in named]))

    def nearest(self, kind: LessonKind, vector: Vector, limit: int) -> list[Near]:
        """Return the lessons of a kind whose vectors are nearest to a unit vector, best first.

        Raises:
            HubAway: the hub cannot be reached.
            HubRefused: the hub's database has no pgvector.
        """
        query = "SELECT * FROM nearest_vectors(%s, %s, %s, %s, %s, %s)"
        most = limit
        while True:
            rows = self._hub.rows(query, (*self._space, kind, _text(vector), most, MAX_NEAREST))
            here = [
                (item, row["vector"])
                for row in rows
                for item in elsewhere.items_in_use(self._db.reader(), kind, row["key"])
            ]
            if len(here) >= limit or len(rows) < most or most >= MAX_NEAREST:
                break
            most = min(4 * most, MAX_NEAREST)  # some lessons are missing or retired on this node
        return nearest_of(kind, [item for item, _ in here], [array("f", row) for _, row in here], vector, limit)

    def send(self) -> None:
        """Send the vectors that the hub lacks. Does nothing if this node has no new vectors since the last call."""
        newest = newest_vector(self._db.reader(), self._space[0])
        if newest == self._sent:
            return
        seen, query = 0, "SELECT * FROM lessons_without_vector(%s, %s, %s, %s)"
        while rows := self._hub.rows(query, (*self._space, seen, AT_ONCE)):
            conn = self._db.reader()
            wanted = [item for row in rows for item in elsewhere.items(conn, row["key"])]
            for kind in KINDS:
                lacking = [item for of, item in wanted if of == kind]
                items, vectors = read_vectors(conn, self._space[0], kind, lacking)
                if items:
                    self.add(kind, items, vectors)
            seen = rows[-1]["number"]
        self._sent = newest


class SharedVectors:
    """The hub's vectors for any embedder that a node uses. May be used in any thread.

    Args:
        connections: the hub's database.
        node: the id of this node.
        db: maps lessons' keys to their ids on this node.
    """

    def __init__(self, connections: SharedDatabase, node: str, db: Database) -> None:
        self._hub, self._node, self._db = connections, node, db
        self._by_space = dict[tuple[str, int], HubVectors]()

    def of(self, embedder: Embedder) -> HubVectors | None:
        """Return the vectors of an embedder at the hub; None if the hub's database has no pgvector.

        Raises:
            HubAway: the hub cannot be reached.
        """
        space = (embedder.name, embedder.dims)
        if space not in self._by_space:
            if not shared_schema.has_vectors(self._hub):
                return None
            self._by_space[space] = HubVectors(self._hub, self._node, self._db, *space)
        return self._by_space[space]

    def send(self, embedder: Embedder | None) -> None:
        """Send to the hub the vectors of an embedder that are missing there. Does nothing if `embedder` is None.

        Raises:
            HubAway: the hub cannot be reached.
        """
        if embedder and (vectors := self.of(embedder)):
            vectors.send()


def _text(vector: Vector) -> str:
    return f"[{','.join(map(repr, vector))}]"
