"""Finds the nearest vectors exactly: by sqlite-vec where it can be loaded, by numpy over the stored bytes elsewhere.

The table `memory_vectors` holds every vector, under the name of its embedder, whichever index is used; sqlite-vec's
own table is made from it, one for each embedder, so vectors of different embedders never meet. Nothing here opens a
connection or a transaction: writing happens in the job of whoever calls, on the writer's connection. `memory.coarse`
is for very many vectors, and `memory.sized` picks between them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args
from zlib import crc32

from db.sqlite import Connection, Error
from memory.signs import signs_of

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
        insert = "INSERT INTO memory_vectors (embedder, kind, item, vector, signs) VALUES (?, ?, ?, ?, ?)"
        rows = zip(items, vectors, signs_of(vectors), strict=True)
        conn.executemany(insert, [(self.embedder, kind, item, _bytes(row), bits.tobytes()) for item, row, bits in rows])

    def remove(self, conn: Connection, kind: Kind, items: Iterable[int]) -> None:
        """Forget the vectors of these items."""
        delete = "DELETE FROM memory_vectors WHERE embedder = ? AND kind = ? AND item = ?"
        conn.executemany(delete, [(self.embedder, kind, item) for item in items])

    def nearest(self, conn: Connection, kind: Kind, vector: Vectors, limit: int) -> list[Near]:
        """The items of a kind that are nearest to a vector of length 1, best first."""
        select = "SELECT item, vector FROM memory_vectors WHERE embedder = ? AND kind = ?"
        rows = conn.execute(select, (self.embedder, kind)).fetchall()
        return self._ranked(kind, [(int(row[0]), row[1]) for row in rows], vector, limit)

    def count(self, conn: Connection) -> int:
        """How many vectors are stored."""
        select = "SELECT count(*) FROM memory_vectors INDEXED BY memory_signs WHERE embedder = ?"
        return int(conn.execute(select, (self.embedder,)).fetchone()[0])

    def newest(self, conn: Connection) -> int:
        """The highest id of a stored vector, 0 for none."""
        select = "SELECT max(id) FROM memory_vectors INDEXED BY memory_signs WHERE embedder = ? AND kind = ?"
        return max(conn.execute(select, (self.embedder, kind)).fetchone()[0] or 0 for kind in get_args(Kind))

    def _ranked(self, kind: Kind, rows: Sequence[tuple[int, bytes]], vector: Vectors, limit: int) -> list[Near]:
        """The items with the highest similarities, by their stored vectors."""
        import numpy as np  # noqa: PLC0415  not needed by a daemon that remembers nothing yet

        if not rows:
            return []
        matrix = np.frombuffer(b"".join(row[1] for row in rows), dtype="<f4").reshape(len(rows), self.dims)
        # Not `@`: a product by several threads waits for its threads, long where workers have the cores.
        similarities = np.einsum("ij,j->i", matrix, np.asarray(vector, dtype=np.float32))
        best = np.argsort(-similarities, kind="stable")[:limit]
        return [Near(kind, rows[at][0], float(similarities[at])) for at in best]


class VecIndex(FlatIndex):
    """The same through sqlite-vec's `vec0` table, which is kept in step with the stored vectors.

    Each connection that uses it must have loaded the extension (`load_extension`).
    """

    def __init__(self, embedder: str, dims: int) -> None:
        super().__init__(embedder, dims)
        # Names that differ only in what a table's name cannot hold must not meet.
        plain = re.fullmatch(r"[A-Za-z0-9-]+", embedder)
        self.table = (
            "vec_" + re.sub(r"\W+", "_", embedder.lower()) + ("" if plain else f"_{crc32(embedder.encode()):x}")
        )

    def create(self, conn: Connection) -> None:
        """Make the table, empty, unless it is there."""
        conn.execute(
            f"CREATE VIRTUAL TABLE IF NOT EXISTS {self.table} USING vec0("
            f"id INTEGER PRIMARY KEY, embedding FLOAT[{self.dims}] DISTANCE_METRIC=cosine, kind TEXT, +item INTEGER)"
        )

    def drop(self, conn: Connection) -> None:
        """Give the table up; the stored vectors stay."""
        conn.execute(f"DROP TABLE IF EXISTS {self.table}")

    def exists(self, conn: Connection) -> bool:
        """Tell whether there is a table, complete or not."""
        select = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
        return conn.execute(select, (self.table,)).fetchone() is not None

    def in_step(self, conn: Connection) -> bool:
        """Tell whether the table holds every stored vector: it is filled in the order of their ids."""
        return self.exists(conn) and self._held(conn) == self.newest(conn)

    def sound(self, conn: Connection) -> bool:
        """Tell whether the table holds the stored vectors up to its newest and nothing else.

        Something else is left in it by a Nightshift that could not load the extension and forgot vectors.
        """
        select = "SELECT count(*) FROM memory_vectors INDEXED BY memory_signs WHERE embedder = ? AND id <= ?"
        stored = conn.execute(select, (self.embedder, self._held(conn))).fetchone()[0]
        held = conn.execute(f"SELECT count(*) FROM {self.table}_rowids").fetchone()[0]  # noqa: S608  our own name
        return bool(stored == held)

    def fill(self, conn: Connection, limit: int) -> int:
        """Copy the next stored vectors into the table, oldest first, at most `limit`; gives how many."""
        held = self._held(conn)
        inner = "SELECT 1 FROM memory_vectors WHERE embedder = ? AND id > ? LIMIT ?"
        new = conn.execute(f"SELECT count(*) FROM ({inner})", (self.embedder, held, limit)).fetchone()[0]  # noqa: S608
        self._copy(conn, "AND id > ? ORDER BY id LIMIT ?", (held, limit))
        return int(new)

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
        # A text in which nothing counts has a vector of zeros, which has no angle to any other: NULL.
        return [Near(kind, int(row[0]), 0.0 if row[1] is None else 1.0 - float(row[1])) for row in rows]

    def _held(self, conn: Connection) -> int:
        newest = conn.execute(f"SELECT max(rowid) FROM {self.table}_rowids").fetchone()[0]  # noqa: S608  our own name
        return int(newest or 0)

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
