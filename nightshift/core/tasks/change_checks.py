"""Checks of a change before it is executed: their findings, and their questions to the owner."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from nightshift.core.code.tree import Tree
from nightshift.core.tasks.lesson import Lesson
from nightshift.core.tasks.task import Change, Files, TaskSpec

LINTER_NOTE = "linter: "
"""Prefix of the evidence notes that come from a linter. A test run cannot reproduce these notes."""
_PINNED = re.compile(r"[\w.-]+(?:\[[\w,.-]+\])?(?:==\S+)?")


class Severity(StrEnum):
    """Effect of a finding: BLOCK sends the change back, ASK lets the owner decide, and NOTE is reported and stored."""

    BLOCK = "block"
    ASK = "ask"
    NOTE = "note"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something in a change that should not run without further thought.

    `rule` is the stable name of the rule. `line` counts from 1; 0 means that there is no line. `argv` is the command
    that the change would run, if the finding is about a command.
    """

    rule: str
    severity: Severity
    path: str
    line: int
    message: str
    argv: tuple[str, ...] = ()


class AskKind(StrEnum):
    """Kinds of questions to the owner."""

    QUESTION = "question"
    PACKAGE = "package"
    FINDING = "finding"
    BUDGET = "budget"
    ENVIRONMENT = "environment"
    SETUP = "setup"


def package_subject(name: str) -> str:
    """Return the subject of a question about a distribution: the name of the distribution, normalised as in PEP 503."""
    return f"{AskKind.PACKAGE}:{re.sub(r'[-_.]+', '-', name).lower()}"


def setup_subject(digest: str) -> str:
    """Return the subject of a question about a setup script: the digest of the script's content."""
    return f"{AskKind.SETUP}:{digest}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """A decision that a task needs from its owner. `subject` names what a yes allows, such as `package:requests`.

    `default` is the answer that is assumed if the owner does not answer in time. If it is empty, the task waits without
    a time limit.
    """

    kind: AskKind
    subject: str
    question: str
    default: str = ""


class Answerer(StrEnum):
    """The author of an answer: the owner, or nobody, if the default is assumed because no answer came in time."""

    OWNER = "owner"
    ASSUMED = "assumed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """A stored `Ask` with the owner's decision in `granted` (None until then), or in `answer` if it is a question.

    `answered_by` is who gave the answer; None while there is no answer, or if this was not recorded. `wanted` is the
    task's description.
    """

    id: int
    task_id: int
    attempt: int
    ask: Ask
    asked_at: datetime
    granted: bool | None = None
    answer: str = ""
    answered_at: datetime | None = None
    answered_by: Answerer | None = None
    wanted: str = ""


def holding(decided: Mapping[str | None, Mapping[str, bool]], project: str | None) -> dict[str, bool]:
    """Return the decisions that are valid in one project: each subject with True if granted, or False if denied.

    A grant is valid in the whole repository. A denial is valid only in its own project, where it overrides a grant of
    another project.
    """
    allowed = {subject: True for decisions in decided.values() for subject, granted in decisions.items() if granted}
    return {**allowed, **decided.get(project, {})}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeCheckJob:
    """A change that is about to run. `granted` and `denied` are the subjects that the owner has decided on.

    `task_id` is used in the events of a check; None if the task is in no queue. `wanted` are distributions that a plan
    names before there is a change. `environment` is the digest of the environment that the base declares
    (`core.code.environments`).
    """

    spec: TaskSpec
    tree: Tree
    change: Change
    own: Files = field(default_factory=dict)
    granted: frozenset[str] = frozenset()
    denied: frozenset[str] = frozenset()
    task_id: int | None = None
    attempt: int = 1
    wanted: tuple[str, ...] = ()
    environment: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedChange:
    """A change that no check objects to, identified by the digest of all its files, with the notes of the checks."""

    digest: str
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """The texts of a dependency file before and after the checks added packages; `before` is None for a new file."""

    before: str | None
    after: str

    def undo(self, text: str) -> str | None:
        """Remove the checks' additions from a later version of the file; return None if the checks created the file.

        If the file has been changed since the additions, they can only be removed from a requirements.txt.
        """
        if text == self.after:
            return self.before
        old = (self.before or "").splitlines()
        ours = {line for line in self.after.splitlines() if line not in old and _PINNED.fullmatch(line)}
        names = {line: name if (name := line.partition("==")[0]) in old else None for line in ours}
        lines = (names.get(line, line) for line in text.split("\n"))
        return "\n".join(line for line in lines if line is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeCheckReport:
    """Findings of a check. `packages` maps each distribution that is available to the run to its exact version.

    `declares` maps dependency files to new texts, which name the packages that the change needs; these files are added
    to the change. `lessons` are lessons from similar changes, for the phases that follow.
    """

    findings: tuple[Finding, ...] = ()
    asks: tuple[Ask, ...] = ()
    packages: Mapping[str, str] = field(default_factory=dict)
    declares: Files = field(default_factory=dict)
    lessons: tuple[Lesson, ...] = ()
