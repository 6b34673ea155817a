"""A task made precise: what a reader of vague words takes them to mean, and what he would rather ask."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What only the owner knows. `default` is assumed where he does not say; `answer` is his word or that default."""

    text: str
    default: str
    answer: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Brief:
    """A reading of a task's words. The words themselves stand above it."""

    goal: str
    inputs: str = ""
    outputs: str = ""
    constraints: tuple[str, ...] = ()
    acceptance: tuple[str, ...] = ()
    questions: tuple[Question, ...] = ()
