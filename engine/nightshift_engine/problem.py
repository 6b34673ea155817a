"""The engine's question and answer: a problem with its time budget, the progress of the search, and the finding."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from nightshift.core.code.tree import Tree
from nightshift.core.tasks.task import Change, Files, digest
from nightshift.core.text.encoding import encode
from nightshift_engine.evaluation import EvaluationJob

REFUSALS = 3
"""Number of refusals after which a search sees the whole tests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A tree whose tests fail.

    Attributes:
        job: the tree, the change so far on top of it, and the tests.
        task_id: identifies the task, so that its earlier searches are found again; None outside a task.
        whole_tests: the tests with their held-out cases, for searches that the shown tests do not suffice for; empty if
            nothing is held out.
        description: the task's description by the owner. It is data, used for names and constants at most.
        excluded: digests (`nightshift.core.tasks.task.digest`) of whole changes that a suite has refused; see
            `refuses`.
        budget_s: time budget of the search in seconds.
    """

    job: EvaluationJob
    whole_tests: Files = field(default_factory=dict)
    task_id: int | None = None
    description: str = ""
    excluded: frozenset[str] = frozenset()
    budget_s: float = 60.0

    @property
    def sees_all(self) -> bool:
        """True if the search must use the whole tests, because many changes that pass the shown tests were refused."""
        return bool(self.whole_tests) and len(self.excluded) >= REFUSALS

    def refuses(self, change: Change) -> bool:
        """Check whether a suite has refused the tree that results from this change on top of the job's change."""
        if not self.excluded:
            return False
        full_change = {**self.job.change, **change}
        return digest(settle(self.job.base, full_change)) in self.excluded


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The progress of a search.

    `tried` and `estimated` count candidates. `best` is the largest number of tests that a candidate passed. `text` is
    the progress as one line for the log.
    """

    tried: int = 0
    estimated: int = 0
    best: int = 0
    text: str = ""


OnProgress = Callable[[Progress], None]
"""A callback for progress; it must be quick and must not raise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The result of a search.

    Attributes:
        change: path to complete new text, on top of the job's change; None if nothing was found.
        plan: a few lines: the suspected lines and why, and what will be or was tried.
        description: the effect of the change in one sentence; empty without a change.
        reflection: what was excluded and why, for a search that follows a refusal or found nothing.
        tried: number of candidates that ran.
        estimated: number of candidates that there were to try.
        seconds: duration of the search.
        kind: how the change was found: the kind of edit, `quick` or `synthesis`.
        warning: why the change may fit only these tests; empty if there is no reason to think so.
        why_not: why nothing was found, in a sentence; empty with a change.
        saw_held_out: True if the search used the whole tests, so that none of them is independent evidence for the
            change.
    """

    change: Change | None = None
    plan: str = ""
    description: str = ""
    reflection: str = ""
    tried: int = 0
    estimated: int = 0
    seconds: float = 0.0
    kind: str = ""
    warning: str = ""
    why_not: str = ""
    saw_held_out: bool = False


def settle(base: Tree, change: Change) -> Change:
    """Return the change without entries that leave the base as it is.

    The agent does the same before it digests a change.
    """
    entries = base.entries()
    return {path: text for path, text in change.items() if not _same(base, path, text, is_present=path in entries)}


def _same(base: Tree, path: str, text: str | None, *, is_present: bool) -> bool:
    if text is None or not is_present:
        return text is None and not is_present
    return base.read(path) == encode(text)
