"""Finds the nearest vectors: by sqlite-vec where it can be loaded, by numpy over the stored bytes elsewhere.

The table `memory_vectors` holds every vector, under the name of its embedder, whichever index is used; sqlite-vec's
own table is made from it, one for each embedder, so vectors of different embedders never meet. Nothing here opens a
connection or a transaction: writing happens in the job of whoever calls, on the writer's connection.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from db.sqlite import Connection, Error

if TYPE_CHECKING:
    from memory.embedders.base import Vectors

Kind = Literal["failure", "pattern"]
MAX_NEAREST = 1000
"""sqlite-vec refuses to look for more than 4,096."""


@dataclass(frozen=True, slots=True)
class Near:
    """A memory by its kind and id, and the cosine of the angle between its vector and the query's."""

    kind: Kind
    item: int
    similarity: float


class FlatIndex:
    """Exact, with numpy alone: reads every vector of its embedder for each query (15 MB for 10,000 of 384 numbers).

    Args:
        embedder: the name of the vector space.
        dims: how many numbers a vector has.
    """

    def __init__(self, embedder: str, dims: int) -> None:
        self.embedder, self.dims = embedder, dims

    def add(self, conn: Connection, kind: Kind, items: Sequence[int], vectors: Vectors) -> None:
        """Store a vector of length 1 for each item, in the place of an earlier one."""
        self.remove(conn, kind, items)
        insert = "INSERT INTO memory_vectors (embedder, kind, item, vector) VALUES (?, ?, ?, ?)"
        rows = zip(items, vectors, strict=True)
        conn.executemany(insert, [(self.embedder, kind, item, _bytes(vector)) for item, vector in rows])

    def remove(self, conn: Connection, kind: Kind, items: Iterable[int]) -> None:
        """Forget the vectors of these items."""
        delete = "DELETE FROM memory_vectors WHERE embedder = ? AND kind = ? AND item = ?"
        conn.executemany(delete, [(self.embedder, kind, item) for item in items])

    def nearest(self, conn: Connection, kind: Kind, vector: Vectors, limit: int) -> list[Near]:
        """The items of a kind that are nearest to a vector of length 1, best first."""
        import numpy as np  # noqa: PLC0415  not needed by a daemon that remembers nothing yet

        select = "SELECT item, vector FROM memory_vectors WHERE embedder = ? AND kind = ?"
        rows = conn.execute(select, (self.embedder, kind)).fetchall()
        if not rows:
            return []
        matrix = np.frombuffer(b"".join(row[1] for row in rows), dtype="<f4").reshape(len(rows), self.dims)
        similarities = matrix @ np.asarray(vector, dtype=np.float32)
        best = np.argsort(-similarities, kind="stable")[:limit]
        return [Near(kind, int(rows[at][0]), float(similarities[at])) for at in best]


class VecIndex(FlatIndex):
    """The same through sqlite-vec's `vec0` table, which is kept in step with the stored vectors.

    Each connection that uses it must have loaded the extension (`load_extension`).
    """

    def __init__(self, embedder: str, dims: int) -> None:
        super().__init__(embedder, dims)
        self.table = "vec_" + re.sub(r"\W+", "_", embedder.lower())

    def prepare(self, conn: Connection) -> None:
        """Make the table, and fill it from the stored vectors if it lacks some (written where vec0 was not there)."""
        create = (
            f"CREATE VIRTUAL TABLE IF NOT EXISTS {self.table} USING vec0("
            f"id INTEGER PRIMARY KEY, embedding FLOAT[{self.dims}] DISTANCE_METRIC=cosine, kind TEXT, +item INTEGER)"
        )
        conn.execute(create)
        stored = conn.execute("SELECT count(*), max(id) FROM memory_vectors WHERE embedder = ?", (self.embedder,))
        held = conn.execute(f"SELECT count(*), max(rowid) FROM {self.table}_rowids")  # noqa: S608  our own name
        if tuple(stored.fetchone()) != tuple(held.fetchone()):
            conn.execute(f"DROP TABLE {self.table}")
            conn.execute(create)
            self._copy(conn, "", ())

    def add(self, conn: Connection, kind: Kind, items: Sequence[int], vectors: Vectors) -> None:
        """Store a vector of length 1 for each item, in the place of an earlier one."""
        super().add(conn, kind, items, vectors)
        for item in items:
            self._copy(conn, "AND kind = ? AND item = ?", (kind, item))

    def remove(self, conn: Connection, kind: Kind, items: Iterable[int]) -> None:
        """Forget the vectors of these items."""
        gone = list(items)
        inner = "SELECT id FROM memory_vectors WHERE embedder = ? AND kind = ? AND item = ?"
        delete = f"DELETE FROM {self.table} WHERE id = ({inner})"  # noqa: S608  our own name
        conn.executemany(delete, [(self.embedder, kind, item) for item in gone])
        super().remove(conn, kind, gone)

    def nearest(self, conn: Connection, kind: Kind, vector: Vectors, limit: int) -> list[Near]:
        """The items of a kind that are nearest to a vector of length 1, best first."""
        rows = conn.execute(
            f"SELECT item, distance FROM {self.table} WHERE embedding MATCH ? AND k = ? AND kind = ? "  # noqa: S608
            "ORDER BY distance",
            (_bytes(vector), min(limit, MAX_NEAREST), kind),
        )
        return [Near(kind, int(row[0]), 1.0 - float(row[1])) for row in rows]

    def _copy(self, conn: Connection, where: str, values: tuple[object, ...]) -> None:
        conn.execute(
            f"INSERT INTO {self.table} (id, embedding, kind, item) "  # noqa: S608  our own name
            f"SELECT id, vector, kind, item FROM memory_vectors WHERE embedder = ? {where}",
            (self.embedder, *values),
        )


def load_extension(conn: Connection) -> bool:
    """Load sqlite-vec into a connection; False where this build of SQLite, or this machine, cannot."""
    try:
        conn.execute("SELECT vec_version()")
    except Error:
        return _loaded(conn)
    return True


def _loaded(conn: Connection) -> bool:
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


def _bytes(vector: Vectors) -> bytes:
    return vector.astype("<f4").tobytes()
