"""Finds the nearest vectors of memories. sqlite-vec compares all vectors, which takes some ten milliseconds for 10,000.

The table `memory_vectors` stores each vector under the name of its embedder, so vectors of different embedders are
never compared. It is an ordinary table, so there is no index that could become inconsistent with it.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from nightshift.storage.db.database import Database
from nightshift.storage.db.sqlite import Connection, Error
from nightshift.storage.memory.embedders.base import multiply

if TYPE_CHECKING:
    from nightshift.storage.memory.embedders.base import Vector, Vectors

LessonKind = Literal["failure", "pattern"]
# Maximum number of results for each kind.
MAX_NEAREST = 1000
# Engines compute cosines in 32 bits, which may order near vectors differently. Therefore more results are requested
# than are needed, by this factor, and then sorted in 64 bits.
SPARE = 2


@dataclass(frozen=True, slots=True)
class Near:
    """A memory that a search found: its kind, its id, and the cosine similarity of its vector to the query's vector."""

    kind: LessonKind
    item: int
    similarity: float


class VectorStore(Protocol):
    """The vectors of one embedder, on this node or at a hub. Blocks; may be used from any thread."""

    def add(self, kind: LessonKind, items: Sequence[int], vectors: Vectors) -> None:
        """Store one vector per item, in the same order; each vector must be normalised to unit length."""
        ...

    def nearest(self, kind: LessonKind, vector: Vector, limit: int) -> list[Near]:
        """Return the items of a kind that are nearest to a unit vector, best first; equally near ones by id."""
        ...


class VectorIndex:
    """The vectors of one embedder on this node (a `VectorStore`).

    Args:
        db: the database.
        embedder: the name of the embedder's vector space.
    """

    def __init__(self, db: Database, embedder: str) -> None:
        self._db, self.embedder = db, embedder

    def add(self, kind: LessonKind, items: Sequence[int], vectors: Vectors) -> None:
        """Store a unit vector for each item, replacing an earlier vector."""
        self._db.write(lambda conn: add_vectors(conn, self.embedder, kind, items, vectors)).result()

    def nearest(self, kind: LessonKind, vector: Vector, limit: int) -> list[Near]:
        """Return the items of a kind that are nearest to a unit vector, best first; equally near ones by id."""
        conn = self._db.reader()
        provide_distance(conn)
        # The distance to a zero vector is NULL.
        select = (
            "SELECT item FROM memory_vectors WHERE embedder = ? AND kind = ? "
            "ORDER BY coalesce(vec_distance_cosine(vector, ?), 1.0), item LIMIT ?"
        )
        most = SPARE * min(limit, MAX_NEAREST)
        rows = conn.execute(select, (self.embedder, kind, vector.tobytes(), most))
        items, vectors = read_vectors(conn, self.embedder, kind, [int(row[0]) for row in rows])
        return nearest_of(kind, items, vectors, vector, limit)


def add_vectors(conn: Connection, embedder: str, kind: LessonKind, items: Sequence[int], vectors: Vectors) -> None:
    """Store a unit vector for each item inside a write job, replacing an earlier vector."""
    insert = "INSERT OR REPLACE INTO memory_vectors (embedder, kind, item, vector) VALUES (?, ?, ?, ?)"
    conn.executemany(insert, [(embedder, kind, item, row.tobytes()) for item, row in zip(items, vectors, strict=True)])


def forget_vectors(conn: Connection, items: Iterable[tuple[LessonKind, int]]) -> None:
    """Delete the vectors of these items for all embedders, inside a write job."""
    # There is one statement for each embedder, because the index begins with the embedder. A statement without the
    # embedder would read the whole index.
    names = [row[0] for row in conn.execute("SELECT DISTINCT embedder FROM memory_vectors")]
    delete = "DELETE FROM memory_vectors WHERE embedder = ? AND kind = ? AND item = ?"
    conn.executemany(delete, [(name, *item) for item in items for name in names])


def keep_only(conn: Connection, embedder: str) -> None:
    """Delete the vectors of all other embedders inside a write job, so that each memory has only one vector."""
    conn.execute("DELETE FROM memory_vectors WHERE embedder <> ?", (embedder,))


def nearest_of(kind: LessonKind, items: Sequence[int], vectors: Vectors, vector: Vector, limit: int) -> list[Near]:
    """Return the items whose vectors are nearest, best first; the result is the same on every machine."""
    near = [Near(kind, item, multiply(row, vector)) for item, row in zip(items, vectors, strict=True)]
    return sorted(near, key=lambda each: (-each.similarity, each.item))[:limit]


def newest_vector(conn: Connection, embedder: str) -> int:
    """Return the highest id of a stored vector; 0 if there is none. Ids are never used twice."""
    select = "SELECT coalesce(max(id), 0) FROM memory_vectors WHERE embedder = ?"
    return int(conn.execute(select, (embedder,)).fetchone()[0])


def read_vectors(conn: Connection, embedder: str, kind: LessonKind, items: Sequence[int]) -> tuple[list[int], Vectors]:
    """Return those items that have a vector of the embedder, and their vectors in the same order."""
    select = (
        "SELECT item, vector FROM memory_vectors WHERE embedder = ? AND kind = ? "
        "AND item IN (SELECT value FROM json_each(?))"
    )
    rows = conn.execute(select, (embedder, kind, json.dumps(list(items)))).fetchall()
    return [int(row[0]) for row in rows], [array("f", row[1]) for row in rows]


def provide_distance(conn: Connection) -> None:
    """Add the SQL function `vec_distance_cosine` to a connection.

    It comes from sqlite-vec, or from Python if SQLite cannot load extensions.
    """
    try:
        conn.execute("SELECT vec_distance_cosine(zeroblob(4), zeroblob(4))")
    except Error:
        if not _load_extension(conn):
            conn.create_function("vec_distance_cosine", 2, _distance, deterministic=True)


def _load_extension(conn: Connection) -> bool:
    try:
        import sqlite_vec  # type: ignore[import-untyped]  # noqa: PLC0415  optional; ships no types

        conn.enable_load_extension(True)
        try:
            sqlite_vec.load(conn)
        finally:
            conn.enable_load_extension(False)
    except (ImportError, AttributeError, Error):
        return False
    return True


def _distance(first: bytes, second: bytes) -> float:
    """Return the cosine distance of two unit vectors: 1 minus their dot product."""
    return 1.0 - multiply(array("f", first), array("f", second))
