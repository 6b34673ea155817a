"""Meaning and words together: a model's vector of what went wrong, beside the hashed vector of the whole text.

A model knows that two sentences say the same; of errors, whose words are the same everywhere and whose names are the
owner's, it makes too much of the names. So it is shown only the lines that name an error, and the hashed vector of all
lines stands beside its own: the cosine of such vectors is the mean of the two (`bench/recall.py` measures what that is
worth). A text that names no error, as a task's description, is the model's alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from memory.embedders.base import Loadable
from memory.embedders.hashed import HashedEmbedder
from memory.placeholders import PLACEHOLDER
from memory.signature import ASSERTION, ERROR_NAME, is_frame

if TYPE_CHECKING:
    from memory.embedders.base import Vectors

WORDS = 0.5
"""How much the hashed vector counts where an error is named."""
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")


class BlendedEmbedder:
    """A loadable embedder with hashing beside it.

    Args:
        model: knows what words mean.
    """

    def __init__(self, model: Loadable) -> None:
        self._model, self._hashed = model, HashedEmbedder()

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
        """The model's: hashed vectors of texts without anything in common are less alike than any model's."""
        return self._model.floor

    def load(self) -> None:
        """See `Loadable.load`."""
        self._model.load()

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row for each text, float32, shape (len(texts), dims)."""
        import numpy as np  # noqa: PLC0415  not needed by a daemon that remembers nothing yet

        share = np.array([WORDS if _is_error(text) else 0.0 for text in texts], dtype=np.float32)
        meaning, words = self._model.embed([said(text) for text in texts]), self._hashed.embed(texts)
        share = share.reshape(len(texts), 1)
        both: Vectors = np.concatenate([np.sqrt(1 - share) * meaning, np.sqrt(share) * words], axis=1)
        # A text without a word has no hashed vector, and would be shorter than others.
        lengths = np.linalg.norm(both, axis=1, keepdims=True)
        scaled: Vectors = (both / np.where(lengths > 0, lengths, 1)).astype(np.float32)
        return scaled


def _is_error(text: str) -> bool:
    return ERROR_NAME.search(text) is not None or ASSERTION.search(text) is not None


def said(text: str) -> str:
    """What an error says, without placeholders: the lines that name it, or all but names of functions.

    A text that is no error stays as it is.
    """
    if not _is_error(text):
        return text
    lines = text.split("\n")
    named = [line for line in lines if ERROR_NAME.search(line)]
    kept = named or [line for line in lines if not is_frame(line)]
    return " ".join(_CAMEL.sub(" ", PLACEHOLDER.sub(" ", ". ".join(kept or lines))).split())
