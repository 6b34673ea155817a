"""The model that will be asked: its size class, and the size of texts in its tokens."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Self


class ModelClass(StrEnum):
    """The size class of a model: up to about 4, up to 14, or up to 40 billion parameters, or more."""

    SMALL = "small"
    MEDIUM = "medium"
    LARGE = "large"
    LARGEST = "largest"

    @classmethod
    def of(cls, billions: float) -> Self:
        """Return the class of a model from its billions of parameters; all experts of a mixture of experts count."""
        return next((cls(size) for most, size in _LIMITS if billions <= most), cls(ModelClass.LARGEST))


_LIMITS = ((4.5, ModelClass.SMALL), (14.9, ModelClass.MEDIUM), (40.0, ModelClass.LARGE))
"""Upper limits in billions of parameters. Names are rounded: a "4B" has up to 4.4 billion, a "14B" 14.8."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelProfile:
    """The size class of a model (None: unknown), and whether it failed to use the usual reply forms today."""

    size: ModelClass | None = None
    fails_usual_forms: bool = False

    @property
    def is_plain(self) -> bool:
        """True if the model is asked in plain words for one thing at a time.

        Such a model is not asked for a plan, for JSON or for one-line answers.
        """
        return self.size is ModelClass.SMALL or self.fails_usual_forms

    @property
    def why_plain(self) -> str:
        """The reason why the model is asked in plain words, for the owner; empty if it is asked in the default form."""
        if self.fails_usual_forms:
            return "asked in plain words until midnight UTC: it repeatedly sent no usable reply"
        return "asked in plain words: it has 4 billion parameters or fewer" if self.is_plain else ""


BYTES_PER_TOKEN = 3.5
"""UTF-8 bytes per token; close to the average of common tokenizers for code and English prose."""


def utf8_size(text: str) -> int:
    """Return the size of a text in UTF-8 bytes."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Gauge:
    """Properties of the model that will be asked: bytes per token, and its context in tokens (None if unknown).

    A model with `own_tools` explores files with its own tools.
    """

    bytes_per_token: float = BYTES_PER_TOKEN
    window: int | None = None
    own_tools: bool = False
    profile: ModelProfile = field(default_factory=ModelProfile)

    def tokens(self, text: str) -> int:
        """Estimate the tokens of a text; at least one for any text that is not empty."""
        return math.ceil(utf8_size(text) / self.bytes_per_token)
