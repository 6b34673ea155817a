"""Search among the vectors that all nodes have sent, where the hub's server has pgvector.

A node takes in the text of each lesson within seconds, but its embedder may need minutes to read them all: after it
joined, or changed its embedder. Until then it searches here, among vectors that others made in the same space. From
then on its own copy answers, in half the time, and also while the hub is away; so here every vector is compared, and
there is no index that would have to be kept (`bench/hub_vectors.py`: 25 ms among 10,000, on a node 13 ms).
"""

from __future__ import annotations

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
    from nightshift.storage.memory.embedders.base import Embedder, Vectors

AT_ONCE = 200


class HubVectors:
    """The vectors of one embedder in the hub (`storage.memory.vector_index.VectorStore`); for any thread.

    Lessons go by the ids that they have on this node; those that are not here are not found.

    Args:
        connections: of the hub.
        node: the id of this node.
        db: says which lesson is which.
        embedder: the name of the vector space.
        dims: how many numbers a vector has.
    """

    def __init__(self, connections: SharedDatabase, node: str, db: Database, embedder: str, dims: int) -> None:
        self._hub, self._node, self._db, self._space = connections, node, db, (embedder, dims)
        self._sent = 0

    def add(self, kind: LessonKind, items: Sequence[int], vectors: Vectors) -> None:
        """Send the vectors of lessons; what the hub has already stays as it is there.

        Raises:
            HubAway: the hub cannot be reached.
            HubRefused: its server has no pgvector.
        """
        keys = elsewhere.keys(self._db.reader(), kind, items)
        named = [(keys[item], _text(vector)) for item, vector in zip(items, vectors, strict=True) if item in keys]
        query = "SELECT share_vectors(%s, %s, %s, %s, %s::text[], %s::text[])"
        self._hub.rows(query, (self._node, *self._space, kind, [key for key, _ in named], [text for _, text in named]))

    def nearest(self, kind: LessonKind, vector: Vectors, limit: int) -> list[Near]:
        """The lessons of a kind that are nearest to a vector of length 1, best first.

        Raises:
            HubAway: the hub cannot be reached.
            HubRefused: its server has no pgvector.
        """
        import numpy as np  # noqa: PLC0415  not needed by a daemon that remembers nothing yet

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
            most = min(4 * most, MAX_NEAREST)  # some are not here, or have retired here
        matrix = np.array([row for _, row in here], dtype=np.float32)
        return nearest_of(kind, [item for item, _ in here], matrix, vector, limit)

    def send(self) -> None:
        """Send the vectors that this node has and the hub lacks, where any are new here since the last call."""
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
    """The hub's vectors for whichever embedder a node uses; for any thread.

    Args:
        connections: of the hub.
        node: the id of this node.
        db: says which lesson is which.
    """

    def __init__(self, connections: SharedDatabase, node: str, db: Database) -> None:
        self._hub, self._node, self._db = connections, node, db
        self._by_space = dict[tuple[str, int], HubVectors]()

    def of(self, embedder: Embedder) -> HubVectors | None:
        """Those of an embedder; None where the server has no pgvector.

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
        """Send what the hub lacks of an embedder's vectors, if there is one.

        Raises:
            HubAway: the hub cannot be reached.
        """
        if embedder and (vectors := self.of(embedder)):
            vectors.send()


def _text(vector: Vectors) -> str:
    return f"[{','.join(map(repr, vector.astype(float).tolist()))}]"
