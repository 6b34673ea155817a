"""A more precise version of a vague task: an interpretation of its description, and questions about it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

REFUSAL = "refusal:"
"""Subject prefix of a question whether to attempt a task that the model calls impossible."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Question that only the owner can answer. `answer` is the owner's answer, or else the assumed `default`.

    `is_refusal` is True if the question says that the task cannot be done as described; a denial then ends the task.
    """

    text: str
    default: str
    answer: str = ""
    is_refusal: bool = False

    @property
    def subject(self) -> str:
        """Name of the question, which stays the same when the attempt begins again."""
        kind = REFUSAL if self.is_refusal else "question:"
        return f"{kind}{hashlib.sha256(self.text.encode()).hexdigest()[:12]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Brief:
    """An interpretation of a task's description; prompts and pages show it above the description."""

    goal: str
    inputs: str = ""
    outputs: str = ""
    constraints: tuple[str, ...] = ()
    acceptance: tuple[str, ...] = ()
    questions: tuple[Question, ...] = ()
