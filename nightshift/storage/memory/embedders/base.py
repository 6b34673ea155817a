"""The protocol of embedders: a named vector space, unit vectors, and a floor for the similarity of related texts."""

from __future__ import annotations

import math
import statistics
import threading
from array import array
from collections import OrderedDict
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Protocol

from nightshift.core.errors import NightshiftError

if TYPE_CHECKING:
    Vector = array[float]
    """Numbers of 32 bits (type code `f`), of length 1 in sum; all are zero if the text has no features.

    These are arrays of the standard library, because numpy would take 19 MB of the daemon's memory.
    """
    Vectors = list[Vector]


MAX_CHARS = 4000
"""Number of characters of a text that are embedded. It suffices, because the important parts of signatures and
descriptions come early.
"""


class EmbedderMissing(NightshiftError):
    """An embedder cannot be used on this machine, or not now. The message gives the reason and a remedy."""


class Embedder(Protocol):
    """Computes unit vectors of texts. Thread-safe; may block, so it is never called on an event loop."""

    @property
    def name(self) -> str:
        """Name of the vector space. Only vectors under the same name are comparable."""
        ...

    @property
    def dims(self) -> int:
        """Number of elements of a vector."""
        ...

    @property
    def floor(self) -> float:
        """Cosine similarity below which two texts are unrelated."""
        ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed texts. Returns a vector of `dims` numbers for each text.

        Raises:
            EmbedderMissing: the embedder cannot be used now.
        """
        ...


class Loadable(Embedder, Protocol):
    """An embedder that must be loaded or contacted before use. Only after that are its name and floor valid."""

    def load(self) -> None:
        """Prepare the embedder, which may take seconds. May be called again after a failure.

        Raises:
            EmbedderMissing: the embedder cannot be used on this machine, or not now.
        """
        ...

    def close(self) -> None:
        """Release the embedder's resources. May be called twice. The embedder may be used again afterwards."""
        ...


REMEMBERED = 256
"""Number of recent texts whose vectors are cached. Caching helps, because a task's query is embedded again when the
task ends, and errors recur.
"""


class Recent:
    """Cache of the vectors of recent texts, so that a text is not embedded again soon. Thread-safe.

    Args:
        embed: computes the vectors. Its argument is never empty and has no duplicates.
    """

    def __init__(self, embed: Callable[[Sequence[str]], Vectors]) -> None:
        self._make, self._lock = embed, threading.Lock()
        self._rows = OrderedDict[str, "Vector"]()

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed texts. Returns a vector for each text."""
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
        return [rows[text] for text in texts]


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
    """Return the cosine similarity that unrelated texts hardly ever reach.

    The similarity of unrelated texts depends on the model: about 0.1 for one model, 0.7 for another. So it is measured
    on unrelated texts, as their mean similarity plus three standard deviations.
    """
    alike = [multiply(first, second) for first, second in combinations(embed(STRANGERS), 2)]
    return min(max(statistics.fmean(alike) + DEVIATIONS * statistics.pstdev(alike), LOWEST), HIGHEST)


def scale(numbers: Sequence[float]) -> Vector:
    """Return the vector of length 1 in the direction of `numbers`; zeros stay zeros."""
    length = math.hypot(*numbers)
    return array("f", [number / length for number in numbers] if length else numbers)


def multiply(first: Vector, second: Vector) -> float:
    """Return the dot product in 64 bits: the cosine similarity of two unit vectors, the same on every machine."""
    return sum((left * right for left, right in zip(first, second, strict=True)), 0.0)
