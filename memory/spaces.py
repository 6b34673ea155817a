"""Which embedder finds memories: hashing from the first moment, a better one from when it has read them all.

The better one is loaded on a thread of its own when there first is something to recall; where it cannot be loaded, or
an endpoint does not answer, hashing does its work, and it is tried again after a rest. Both are normal states, and the
owner is told once for each reason.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TypeVar

from core.clock import Clock
from core.errors import StoreError
from core.events import Event, Kind, Level
from core.ports import Sink
from db.database import Database
from db.sqlite import Connection
from memory.embedders import Choice, EmbedderMissing, Loadable
from memory.index import Kind as MemoryKind
from memory.index import Near
from memory.space import Space

CATCH_UP = 256
"""How many memories a recall embeds at most before it looks."""
PATIENCE_S = 30.0
"""How long `close` waits; a library that is being imported cannot be stopped."""
REST_S = 300.0
"""How long an embedder that could not be loaded, or that failed, is left alone."""
R = TypeVar("R")
Forget = Callable[[Connection, Sequence[tuple[MemoryKind, int]]], None]


class Spaces:
    """The spaces of a memory. Thread-safe; blocks on embedders and the database.

    Args:
        db: the database.
        choice: as `memory.embedders.choose` picked it.
        clock: tells when a rest is over.
        emit: told when the better embedder is ready or cannot be had.
        extension: whether to use sqlite-vec where it can be loaded.
    """

    def __init__(self, db: Database, choice: Choice, *, clock: Clock, emit: Sink, extension: bool = True) -> None:
        self._db, self._clock, self._emit, self._extension = db, clock, emit, extension
        self._choice, self.description = choice, choice.why
        self._ready = Space(db, choice.ready, extension=extension)
        self._better: Space | None = None
        self._rest_until: datetime | None = None
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self.loader: threading.Thread | None = None

    def close(self) -> None:
        """Wait for the embedder that is being loaded. May be called twice."""
        self._closing.set()
        if self.loader is not None:
            self.loader.join(PATIENCE_S)

    def nearest(self, texts: Mapping[MemoryKind, str], limit: int) -> list[Near]:
        """The nearest memories of each kind to its text, by the best embedder that answers."""
        self._load_better()

        def look(space: Space) -> list[Near]:
            space.catch_up(CATCH_UP)
            return space.nearest(texts, limit)

        found = self._by_better(look)
        return look(self._ready) if found is None else found

    def catch_up(self) -> None:
        """Embed memories that are new."""
        self._ready.catch_up(CATCH_UP)
        self._by_better(lambda space: space.catch_up(CATCH_UP))

    def forgetters(self) -> list[Forget]:
        """What takes vectors out within a job of the writer, one for each space."""
        return [space.forgetter() for space in (self._ready, self._better) if space is not None]

    def _by_better(self, job: Callable[[Space], R]) -> R | None:
        """Do it with the better embedder; None where there is none, or it rests, or fails."""
        space = self._better
        if space is None or self._resting():
            return None
        try:
            done = job(space)
        except EmbedderMissing as error:
            self._missed(error)
            return None
        self._found(space.embedder.name)
        return done

    def _resting(self) -> bool:
        return self._rest_until is not None and self._clock() < self._rest_until

    def _missed(self, error: EmbedderMissing | StoreError) -> None:
        self._rest_until = self._clock() + timedelta(seconds=REST_S)
        if self._now(f"hashed n-grams; {error}"):
            self._emit(Event(kind=Kind.EMBEDDER_MISSING, level=Level.WARNING, message=str(error)))

    def _found(self, name: str) -> None:
        self._rest_until = None
        if self._now(name):
            self._emit(Event(kind=Kind.EMBEDDER_READY, message=f"memories are found by {name} now"))

    def _now(self, description: str) -> bool:
        """Change what the owner is told; False if it was that already."""
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
        """Load the better embedder, let it read all memories, and put it in charge."""
        try:
            better.load()
            space = Space(self._db, better, extension=self._extension)
            while not self._closing.is_set() and space.catch_up(CATCH_UP):
                pass
        except (EmbedderMissing, StoreError) as error:
            self._missed(error)
            return
        if not self._closing.is_set():
            self._better = space
            self._found(better.name)
