"""The lesson that the memory recalls for an attempt."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """Something learned earlier: a failure and its fix."""

    id: int
    text: str
    score: float
    age_s: float = 0.0
    source: str = "failure"
