"""Vectors by feature hashing: words and pieces of words, no model, the same on every machine."""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from memory.embedders.base import MAX_CHARS

if TYPE_CHECKING:
    from memory.embedders.base import Vectors

_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")


class HashedEmbedder:
    """Signed feature hashing of words, pairs of words and character 3- to 5-grams.

    Weinberger et al., "Feature Hashing for Large Scale Multitask Learning" (2009): each feature adds +1 or -1, by one
    bit of its hash, to the place that the other bits name, so collisions cancel out on average. Counts are damped by
    their square root. It finds shared words and identifiers, not shared meaning.
    """

    dims = 384
    name = "hashed-384-v1"
    floor = 0.30

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row for each text, float32, shape (len(texts), 384)."""
        import numpy as np  # noqa: PLC0415  not needed by a daemon that remembers nothing yet

        rows = np.zeros((len(texts), self.dims), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            counts: dict[bytes, float] = {}
            for feature, weight in _features(text[:MAX_CHARS]):
                counts[feature] = counts.get(feature, 0.0) + weight
            for feature, count in counts.items():
                place = zlib.crc32(feature)
                row[place % self.dims] += math.sqrt(count) * (1 if place >> 31 else -1)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        rows /= np.where(lengths > 0, lengths, 1)
        return rows


def _features(text: str) -> list[tuple[bytes, float]]:
    words = re.findall(r"[^\W\d_]+|\d+", _CAMEL.sub(" ", text).lower())
    found = [(f"w {word}".encode(), 1.0) for word in words]
    found += [(f"b {left} {right}".encode(), 0.7) for left, right in pairwise(words)]
    for word in words:
        edged = f"<{word}>"
        found += [(edged[at : at + n].encode(), 0.15) for n in (3, 4, 5) for at in range(len(edged) - n + 1)]
    return found
