"""Estimates the size of texts in a model's tokens; the numbers that the backend reports correct the estimate."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from nightshift.core.model_profile import ModelProfile

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
