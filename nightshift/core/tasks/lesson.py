"""A lesson: what memory recalls for an attempt."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """Something learned earlier: what failed, and what mended it."""

    id: int
    text: str
    score: float
    age_s: float = 0.0
    source: str = "failure"
