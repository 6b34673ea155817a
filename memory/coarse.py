"""Finds the nearest of very many vectors: by sketches of 128 bytes first, by the vectors themselves at the end.

The sketches (`memory.signs`) lie in memory, 13 MB for 100,000 vectors. A look-up counts in how many bits each differs
from the query's, which takes a few milliseconds; puts the best `SKETCHED` in a finer order by the query's own numbers;
reads the best `RESCORED` of those from the database, and gives them in their exact order. What is among the nearest
and not among those is missed: `bench/recall.py` says how seldom, and compares this with sqlite-vec's own bits.

The sketches in memory are a copy and never the truth. Ids are given once and never again (AUTOINCREMENT), so what is
new is what has a higher id, whoever wrote it; what was deleted is found to be missing when it is read, and leaves the
copy. A job that is undone, or a crash, leaves nothing behind that would have to be mended.
"""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from db.sqlite import Connection
from memory.index import FlatIndex, Kind, Near
from memory.signs import bits_of, closeness, rotated, signs_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memory.embedders.base import Vectors
    from memory.signs import Words

    Ids = NDArray[np.int64]

RESCORED, MOST_RESCORED = 1200, 4800
"""How many are read in full for a look-up where vectors have up to 384 numbers, in proportion for longer ones."""
SKETCHED = 5
"""How many times as many are put in their finer order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signs:
    """The sketches of one kind's vectors, one column each; `size` columns are in use. Columns in use never change.

    Shapes: `ids` (room,), `words` (words of 64 bits, room). One row for each word lets numpy go through them fastest.
    """

    ids: Ids
    words: Words
    size: int

    @property
    def newest(self) -> int:
        """The highest id, 0 for none."""
        return int(self.ids[self.size - 1]) if self.size else 0


class CoarseIndex(FlatIndex):
    """The sketches of all vectors in memory, with rescoring. Exact while there are no more than `rescored`.

    Args:
        embedder: the name of the vector space.
        dims: how many numbers a vector has.
        rescored: how many are read in full for a look-up; by default it goes by the length of the vectors.
    """

    def __init__(self, embedder: str, dims: int, *, rescored: int | None = None) -> None:
        super().__init__(embedder, dims)
        self.rescored = rescored or min(MOST_RESCORED, max(RESCORED, RESCORED * dims // 384))
        self._signs: dict[Kind, Signs] = {}
        self._lock = threading.Lock()

    def nearest(self, conn: Connection, kind: Kind, vector: Vectors, limit: int) -> list[Near]:
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

    def _refreshed(self, conn: Connection, kind: Kind) -> Signs:
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

    def _drop(self, kind: Kind, gone: set[int]) -> None:
        import numpy as np  # noqa: PLC0415  as above

        with self._lock:
            signs = self._signs[kind]
            keep = ~np.isin(signs.ids[: signs.size], list(gone))
            # The newest stays, or it would be asked for again at each look-up.
            keep[-1] = True
            ids, words = signs.ids[: signs.size][keep], signs.words[:, : signs.size][:, keep]
            self._signs[kind] = Signs(ids=ids, words=words, size=len(ids))


def _empty(dims: int) -> Signs:
    import numpy as np  # noqa: PLC0415  as above

    return Signs(ids=np.zeros(0, dtype=np.int64), words=np.zeros((bits_of(dims) // 64, 0), dtype=np.uint64), size=0)


def _grown(signs: Signs, ids: list[int], bits: bytes) -> Signs:
    """With more columns at the end; the room doubles when it is used up."""
    import numpy as np  # noqa: PLC0415  as above

    size = signs.size + len(ids)
    if size > len(signs.ids):
        room = max(size, 2 * len(signs.ids))
        new_ids = np.zeros(room, dtype=np.int64)
        new_words = np.zeros((len(signs.words), room), dtype=np.uint64)
        new_ids[: signs.size], new_words[:, : signs.size] = signs.ids[: signs.size], signs.words[:, : signs.size]
        signs = Signs(ids=new_ids, words=new_words, size=signs.size)
    signs.ids[signs.size : size] = ids
    signs.words[:, signs.size : size] = np.frombuffer(bits, dtype="<u8").reshape(len(ids), -1).T
    return Signs(ids=signs.ids, words=signs.words, size=size)


def _closest(signs: Signs, query: Vectors, count: int) -> list[int]:
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
