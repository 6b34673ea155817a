"""The class of a model by its size, and the forms of prompt and reply that follow from it.

A form applies to a class only if it was measured for that class (`docs/internals/prompts.md`). A class without
measurements gets the usual forms.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Self


class ModelClass(StrEnum):
    """The class of a model by its size: up to about 4, 14 and 40 billion parameters, or more."""

    SMALL = "small"
    MEDIUM = "medium"
    LARGE = "large"
    LARGEST = "largest"

    @classmethod
    def of(cls, billions: float) -> Self:
        """Return the class of a model by its parameters, in billions; all experts of a mixture count."""
        return next((cls(size) for most, size in _LIMITS if billions <= most), cls(ModelClass.LARGEST))


_LIMITS = ((4.5, ModelClass.SMALL), (14.9, ModelClass.MEDIUM), (40.0, ModelClass.LARGE))
"""Billions of parameters. Names are rounded: a "4B" has up to 4.4, a "14B" 14.8."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelProfile:
    """The class of a model (None: unknown), and whether it failed with the usual forms today."""

    size: ModelClass | None = None
    fails_usual_forms: bool = False

    @property
    def is_plain(self) -> bool:
        """True if the model is asked in plain words for one thing at a time: no plan, no JSON, no one-line answers."""
        return self.size is ModelClass.SMALL or self.fails_usual_forms

    @property
    def why_plain(self) -> str:
        """The reason why the model is asked in plain words, for the owner; empty if it is not."""
        if self.fails_usual_forms:
            return "asked in plain words until midnight UTC: it repeatedly sent no usable reply"
        return "asked in plain words: it has 4 billion parameters or fewer" if self.is_plain else ""
