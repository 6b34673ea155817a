"""A task made precise: what a reader of vague words takes them to mean, and what he would rather ask."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

REFUSAL = "refusal:"
"""Begins the subject of a question whether a task is to be done although its model says that it cannot be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Question that only the owner can answer. `default` is assumed without an answer; `answer` is his word or that.

    `is_refusal` tells that it says the task cannot be done as described: to deny it ends the task.
    """

    text: str
    default: str
    answer: str = ""
    is_refusal: bool = False

    @property
    def subject(self) -> str:
        """Name of the question for good, also when the attempt begins anew."""
        kind = REFUSAL if self.is_refusal else "question:"
        return f"{kind}{hashlib.sha256(self.text.encode()).hexdigest()[:12]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Brief:
    """A reading of a task's words. The words themselves stand above it."""

    goal: str
    inputs: str = ""
    outputs: str = ""
    constraints: tuple[str, ...] = ()
    acceptance: tuple[str, ...] = ()
    questions: tuple[Question, ...] = ()
