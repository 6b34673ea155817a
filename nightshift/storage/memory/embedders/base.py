"""Base of embedders: a name for the vector space, vectors of length 1, and a floor, known or measured here."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from nightshift.core.errors import NightshiftError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]


MAX_CHARS = 4000
"""Number of characters of a text that are embedded; signatures and descriptions say what matters early."""


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
        """Embed texts: a row for each, float32, shape (len(texts), dims).

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

    def close(self) -> None:
        """Give back what it holds. May be called twice; an embedder may be used again after it."""
        ...


REMEMBERED = 256
"""So many texts of late keep their vectors: what a task asks with is learned at its end, and errors come again."""


class Recent:
    """The vectors of late texts, so that no text is embedded twice in a row. Thread-safe.

    Args:
        embed: makes the vectors, shape (texts, dims); it is never called with no text or with one twice.
    """

    def __init__(self, embed: Callable[[Sequence[str]], Vectors]) -> None:
        self._make, self._lock = embed, threading.Lock()
        self._rows = OrderedDict[str, "Vectors"]()

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed texts: a row for each; at least one is given."""
        import numpy as np  # noqa: PLC0415  not needed by a daemon that remembers nothing yet

        with self._lock:
            rows = {text: self._rows[text] for text in texts if text in self._rows}
        new = [text for text in dict.fromkeys(texts) if text not in rows]
        rows |= zip(new, self._make(new), strict=True) if new else ()
        with self._lock:
            for text, row in rows.items():
                self._rows[text] = row
                self._rows.move_to_end(text)
            while len(self._rows) > REMEMBERED:
                self._rows.popitem(last=False)
        return np.stack([rows[text] for text in texts])


STRANGERS = (
    "KeyError: <value> in load_settings",
    "TypeError: unsupported operand types for +: int and str",
    "ConnectionRefusedError: nothing listens at <url>",
    "The picture is drawn upside down",
    "SyntaxError: unexpected end of file",
    "assert <n> == <n> in test_leap_years",
    "Write a function that sorts a list of words by their last letter",
    "RecursionError: maximum depth exceeded while walking the tree",
    "UnicodeDecodeError: invalid start byte at the head of the spreadsheet",
    "Add a health check to the web service",
    "the password was stored in the clear",
    "ZeroDivisionError in mean of an empty series",
    "ModuleNotFoundError: there is no such package",
    "PermissionError: the log may not be written",
    "Two threads wait for each other for ever",
    "Translate Roman numerals into decimals",
)
DEVIATIONS = 3.0
LOWEST, HIGHEST = 0.2, 0.95


def floor_of(embed: Callable[[Sequence[str]], Vectors]) -> float:
    """The cosine similarity that texts without anything in common hardly ever reach.

    Models differ in how alike they take two texts to be that share nothing: for one 0.1 is usual, for another 0.7. So
    it is measured on such texts: their mean similarity and three standard deviations.
    """
    import numpy as np  # noqa: PLC0415  not needed by a daemon that remembers nothing yet

    rows = embed(STRANGERS)
    alike = (rows @ rows.T)[np.triu_indices(len(STRANGERS), k=1)]
    return float(np.clip(alike.mean() + DEVIATIONS * alike.std(), LOWEST, HIGHEST))
