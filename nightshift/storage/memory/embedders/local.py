"""Local embedding by hashed n-grams, which needs no other software, alone or combined with a model of word meanings."""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from nightshift.storage.memory.embedders.base import MAX_CHARS, Loadable, Recent, scale
from nightshift.storage.memory.signature import DIFFERS, ERROR_NAME, PLACEHOLDER, is_error, is_frame

if TYPE_CHECKING:
    from nightshift.storage.memory.embedders.base import Vector, Vectors


_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_ENDING = re.compile(r"(?<=[a-z]{3})(?:ing|ed|es|e|s)$")
_WORD = re.compile(r"[^\W\d_]+|\d+")


def _stem(word: str) -> str:
    return _ENDING.sub("", word)


# Words that say little, because they occur in every sentence or in every error.
_COMMON = frozenset(
    _stem(word)
    for word in """
    a an and are as at be by for from has have in into is it of on or that the this to was were with error assert
    assertion exception
    """.split()  # noqa: SIM905  words are read more easily than quotes
)
WORD, COMMON, PAIR, PIECE, KIND, RELATION = 1.0, 0.2, 1.0, 0.05, 0.5, 4.0
"""Weights of features. `RELATION` is the weight of the line that describes how the two sides of a comparison differ."""
FRAME, ASIDE = 0.1, 0.3
"""Weights of lines: `FRAME` for a line that contains only the name of a function; `ASIDE` for a line that does not name
the error, if another line names it.
"""


class HashedEmbedder:
    """Signed feature hashing of words, pairs of words, character 3- to 5-grams and kinds of errors.

    Weinberger et al., "Feature Hashing for Large Scale Multitask Learning" (2009): one bit of a feature's hash decides
    whether the feature adds +1 or -1, and the other bits decide the position, so collisions cancel out on average.
    Counts are reduced to their square roots. Words are reduced to their stems. The embedder recognises shared words and
    identifiers, but not shared meaning. The weights of the features were chosen with 103 pairs of errors, where both
    errors of a pair have the same cause (`../README.md`).
    """

    dims = 384
    name = "hashed-384-v3"
    floor = 0.30

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed texts. Returns a vector of 384 numbers for each text."""
        return [self._embed(text[:MAX_CHARS]) for text in texts]

    def _embed(self, text: str) -> Vector:
        counts, named = dict[bytes, float](), ERROR_NAME.search(text) is not None
        for line in text.split("\n"):
            share = _share(line, named)
            for feature, weight in _features(line):
                counts[feature] = counts.get(feature, 0.0) + share * weight
        row = [0.0] * self.dims
        for feature, count in counts.items():
            digest = zlib.crc32(feature)
            row[digest % self.dims] += math.sqrt(count) * (1 if digest >> 31 else -1)
        return scale(row)


def _share(line: str, named: bool) -> float:
    if is_frame(line):
        return FRAME
    return ASIDE if named and not ERROR_NAME.search(line) else 1.0


def _features(text: str) -> list[tuple[bytes, float]]:
    if text.startswith(DIFFERS):
        return [(text.encode(), RELATION)]
    features = [(f"k {kind.lower()}".encode(), KIND) for kind in ERROR_NAME.findall(text)]
    lowered = _CAMEL.sub(" ", PLACEHOLDER.sub(" ", text)).lower()
    words = [_stem(word) for word in _WORD.findall(lowered)]
    features += [(f"w {word}".encode(), _weight(word)) for word in words]
    features += [
        (f"b {left} {right}".encode(), PAIR * min(_weight(left), _weight(right))) for left, right in pairwise(words)
    ]
    for word in words:
        edged = f"<{word}>"
        features += [(edged[at : at + n].encode(), PIECE) for n in (3, 4, 5) for at in range(len(edged) - n + 1)]
    return features


def _weight(word: str) -> float:
    return COMMON if word in _COMMON else WORD


WORDS = 0.5
"""Weight of the hashed vector in the combined vector if the text names an error. All weights add up to 1."""


class BlendedEmbedder:
    """A loadable embedder combined with hashing: one for meaning, the other for words.

    A model recognises that two sentences have the same meaning. But error texts consist of a few words that occur in
    all errors, and of the repository's own names, to which a model gives too much weight. So the model gets only the
    lines that name an error, and the hashed vector of all lines is appended to the model's vector. The cosine of such
    vectors is the mean of both cosines (`../README.md` has the measured gain). A text that names no error, such as a
    task's description, is embedded by the model alone.

    Args:
        model: the model of word meanings.
    """

    def __init__(self, model: Loadable) -> None:
        self._model, self._hashed = model, HashedEmbedder()
        self._meaning = Recent(model.embed)

    @property
    def name(self) -> str:
        """See `Embedder.name`."""
        return f"{self._model.name}+{self._hashed.name}"

    @property
    def dims(self) -> int:
        """See `Embedder.dims`."""
        return self._model.dims + self._hashed.dims

    @property
    def floor(self) -> float:
        """The model's floor, because hashed vectors of unrelated texts are less similar than those of any model."""
        return self._model.floor

    def load(self) -> None:
        """See `Loadable.load`."""
        self._model.load()

    def close(self) -> None:
        """See `Loadable.close`."""
        self._model.close()

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed texts. Returns a vector of `dims` numbers for each text."""
        meanings = self._meaning.embed([error_text(text) for text in texts])
        return [self._blend(text, meaning) for text, meaning in zip(texts, meanings, strict=True)]

    def _blend(self, text: str, meaning: Vector) -> Vector:
        share = WORDS if is_error(text) else 0.0
        parts = ((1 - share, meaning), (share, self._hashed.embed([text if share else ""])[0]))
        # A text without words has no hashed vector, so its combined vector would be shorter than others.
        return scale([math.sqrt(weight) * number for weight, vector in parts for number in vector])


def error_text(text: str) -> str:
    """Reduce an error to the lines that name it, and remove placeholders.

    If no line names the error, only the lines with names of functions are removed. A text that is not an error is
    returned unchanged.
    """
    if not is_error(text):
        return text
    lines = text.split("\n")
    named = [line for line in lines if ERROR_NAME.search(line)]
    relevant = named or [line for line in lines if not is_frame(line)]
    return " ".join(_CAMEL.sub(" ", PLACEHOLDER.sub(" ", ". ".join(relevant or lines))).split())
