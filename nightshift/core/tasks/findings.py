"""Findings: observations of checks about a change or a run of its tests, each with the control it was compared with."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class FindingKind(StrEnum):
    """Kinds of findings; `verdict.judge` decides the consequence of each kind."""

    GONE = "gone"
    """A test that passed on the base is now skipped or missing."""
    LOST = "lost"
    """A test passes without reaching a check that it reached on the base."""
    GIVEN_IDLE = "given_idle"
    """A test that was supplied with the task did not run."""
    IDLE = "idle"
    """A new test passes although none of its checks was executed."""
    UNREACHED = "unreached"
    """A line with a check in a new test was never executed."""
    NOT_HERE = "not_here"
    """A test cannot run on this machine, with or without the change."""
    ASSET = "asset"
    """The change modifies a file that determines what tests check."""
    TOOK_MORE = "took_more"
    """A change that should remove code deletes something that the task does not name."""
    COPY = "copy"
    """A test still passes after its expected value was changed."""
    VALUE = "value"
    """A call returns a different value when it is made outside the tests."""
    OBJECT = "object"
    """A call returns an object where the tests expect a plain value."""
    HELD = "held"
    """A held-out case gives a wrong value."""
    SEAL = "seal"
    """A function outside the tree was replaced during the tests."""
    FORGED = "forged"
    """The run's result channel contains data that no recorder of ours writes."""
    GREEN_BEFORE = "green_before"
    """None of the agent's tests fails without the change."""
    HOLLOW = "hollow"
    """The agent's tests do not test what the task asked for."""
    MUTANTS = "mutants"
    """The tests detect few of the faults that were inserted into the change."""


class Control(StrEnum):
    """The control of an observation: the run or the value that the observation was compared with.

    BASE is the run of the base, where the observation was not made. VALUE is a value that was compared outside the
    sandbox.
    """

    BASE = "base"
    VALUE = "value"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One observation.

    Attributes:
        kind: The kind of observation.
        where: The test, file or function.
        says: A sentence that describes the observation to the owner, and to the model if the model may know about it.
        control: What the observation was compared with, and where it did not occur.
        subject: What the owner's yes allows, if the finding is a question.
    """

    kind: FindingKind
    where: str
    says: str
    control: Control = Control.NONE
    subject: str = ""
