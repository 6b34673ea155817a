"""What every embedder is: a name for its vector space, a length, a floor, and vectors of length 1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from core.errors import NightshiftError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

MAX_CHARS = 4000
"""What of a text is embedded; signatures and descriptions say what matters early."""


class EmbedderMissing(NightshiftError):
    """An embedder cannot be used here, or not now; the message says why, and what to do."""


class Embedder(Protocol):
    """Makes vectors of length 1. Thread-safe; may block, so it is never called on an event loop."""

    @property
    def name(self) -> str:
        """Names the vector space: vectors are comparable only under one name."""
        ...

    @property
    def dims(self) -> int:
        """How many numbers a vector has."""
        ...

    @property
    def floor(self) -> float:
        """The cosine similarity below which two texts have nothing to do with each other."""
        ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row for each text, float32, shape (len(texts), dims).

        Raises:
            EmbedderMissing: it cannot be used now.
        """
        ...


class Loadable(Embedder, Protocol):
    """An embedder that has to be loaded, or found to answer, before it is used; its name and floor hold from then."""

    def load(self) -> None:
        """Get ready; may take seconds. May be called again after it failed.

        Raises:
            EmbedderMissing: it cannot be used here, or not now.
        """
        ...
