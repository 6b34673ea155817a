"""One embedder with its index: texts go in as vectors, and the nearest come out."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from db.database import Database
from db.sqlite import Connection
from memory import rows
from memory.coarse import CoarseIndex
from memory.embedders import Embedder
from memory.index import Kind, Near, load_extension
from memory.sized import SizedIndex

if TYPE_CHECKING:
    from memory.embedders.base import Vectors

BATCH = 64
TENDED = 4
"""How many batches of its index a catch-up copies."""
Opened = TypeVar("Opened", bound=CoarseIndex)


class Space:
    """The memories as one embedder sees them. Thread-safe; blocks on the embedder and the database.

    Args:
        db: the database.
        embedder: makes the vectors; it must be loaded.
        extension: whether to use sqlite-vec where it can be loaded.
    """

    def __init__(self, db: Database, embedder: Embedder, *, extension: bool = True) -> None:
        self.embedder = embedder
        self._db, self._extension = db, extension
        self._lock = threading.Lock()
        self._index: CoarseIndex | None = None
        self._tended = False

    @property
    def index(self) -> CoarseIndex:
        """The index, made on first use; without its exact table where the extension cannot be loaded."""
        with self._lock:
            if self._index is None:
                self._index = self._made()
            return self._index

    def catch_up(self, limit: int) -> int:
        """Embed memories that have no vector here yet, newest first, at most `limit`; gives how many there were."""
        done = 0
        for kind in rows.KINDS:
            while done < limit and (texts := self._unseen(kind, limit - done)):
                self._add(kind, list(texts), self.embedder.embed(list(texts.values())))
                done += len(texts)
        self._tend(changed=bool(done))
        return done

    def nearest(self, texts: Mapping[Kind, str], limit: int) -> list[Near]:
        """The nearest memories of each kind to its text, best first; what is less alike than the floor is left out."""
        vectors, conn = self.embedder.embed(list(texts.values())), self._db.reader()
        index = self._opened(conn, self.index)
        found = [
            near
            for kind, vector in zip(texts, vectors, strict=True)
            for near in index.nearest(conn, kind, vector, limit)
        ]
        alike = (near for near in found if near.similarity >= self.embedder.floor)
        return sorted(alike, key=lambda near: -near.similarity)

    def forgetter(self) -> Callable[[Connection, Sequence[tuple[Kind, int]]], None]:
        """What takes vectors out within a job of the writer, which itself may not wait for another job."""
        index = self.index

        def forget(conn: Connection, items: Sequence[tuple[Kind, int]]) -> None:
            for kind, item in items:
                self._opened(conn, index).remove(conn, kind, [item])

        return forget

    def _unseen(self, kind: Kind, limit: int) -> dict[int, str]:
        return dict(rows.without_vector(self._db.reader(), kind, self.embedder.name, min(BATCH, limit)))

    def _add(self, kind: Kind, items: list[int], vectors: Vectors) -> None:
        index = self.index
        self._db.write(lambda conn: self._opened(conn, index).add(conn, kind, items, vectors)).result()

    def _tend(self, *, changed: bool) -> None:
        """Let the index change its kind if the number of vectors asks for it, a few batches at a time."""
        index = self.index
        if not isinstance(index, SizedIndex) or (self._tended and not changed):
            return
        for _ in range(TENDED):
            if not self._db.write(lambda conn: self._opened(conn, index).tend(conn)).result():
                self._tended = True
                return
        self._tended = False

    def _opened(self, conn: Connection, index: Opened) -> Opened:
        """The index, with its extension loaded into this connection."""
        if isinstance(index, SizedIndex):
            load_extension(conn)
        return index

    def _made(self) -> CoarseIndex:
        extension = self._extension and load_extension(self._db.reader())
        return (SizedIndex if extension else CoarseIndex)(self.embedder.name, self.embedder.dims)
