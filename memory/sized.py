"""The index that a space uses: exact while there are few vectors, coarse when there are many.

Up to `MOST_EXACT` vectors sqlite-vec's table compares every number in a look-up of some ten milliseconds; beyond that
`memory.coarse` is several times faster and misses little (`bench/recall.py`). The table is made again only below
`LEAST_COARSE`, so that a number that goes up and down around one limit does not fill and drop it for ever.

Which of the two answers is never remembered but read from the database: the table holds vectors in the order of their
ids, so it is complete exactly if its newest is the newest that is stored. While it is filled, in batches between which
others write, and after a crash in the middle of that, look-ups are answered by the coarse index, which needs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from db.sqlite import Connection, OperationalError
from memory.coarse import CoarseIndex
from memory.index import Kind, Near, VecIndex

if TYPE_CHECKING:
    from memory.embedders.base import Vectors

MOST_EXACT, LEAST_COARSE = 10_000, 8_000
BATCH = 500
"""How many vectors are copied in one job of the writer: some twenty milliseconds."""


class SizedIndex(CoarseIndex):
    """Exact by sqlite-vec for few vectors, coarse for many; each connection must have loaded the extension.

    Args:
        embedder: the name of the vector space.
        dims: how many numbers a vector has.
        most_exact: with more vectors than this the exact table is given up.
        least_coarse: with no more than this it is made again.
        rescored: how many the coarse index reads in full for a look-up.
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
        self.exact = VecIndex(embedder, dims)
        self._most_exact, self._least_coarse = most_exact, least_coarse

    def add(self, conn: Connection, kind: Kind, items: Sequence[int], vectors: Vectors) -> None:
        """Store a vector of length 1 for each item, in the place of an earlier one."""
        (self.exact.add if self.exact.in_step(conn) else super().add)(conn, kind, items, vectors)

    def remove(self, conn: Connection, kind: Kind, items: Iterable[int]) -> None:
        """Forget the vectors of these items."""
        (self.exact.remove if self.exact.exists(conn) else super().remove)(conn, kind, items)

    def nearest(self, conn: Connection, kind: Kind, vector: Vectors, limit: int) -> list[Near]:
        """The items of a kind that are nearest to a vector of length 1, best first."""
        if self.exact.in_step(conn):
            try:
                return self.exact.nearest(conn, kind, vector, limit)
            except OperationalError:
                pass  # the table was given up a moment ago; what is wrong besides shows below as well
        return super().nearest(conn, kind, vector, limit)

    def tend(self, conn: Connection) -> bool:
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
