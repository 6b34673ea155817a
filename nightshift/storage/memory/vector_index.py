"""Finds the nearest of many vectors, exactly or by a prefilter on sign bits, whichever their number asks for.

The table `memory_vectors` holds every vector, under the name of its embedder, whichever index is used, so vectors of
different embedders never meet. Nothing here opens a connection or a transaction: writing happens in the job of whoever
calls, on the writer's connection.

`ExactIndex` compares every vector with numpy, `SqliteVecIndex` does so in sqlite-vec's own table, which is made from
the stored vectors. `SignBitIndex` is for very many vectors: an approximate search over 128 bytes for each, and an exact
one over the best of them. `AdaptiveIndex` picks one by the number of vectors.

Sign bits are the signs of a vector's numbers after a random rotation, a sketch that keeps angles. The more bits two
vectors share, the smaller the angle between them tends to be (M. Charikar, “Similarity estimation techniques from
rounding algorithms”, 2002). The rotation comes first because the numbers of a vector are not alike: most of a hashed
one are zero and have no sign. It is two rounds of random flips and a Walsh–Hadamard transform, into 1,024 dimensions at
least (N. Ailon and B. Chazelle, “The fast Johnson–Lindenstrauss transform”, 2009). The flips come from a hash function,
so that stored bits mean the same on every machine.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, Protocol, get_args
from zlib import crc32

from nightshift.storage.db.sqlite import Connection, Error, OperationalError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from nightshift.storage.memory.embedders.base import Vectors

    Words = NDArray[np.uint64]
    Ids = NDArray[np.int64]


LEAST_BITS = 1024
ROUNDS = 2
CHUNK = 2000
"""How many are rotated at once; 16 MB."""


def bits_of(dims: int) -> int:
    """How many bits stand for a vector of so many numbers: a power of two."""
    return max(LEAST_BITS, 1 << (dims - 1).bit_length())


def signs_of(vectors: Vectors) -> Words:
    """The signs of each rotated vector in words of 64 bits, little endian: shape (rows, bits_of(dims) / 64)."""
    import numpy as np  # noqa: PLC0415  not needed by a daemon that remembers nothing yet

    words = np.zeros((len(vectors), bits_of(vectors.shape[1]) // 64), dtype="<u8")
    for at in range(0, len(vectors), CHUNK):
        bits = np.packbits(rotated(vectors[at : at + CHUNK]) > 0, axis=1, bitorder="little")
        words[at : at + CHUNK] = bits.view("<u8")
    return words


def rotated(vectors: Vectors) -> Vectors:
    """The vectors, shape (rows, dims), in other axes: shape (rows, bits_of(dims)). Lengths grow alike."""
    import numpy as np  # noqa: PLC0415  as above

    size = bits_of(vectors.shape[1])
    rows = np.zeros((len(vectors), size), dtype=np.float32)
    rows[:, : vectors.shape[1]] = vectors
    for number in range(ROUNDS):
        rows = _hadamard(rows * _flips(number, size))
    return rows


def closeness(words: Words, query: Vectors) -> Vectors:
    """How near each sketch of the rows is to a rotated vector: the sum of its numbers where the sketch's bit is set.

    It tells more than counting bits, because a number near zero may as well have the other sign. What each value of
    each byte adds is computed once and looked up for all rows, as distances are in product quantization (H. Jégou et
    al., “Product quantization for nearest neighbor search”, 2011).
    """
    import numpy as np  # noqa: PLC0415  as above

    values = np.arange(256, dtype=np.uint8)[:, None]
    bits = np.unpackbits(values, axis=1, bitorder="little").astype(np.float32)
    sums = np.einsum("ij,kj->ik", query.reshape(-1, 8), bits)
    places = words.view(np.uint8).astype(np.intp)
    places += np.arange(0, sums.size, 256)
    near: Vectors = sums.ravel().take(places).sum(axis=1)
    return near


def _hadamard(rows: Vectors) -> Vectors:
    import numpy as np  # noqa: PLC0415  as above

    count, size = rows.shape
    step = 1
    while step < size:
        halves = rows.reshape(count, -1, 2, step)
        sums, differences = halves[:, :, 0] + halves[:, :, 1], halves[:, :, 0] - halves[:, :, 1]
        rows = np.stack([sums, differences], axis=2).reshape(count, size)
        step *= 2
    return rows


@lru_cache(maxsize=8)
def _flips(number: int, size: int) -> Vectors:
    import numpy as np  # noqa: PLC0415  as above

    drawn = np.frombuffer(hashlib.shake_256(b"signs %d" % number).digest(size // 8), dtype=np.uint8)
    flips: Vectors = np.unpackbits(drawn).astype(np.float32) * 2 - 1
    return flips


LessonKind = Literal["failure", "pattern"]
MAX_NEAREST = 1000
"""sqlite-vec refuses to look for more than 4,096."""


@dataclass(frozen=True, slots=True)
class Near:
    """A memory by its kind and id, and the cosine of the angle between its vector and the query's."""

    kind: LessonKind
    item: int
    similarity: float


class VectorStore(Protocol):
    """Where vectors of one embedder are found again: on this node, or in a hub. Blocks; for any thread."""

    def add(self, kind: LessonKind, items: Sequence[int], vectors: Vectors) -> None:
        """Store a vector of length 1 for each item."""
        ...

    def nearest(self, kind: LessonKind, vector: Vectors, limit: int) -> list[Near]:
        """The items of a kind that are nearest to a vector of length 1, best first, of equal ones the older first."""
        ...


ROUNDING = 1e-5
"""By no more than this do engines differ that compute a cosine in 32 bits."""


def nearest_of(kind: LessonKind, items: Sequence[int], matrix: Vectors, vector: Vectors, limit: int) -> list[Near]:
    """The nearest of these vectors, one row for each item: the same for the same vectors, wherever they come from."""
    import numpy as np  # noqa: PLC0415  not needed by a daemon that remembers nothing yet

    if not items:
        return []
    query = np.asarray(vector, dtype=np.float32)
    # Not `@`: a product by several threads waits for its threads, long where workers have the cores.
    rough = np.einsum("ij,j->i", matrix, query)
    near = np.arange(len(items))
    if limit < len(items):
        least = np.partition(rough, -limit)[-limit]
        near = np.flatnonzero(rough >= least - ROUNDING)
    # Of many rows a sum in 32 bits depends on the number of rows; this one does not.
    similarities = (matrix[near].astype(np.float64) * query).sum(axis=1)
    ids = np.asarray(items, dtype=np.int64)[near]
    order = np.lexsort((ids, -similarities))[:limit]
    return [Near(kind, int(ids[at]), float(similarities[at])) for at in order]


def newest_vector(conn: Connection, embedder: str) -> int:
    """The highest id of a stored vector, 0 for none; ids are never given again."""
    select = "SELECT max(id) FROM memory_vectors INDEXED BY memory_signs WHERE embedder = ? AND kind = ?"
    return max(conn.execute(select, (embedder, kind)).fetchone()[0] or 0 for kind in get_args(LessonKind))


def stored_vectors(
    conn: Connection, embedder: str, kind: LessonKind, items: Sequence[int]
) -> tuple[list[int], Vectors]:
    """Those of the items that have a vector here, and their vectors, one row for each."""
    import numpy as np  # noqa: PLC0415  as above

    select = (
        "SELECT item, vector FROM memory_vectors WHERE embedder = ? AND kind = ? "
        "AND item IN (SELECT value FROM json_each(?))"
    )
    rows = conn.execute(select, (embedder, kind, json.dumps(list(items)))).fetchall()
    vectors = np.frombuffer(b"".join(row[1] for row in rows), dtype="<f4").reshape(len(rows), -1 if rows else 0)
    return [int(row[0]) for row in rows], vectors


class ExactIndex:
    """Exact, with numpy alone: reads every vector of its embedder for each query (15 MB for 10,000 of 384 numbers).

    Args:
        embedder: the name of the vector space.
        dims: how many numbers a vector has.
    """

    def __init__(self, embedder: str, dims: int) -> None:
        self.embedder, self.dims = embedder, dims

    def add(self, conn: Connection, kind: LessonKind, items: Sequence[int], vectors: Vectors) -> None:
        """Store a vector of length 1 for each item, in the place of an earlier one."""
        self.remove(conn, kind, items)
        insert = "INSERT INTO memory_vectors (embedder, kind, item, vector, signs) VALUES (?, ?, ?, ?, ?)"
        rows = zip(items, vectors, signs_of(vectors), strict=True)
        conn.executemany(insert, [(self.embedder, kind, item, _bytes(row), bits.tobytes()) for item, row, bits in rows])

    def remove(self, conn: Connection, kind: LessonKind, items: Iterable[int]) -> None:
        """Forget the vectors of these items."""
        delete = "DELETE FROM memory_vectors WHERE embedder = ? AND kind = ? AND item = ?"
        conn.executemany(delete, [(self.embedder, kind, item) for item in items])

    def nearest(self, conn: Connection, kind: LessonKind, vector: Vectors, limit: int) -> list[Near]:
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
        return newest_vector(conn, self.embedder)

    def _ranked(self, kind: LessonKind, rows: Sequence[tuple[int, bytes]], vector: Vectors, limit: int) -> list[Near]:
        """The items with the highest similarities, by their stored vectors."""
        import numpy as np  # noqa: PLC0415  not needed by a daemon that remembers nothing yet

        matrix = np.frombuffer(b"".join(row[1] for row in rows), dtype="<f4").reshape(len(rows), self.dims)
        return nearest_of(kind, [row[0] for row in rows], matrix, vector, limit)


class SqliteVecIndex(ExactIndex):
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

    def add(self, conn: Connection, kind: LessonKind, items: Sequence[int], vectors: Vectors) -> None:
        """Store a vector of length 1 for each item, in the place of an earlier one."""
        super().add(conn, kind, items, vectors)
        for item in items:
            self._copy(conn, "AND kind = ? AND item = ?", (kind, item))

    def remove(self, conn: Connection, kind: LessonKind, items: Iterable[int]) -> None:
        """Forget the vectors of these items."""
        gone = list(items)
        inner = "SELECT id FROM memory_vectors WHERE embedder = ? AND kind = ? AND item = ?"
        delete = f"DELETE FROM {self.table} WHERE id = ({inner})"  # noqa: S608  our own name
        conn.executemany(delete, [(self.embedder, kind, item) for item in gone])
        super().remove(conn, kind, gone)

    def nearest(self, conn: Connection, kind: LessonKind, vector: Vectors, limit: int) -> list[Near]:
        """The items of a kind that are nearest to a vector of length 1, best first."""
        select = f"SELECT item, distance FROM {self.table} WHERE embedding MATCH ? AND k = ? AND kind = ?"  # noqa: S608
        wanted, most = min(limit, MAX_NEAREST), 2 * limit
        while True:
            most = min(most, MAX_NEAREST)
            # A vector of zeros has no angle either: NULL.
            rows = [(int(row[0]), row[1]) for row in conn.execute(select, (_bytes(vector), most, kind))]
            far = sorted(1.0 if distance is None else float(distance) for _, distance in rows)
            if len(rows) < most or most == MAX_NEAREST or far[-1] > far[wanted - 1] + ROUNDING:
                break
            most *= 4  # more are as near as the last one
        items, vectors = stored_vectors(conn, self.embedder, kind, [item for item, _ in rows])
        return nearest_of(kind, items, vectors, vector, limit)

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


RESCORED, MOST_RESCORED = 1200, 4800
"""How many are read in full for a search where vectors have up to 384 numbers, in proportion for longer ones."""
SKETCHED = 5
"""How many times as many are put in their finer order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignBits:
    """The sign bits of one kind's vectors, one column each; `size` columns are in use. Columns in use never change.

    Shapes: `ids` (room,), `words` (words of 64 bits, room). One row for each word lets numpy go through them fastest.
    """

    ids: Ids
    words: Words
    size: int

    @property
    def newest(self) -> int:
        """The highest id, 0 for none."""
        return int(self.ids[self.size - 1]) if self.size else 0


class SignBitIndex(ExactIndex):
    """Approximate search by sign bits, which lie in memory, then an exact one over the best of them.

    The bits take 13 MB for 100,000 vectors. A search counts in how many bits each differs from the query's, which takes
    a few milliseconds; ranks the best `SKETCHED * rescored` by the query's own numbers; reads the best `rescored` of
    those from the database, and gives them in their exact order. A near vector that is not among those is missed:
    `bench/recall.py` measures how seldom. It is exact while there are no more vectors than `rescored`.

    The bits in memory are a copy and never the truth. Ids are given once and never again (AUTOINCREMENT), so what is
    new is what has a higher id, whoever wrote it; what was deleted is found to be missing when it is read, and leaves
    the copy. A job that is undone, or a crash, leaves nothing behind that would have to be mended.

    Args:
        embedder: the name of the vector space.
        dims: how many numbers a vector has.
        rescored: how many are read in full for a search; by default it goes by the length of the vectors.
    """

    def __init__(self, embedder: str, dims: int, *, rescored: int | None = None) -> None:
        super().__init__(embedder, dims)
        self.rescored = rescored or min(MOST_RESCORED, max(RESCORED, RESCORED * dims // 384))
        self._signs: dict[LessonKind, SignBits] = {}
        self._lock = threading.Lock()

    def nearest(self, conn: Connection, kind: LessonKind, vector: Vectors, limit: int) -> list[Near]:
        """The items of a kind that are nearest to a vector of length 1, best first."""
        signs = self._refreshed(conn, kind)
        take = max(self.rescored, 4 * limit)
        if signs.size <= take:
            return super().nearest(conn, kind, vector, limit)
        ids = _closest(signs, vector[None], take)
        select = "SELECT id, item, vector FROM memory_vectors WHERE id IN (SELECT value FROM json_each(?))"
        rows = conn.execute(select, (json.dumps(ids),)).fetchall()
        if len(rows) < len(ids):
            self._drop(kind, set(ids) - {int(row[0]) for row in rows})
        return self._ranked(kind, [(int(row[1]), row[2]) for row in rows], vector, limit)

    def _refreshed(self, conn: Connection, kind: LessonKind) -> SignBits:
        """The bits, with what was written since they were last used."""
        with self._lock:
            signs = self._signs.get(kind) or _empty(self.dims)
            select = "SELECT id, signs FROM memory_vectors WHERE embedder = ? AND kind = ? AND id > ? ORDER BY id"
            rows = conn.execute(select, (self.embedder, kind, signs.newest)).fetchall()
            if rows:
                bits = [row[1] or self._computed(conn, int(row[0])) for row in rows]
                signs = _grown(signs, [int(row[0]) for row in rows], b"".join(bits))
            self._signs[kind] = signs
            return signs

    def _computed(self, conn: Connection, id_: int) -> bytes:
        """The bits of a vector that an earlier version stored without them; none for one that is gone meanwhile."""
        import numpy as np  # noqa: PLC0415  not needed by a daemon that remembers nothing yet

        row = conn.execute("SELECT vector FROM memory_vectors WHERE id = ?", (id_,)).fetchone()
        stored = np.frombuffer(row[0], dtype="<f4") if row else np.zeros(self.dims, dtype=np.float32)
        return bytes(signs_of(stored[None])[0].tobytes())

    def _drop(self, kind: LessonKind, gone: set[int]) -> None:
        import numpy as np  # noqa: PLC0415  as above

        with self._lock:
            signs = self._signs[kind]
            keep = ~np.isin(signs.ids[: signs.size], list(gone))
            # The newest stays, or it would be asked for again at each look-up.
            keep[-1] = True
            ids, words = signs.ids[: signs.size][keep], signs.words[:, : signs.size][:, keep]
            self._signs[kind] = SignBits(ids=ids, words=words, size=len(ids))


def _empty(dims: int) -> SignBits:
    import numpy as np  # noqa: PLC0415  as above

    return SignBits(ids=np.zeros(0, dtype=np.int64), words=np.zeros((bits_of(dims) // 64, 0), dtype=np.uint64), size=0)


def _grown(signs: SignBits, ids: list[int], bits: bytes) -> SignBits:
    """With more columns at the end; the room doubles when it is used up."""
    import numpy as np  # noqa: PLC0415  as above

    size = signs.size + len(ids)
    if size > len(signs.ids):
        capacity = max(size, 2 * len(signs.ids))
        new_ids = np.zeros(capacity, dtype=np.int64)
        new_words = np.zeros((len(signs.words), capacity), dtype=np.uint64)
        new_ids[: signs.size], new_words[:, : signs.size] = signs.ids[: signs.size], signs.words[:, : signs.size]
        signs = SignBits(ids=new_ids, words=new_words, size=signs.size)
    signs.ids[signs.size : size] = ids
    signs.words[:, signs.size : size] = np.frombuffer(bits, dtype="<u8").reshape(len(ids), -1).T
    return SignBits(ids=signs.ids, words=signs.words, size=size)


def _closest(signs: SignBits, query: Vectors, count: int) -> list[int]:
    """The ids of so many vectors that are probably the nearest to the query, shape (1, dims)."""
    import numpy as np  # noqa: PLC0415  as above

    distances = np.zeros(signs.size, dtype=np.uint16)
    for column, word in zip(signs.words, signs_of(query)[0], strict=True):
        distances += np.bitwise_count(column[: signs.size] ^ word)
    some = min(SKETCHED * count, signs.size - 1)
    near = np.argpartition(distances, some)[:some]
    finer = closeness(np.ascontiguousarray(signs.words[:, near].T), rotated(query)[0])
    found: list[int] = signs.ids[near[np.argsort(-finer)[:count]]].tolist()
    return found


MOST_EXACT, LEAST_COARSE = 10_000, 8_000
BATCH = 500
"""How many vectors are copied in one job of the writer: some twenty milliseconds."""


class AdaptiveIndex(SignBitIndex):
    """Exact by sqlite-vec for few vectors, by sign bits for many; each connection must have loaded the extension.

    Up to `MOST_EXACT` vectors sqlite-vec compares every number in some ten milliseconds; beyond that the sign bits are
    several times faster and miss little. The table is made again only below `LEAST_COARSE`, so that a number that goes
    up and down around one limit does not fill and drop it for ever.

    Which of the two answers is never remembered but read from the database: the table holds vectors in the order of
    their ids, so it is complete exactly if its newest is the newest that is stored. While it is filled, in batches
    between which others write, and after a crash in the middle of that, searches go by the sign bits, which need
    nothing.

    Args:
        embedder: the name of the vector space.
        dims: how many numbers a vector has.
        most_exact: with more vectors than this the exact table is given up.
        least_coarse: with no more than this it is made again.
        rescored: how many are read in full for a search by sign bits.
    """

    def __init__(
        self,
        embedder: str,
        dims: int,
        *,
        most_exact: int = MOST_EXACT,
        least_coarse: int = LEAST_COARSE,
        rescored: int | None = None,
    ) -> None:
        super().__init__(embedder, dims, rescored=rescored)
        self.exact = SqliteVecIndex(embedder, dims)
        self._most_exact, self._least_coarse = most_exact, least_coarse

    def add(self, conn: Connection, kind: LessonKind, items: Sequence[int], vectors: Vectors) -> None:
        """Store a vector of length 1 for each item, in the place of an earlier one."""
        (self.exact.add if self.exact.in_step(conn) else super().add)(conn, kind, items, vectors)

    def remove(self, conn: Connection, kind: LessonKind, items: Iterable[int]) -> None:
        """Forget the vectors of these items."""
        (self.exact.remove if self.exact.exists(conn) else super().remove)(conn, kind, items)

    def nearest(self, conn: Connection, kind: LessonKind, vector: Vectors, limit: int) -> list[Near]:
        """The items of a kind that are nearest to a vector of length 1, best first."""
        if self.exact.in_step(conn):
            try:
                return self.exact.nearest(conn, kind, vector, limit)
            except OperationalError:
                pass  # the table was given up a moment ago; what is wrong besides shows below as well
        return super().nearest(conn, kind, vector, limit)

    def maintain(self, conn: Connection) -> bool:
        """Bring the exact table a batch nearer to what the number of vectors asks for; True if there is more to do.

        One job of the writer. At its end the table is gone, complete, or a sound beginning.
        """
        count = self.count(conn)
        if not self.exact.exists(conn):
            if count > self._least_coarse:
                return False
            self.exact.create(conn)
        elif count > self._most_exact or not self.exact.sound(conn):
            self.exact.drop(conn)
            return count <= self._least_coarse
        return self.exact.fill(conn, BATCH) == BATCH
