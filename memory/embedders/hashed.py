"""Vectors by feature hashing: words and pieces of words, no model, the same on every machine."""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from memory.embedders.base import MAX_CHARS
from memory.placeholders import PLACEHOLDER
from memory.relation import DIFFERS
from memory.signature import ERROR_NAME, is_frame

if TYPE_CHECKING:
    from memory.embedders.base import Vectors

_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_ENDING = re.compile(r"(?<=[a-z]{3})(?:ing|ed|es|e|s)$")
_WORD = re.compile(r"[^\W\d_]+|\d+")


def _stem(word: str) -> str:
    return _ENDING.sub("", word)


# Words of every sentence, and of every error.
_COMMON = frozenset(
    _stem(word)
    for word in """
    a an and are as at be by for from has have in into is it of on or that the this to was were with error assert
    assertion exception
    """.split()  # noqa: SIM905  words are read more easily than quotes
)
WORD, COMMON, PAIR, PIECE, KIND, RELATION = 1.0, 0.2, 1.0, 0.05, 0.5, 4.0
"""How much features count; `RELATION` is the one line that says how the sides of a comparison differ."""
FRAME, ASIDE = 0.1, 0.3
"""How much a line counts that only names a function, and one beside the line that names the error."""


class HashedEmbedder:
    """Signed feature hashing of words, pairs of words, character 3- to 5-grams and kinds of errors.

    Weinberger et al., "Feature Hashing for Large Scale Multitask Learning" (2009): each feature adds +1 or -1, by one
    bit of its hash, to the place that the other bits name, so collisions cancel out on average. Counts are damped by
    their square root. Words are cut to their stems. It finds shared words and identifiers, not shared meaning. How much
    each kind of feature counts was chosen by the practice pairs of `bench/recall.py`.
    """

    dims = 384
    name = "hashed-384-v3"
    floor = 0.30

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row for each text, float32, shape (len(texts), 384)."""
        import numpy as np  # noqa: PLC0415  not needed by a daemon that remembers nothing yet

        rows = np.zeros((len(texts), self.dims), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            counts, named = dict[bytes, float](), ERROR_NAME.search(text[:MAX_CHARS]) is not None
            for line in text[:MAX_CHARS].split("\n"):
                share = _share(line, named)
                for feature, weight in _features(line):
                    counts[feature] = counts.get(feature, 0.0) + share * weight
            for feature, count in counts.items():
                place = zlib.crc32(feature)
                row[place % self.dims] += math.sqrt(count) * (1 if place >> 31 else -1)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        rows /= np.where(lengths > 0, lengths, 1)
        return rows


def _share(line: str, named: bool) -> float:
    if is_frame(line):
        return FRAME
    return ASIDE if named and not ERROR_NAME.search(line) else 1.0


def _features(text: str) -> list[tuple[bytes, float]]:
    if text.startswith(DIFFERS):
        return [(text.encode(), RELATION)]
    found = [(f"k {kind.lower()}".encode(), KIND) for kind in ERROR_NAME.findall(text)]
    plain = _CAMEL.sub(" ", PLACEHOLDER.sub(" ", text)).lower()
    words = [_stem(word) for word in _WORD.findall(plain)]
    found += [(f"w {word}".encode(), _weight(word)) for word in words]
    found += [
        (f"b {left} {right}".encode(), PAIR * min(_weight(left), _weight(right))) for left, right in pairwise(words)
    ]
    for word in words:
        edged = f"<{word}>"
        found += [(edged[at : at + n].encode(), PIECE) for n in (3, 4, 5) for at in range(len(edged) - n + 1)]
    return found


def _weight(word: str) -> float:
    return COMMON if word in _COMMON else WORD
