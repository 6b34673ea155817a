"""Findings: what a check observed about a change or a run of its tests, and against what that was held."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class FindingKind(StrEnum):
    """Kinds of findings; `verdict.judge` says what follows from each."""

    GONE = "gone"
    """A test that passed on the base is skipped or missing now."""
    LOST = "lost"
    """A test passes without reaching a check that it reached on the base."""
    GIVEN_IDLE = "given_idle"
    """A test of the task did not run."""
    IDLE = "idle"
    """A new test passes although no check of it ran."""
    UNREACHED = "unreached"
    """A line with a check of a new test never ran."""
    NOT_HERE = "not_here"
    """A test cannot run on this machine, with the change or without it."""
    ASSET = "asset"
    """The change touches a file that decides what tests check."""
    TOOK_MORE = "took_more"
    """A removal takes what the task does not name."""
    COPY = "copy"
    """A test passes although what it expects was changed."""
    VALUE = "value"
    """A call gives another value outside of the tests."""
    OBJECT = "object"
    """A call gives an object where the tests expect a plain value."""
    HELD = "held"
    """A case that no prompt shows gives a wrong value."""
    SEAL = "seal"
    """A function outside of the tree is another one when the tests are over."""
    FORGED = "forged"
    """The channel of the run holds what no recorder writes."""
    GREEN_BEFORE = "green_before"
    """No test of the agent's fails without the change."""
    HOLLOW = "hollow"
    """The agent's tests say nothing of what was asked for."""
    MUTANTS = "mutants"
    """The tests notice few of the faults that were put into the change."""


class Control(StrEnum):
    """Control of a finding: the base, where it was not seen, or a value that was compared outside."""

    BASE = "base"
    VALUE = "value"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One observation.

    Attributes:
        kind: what was observed.
        where: the test, file or function.
        says: the observation in a sentence, for the owner, and for the model where it may know it.
        control: what stayed silent about it.
        subject: what a yes of the owner's allows, where it is a question.
    """

    kind: FindingKind
    where: str
    says: str
    control: Control = Control.NONE
    subject: str = ""
