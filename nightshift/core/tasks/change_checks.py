"""Change checks, which come between a change and its execution; their findings, and their questions to the owner."""

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
"""Begins a note of the evidence that no run of tests makes, and so none makes again."""
_PINNED = re.compile(r"[\w.-]+(?:\[[\w,.-]+\])?(?:==\S+)?")


class Severity(StrEnum):
    """Effect of a finding: BLOCK sends the change back, ASK lets the owner decide, NOTE is reported and kept."""

    BLOCK = "block"
    ASK = "ask"
    NOTE = "note"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something in a change that should not simply run. `rule` is its stable name, `line` counts from 1, 0 is none.

    `argv` is the command that the change would run, where the finding is about one.
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
    """Return the subject of a question about a distribution: its name in the normal form of PEP 503."""
    return f"{AskKind.PACKAGE}:{re.sub(r'[-_.]+', '-', name).lower()}"


def setup_subject(digest: str) -> str:
    """Return the subject of a question about a setup script: the digest of its content."""
    return f"{AskKind.SETUP}:{digest}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """A decision that a task needs from its owner. `subject` names what a yes allows, such as `package:requests`.

    `default` is what is assumed where a question is not answered in time; empty waits as long as it takes.
    """

    kind: AskKind
    subject: str
    question: str
    default: str = ""


class Answerer(StrEnum):
    """Author of an answer: the owner, or nobody in time, so that the default holds."""

    OWNER = "owner"
    ASSUMED = "assumed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """A stored ask with the owner's answer: `granted` is None until there is one; a question's answer is `answer`.

    `answered_by` says whose it is; None while there is none, and where that was not noted. `wanted` is the task's
    description.
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
    """Return the decisions in all of a repository that hold in one project: subject to whether it was granted.

    A yes holds everywhere, a no in its own project alone, and there before the yes of another one.
    """
    allowed = {subject: True for decisions in decided.values() for subject, granted in decisions.items() if granted}
    return {**allowed, **decided.get(project, {})}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeCheckJob:
    """A change that is about to run. `granted` and `denied` are the subjects that the owner has decided on.

    `task_id` is for the events of a check; None where no queue knows the task. `wanted` are distributions that a plan
    names before there is a change. `environment` is the digest of what the base declares (`core.code.environments`).
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
    """A change, by the digest of all its files, that no check holds up, and what they noted of it."""

    digest: str
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """A dependency file before and after the checks named packages in it; `before` is None where it was not there."""

    before: str | None
    after: str

    def undo(self, text: str) -> str | None:
        """A later text of the file without what the checks wrote; None where the file is theirs alone.

        Where somebody else wrote in it since, only lines of a requirements.txt are known again.
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
    """Findings of a check. `packages` are distributions that may be shown to the run, name to exact version.

    `declares` are dependency files, path to text, in which those that the change needs are named; the change gets them.
    `lessons` are what was learned from the like of it, for the phases that follow.
    """

    findings: tuple[Finding, ...] = ()
    asks: tuple[Ask, ...] = ()
    packages: Mapping[str, str] = field(default_factory=dict)
    declares: Files = field(default_factory=dict)
    lessons: tuple[Lesson, ...] = ()
