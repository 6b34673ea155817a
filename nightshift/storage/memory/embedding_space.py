"""Embedding spaces: an embedder with its index of vectors, and the choice between a simple and a better embedder."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import TypeVar

from nightshift.core.clock import Clock
from nightshift.core.errors import HubError, StoreError
from nightshift.core.events import Emitter, Kind, Level
from nightshift.core.ports import Sink
from nightshift.storage.db.database import Database
from nightshift.storage.db.sqlite import Connection
from nightshift.storage.memory import rows
from nightshift.storage.memory.embedders import Choice, Embedder, EmbedderMissing, Loadable
from nightshift.storage.memory.embedders.base import Recent
from nightshift.storage.memory.vector_index import LessonKind, Near, VectorIndex, VectorStore, add_vectors, keep_only

BATCH = 64


class EmbeddingSpace:
    """One embedder with its index of vectors. Stores texts as vectors, and finds the nearest ones.

    Thread-safe; blocks on the embedder and the database.

    Args:
        db: the database.
        embedder: computes the vectors; it must be loaded.
    """

    def __init__(self, db: Database, embedder: Embedder) -> None:
        self.embedder, self._db = embedder, db
        self._vectors = VectorIndex(db, embedder.name)
        self._recent = Recent(embedder.embed)

    def catch_up(self, limit: int) -> int:
        """Embed memories that have no vector of this embedder yet, newest first; return how many were embedded.

        At most `limit` memories of each kind are embedded.
        """
        done, more = 0, True
        while more and done < limit:
            most = min(BATCH, limit - done)
            unseen = {
                kind: rows.without_vector(self._db.reader(), kind, self.embedder.name, most) for kind in rows.KINDS
            }
            self._add({kind: dict(texts) for kind, texts in unseen.items() if texts})
            done += sum(map(len, unseen.values()))
            more = any(len(texts) == most for texts in unseen.values())
        return done

    def nearest(self, texts: Mapping[LessonKind, str], limit: int, beside: VectorStore | None = None) -> list[Near]:
        """For each kind, return the memories that are nearest to its text.

        The result contains all kinds, sorted together, best first. Memories whose similarity is below the embedder's
        floor are left out.

        Args:
            texts: maps each kind of memory to the text to search for.
            limit: maximum number for each kind.
            beside: a second store to search, with vectors of the same embedder. It may have vectors that are missing
                here.
        """
        vectors = self._recent.embed(list(texts.values()))
        matches = dict[tuple[LessonKind, int], Near]()
        for kind, vector in zip(texts, vectors, strict=True):
            near = [match for store in (self._vectors, beside) if store for match in store.nearest(kind, vector, limit)]
            best = {(match.kind, match.item): match for match in near if match.similarity >= self.embedder.floor}
            matches |= dict(sorted(best.items(), key=lambda pair: (-pair[1].similarity, pair[1].item))[:limit])
        return sorted(matches.values(), key=lambda match: -match.similarity)

    def _add(self, unseen: Mapping[LessonKind, Mapping[int, str]]) -> None:
        """Compute the vectors of these texts, and store them in one transaction."""
        texts = [text for of_kind in unseen.values() for text in of_kind.values()]
        if not texts:
            return
        vectors = self._recent.embed(texts)

        def add(conn: Connection) -> None:
            begun = 0
            for kind, of_kind in unseen.items():
                add_vectors(conn, self.embedder.name, kind, list(of_kind), vectors[begun : begun + len(of_kind)])
                begun += len(of_kind)

        self._db.write(add).result()


CATCH_UP = 256
"""Maximum number of memories of each kind that a recall embeds before it searches."""
PATIENCE_S = 30.0
"""Maximum seconds that `close` waits. There must be a limit, because the import of a library cannot be stopped."""
REST_S = 300.0
"""Seconds until an embedder that could not be loaded, or that failed, is tried again."""
R = TypeVar("R")
Beside = Callable[[Embedder], VectorStore | None]
"""Returns the vectors of other nodes for an embedder; None if there are none. Raises `HubError`."""


class EmbeddingSpaces:
    """The embedding spaces of a memory: hashing at first, and a better embedder once it has embedded all memories.

    After that, new memories are embedded by hashing only when hashing has to replace the better embedder. The better
    embedder is loaded on a separate thread at the first search. If it cannot be loaded, or an endpoint does not answer,
    hashing is used, and the better embedder is tried again after a pause. Neither is treated as an error; the owner is
    notified once for each reason. Thread-safe; blocks on embedders and the database.

    Args:
        db: the database.
        choice: the result of `storage.memory.embedders.choose`.
        clock: returns the current time, for the end of a pause.
        emit: receives the events, such as that the better embedder is ready or missing.
    """

    def __init__(self, db: Database, choice: Choice, *, clock: Clock, emit: Sink) -> None:
        self._db, self._clock, self._events = db, clock, Emitter(emit)
        self._choice, self.description = choice, choice.why
        self._ready = EmbeddingSpace(db, choice.ready)
        self._better: EmbeddingSpace | None = None
        self._reading: EmbeddingSpace | None = None
        self.beside: Beside = lambda _: None
        self._rest_until: datetime | None = None
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self.loader: threading.Thread | None = None

    def close(self) -> None:
        """Wait for the embedder that is being loaded, then close it. May be called twice."""
        self._closing.set()
        if self.loader is not None:
            self.loader.join(PATIENCE_S)
        if self._choice.better is not None:
            self._choice.better.close()

    def nearest(self, texts: Mapping[LessonKind, str], limit: int) -> list[Near]:
        """For each kind, return the memories nearest to its text. The best embedder that answers is used."""
        self._load_better()

        def look(space: EmbeddingSpace) -> list[Near]:
            space.catch_up(CATCH_UP)
            return space.nearest(texts, limit)

        matches = self._by_better(look)
        if matches is None:
            matches = self._beside(texts, limit)
        return look(self._ready) if matches is None else matches

    @property
    def better(self) -> Embedder | None:
        """The better embedder, once it has embedded all memories; None until then."""
        return self._better.embedder if self._better else None

    def _beside(self, texts: Mapping[LessonKind, str], limit: int) -> list[Near] | None:
        """Search the vectors of other nodes with the better embedder, while it has not embedded all memories here.

        Returns None if other nodes have no vectors.
        """
        space = self._reading
        if space is None or self._resting():
            return None
        try:
            store = self.beside(space.embedder)
            return space.nearest(texts, limit, store) if store else None
        except (HubError, EmbedderMissing):
            self._reading = None  # do not wait for the hub again; this node's own vectors are ready soon
            return None

    def catch_up(self) -> None:
        """Embed new memories, with the best embedder that answers."""
        if self._by_better(lambda space: space.catch_up(CATCH_UP)) is None:
            self._ready.catch_up(CATCH_UP)

    def _by_better(self, job: Callable[[EmbeddingSpace], R]) -> R | None:
        """Run the job with the better embedder. Return None if it is not ready, is paused, or fails."""
        space = self._better
        if space is None or self._resting():
            return None
        try:
            done = job(space)
        except EmbedderMissing as error:
            self._report_missing(error)
            return None
        self._report_ready(space.embedder.name)
        return done

    def _resting(self) -> bool:
        return self._rest_until is not None and self._clock() < self._rest_until

    def _report_missing(self, error: EmbedderMissing | StoreError) -> None:
        self._rest_until = self._clock() + timedelta(seconds=REST_S)
        if self._describe(f"hashed n-grams; {error}"):
            self._events.emit(Kind.EMBEDDER_MISSING, str(error), level=Level.WARNING)

    def _report_ready(self, name: str) -> None:
        self._rest_until = None
        if self._describe(name):
            self._db.write(lambda conn: keep_only(conn, name)).result()
            self._events.emit(Kind.EMBEDDER_READY, f"lessons are now found by {name}")

    def _describe(self, description: str) -> bool:
        """Store the description of the embedder for the owner; return True if it has changed."""
        with self._lock:
            changed, self.description = self.description != description, description
            return changed

    def _load_better(self) -> None:
        with self._lock:
            better, idle = self._choice.better, self.loader is None or not self.loader.is_alive()
            if better is None or self._better or not idle or self._resting() or self._closing.is_set():
                return
            self.loader = threading.Thread(target=self._load, args=(better,), name=f"load-{better.name}", daemon=True)
            self.loader.start()

    def _load(self, better: Loadable) -> None:
        """Load the better embedder, embed all memories with it, and switch to it."""
        try:
            better.load()
            self._reading = space = EmbeddingSpace(self._db, better)
            while not self._closing.is_set() and space.catch_up(CATCH_UP):
                pass
        except (EmbedderMissing, StoreError) as error:
            self._reading = None
            self._report_missing(error)
            return
        if not self._closing.is_set():
            self._better, self._reading = space, None
            self._report_ready(better.name)
