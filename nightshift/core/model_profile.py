"""Classifies models by size, and chooses the forms of prompts and replies for each class.

A form is used for a class only if it was measured for that class (`docs/internals/prompts.md`). A class without
measurements gets the default forms.
"""

from __future__ import annotations

from dataclasses import dataclass
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
