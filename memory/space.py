"""One embedder with its index: texts go in as vectors, and the nearest come out."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from db.database import Database
from db.sqlite import Connection
from memory import rows
from memory.embedders import Embedder
from memory.index import FlatIndex, Kind, Near, VecIndex, load_extension

if TYPE_CHECKING:
    from memory.embedders.base import Vectors

BATCH = 64


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
        self._index: FlatIndex | None = None

    @property
    def index(self) -> FlatIndex:
        """The index, made on first use: sqlite-vec's, or a plain one where the extension cannot be loaded."""
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
        return done

    def nearest(self, texts: Mapping[Kind, str], limit: int) -> list[Near]:
        """The nearest memories of each kind to its text, best first; what is less alike than the floor is left out."""
        vectors, conn = self.embedder.embed(list(texts.values())), self._db.reader()
        index = self._opened(conn)
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

    def _opened(self, conn: Connection, index: FlatIndex | None = None) -> FlatIndex:
        """The index, with its extension loaded into this connection."""
        index = index or self.index
        if isinstance(index, VecIndex):
            load_extension(conn)
        return index

    def _made(self) -> FlatIndex:
        name, dims = self.embedder.name, self.embedder.dims
        if not (self._extension and load_extension(self._db.reader())):
            return FlatIndex(name, dims)
        index = VecIndex(name, dims)

        def prepare(conn: Connection) -> None:
            load_extension(conn)
            index.prepare(conn)

        self._db.write(prepare).result()
        return index
