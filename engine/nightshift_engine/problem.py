"""The engine's question and answer: a problem with its time, the progress of the search, and its finding."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from nightshift.core.code.tree import Tree
from nightshift.core.tasks.task import Change, Files, digest
from nightshift.core.text.encoding import encode
from nightshift_engine.evaluation import EvaluationJob

REFUSALS = 3
"""After so many refusals a search sees the whole tests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A tree whose tests fail.

    Attributes:
        job: the tree, the change so far on top of it, and the tests.
        task_id: by which earlier searches are found again; None outside a task.
        whole_tests: the tests with what is held out of them, for the case that what is shown does not suffice; empty
            where nothing is held out.
        description: the owner's words: data, good for names and constants at most.
        excluded: digests (`nightshift.core.tasks.task.digest`) of whole changes that a suite has refused; see
            `refuses`.
        budget_s: how long the search may take, in seconds.
    """

    job: EvaluationJob
    whole_tests: Files = field(default_factory=dict)
    task_id: int | None = None
    description: str = ""
    excluded: frozenset[str] = frozenset()
    budget_s: float = 60.0

    @property
    def sees_all(self) -> bool:
        """Whether so many changes that pass the shown tests were refused that the whole tests are to be used."""
        return bool(self.whole_tests) and len(self.excluded) >= REFUSALS

    def refuses(self, change: Change) -> bool:
        """Whether a suite has refused the tree that this change, on top of the job's, would give."""
        if not self.excluded:
            return False
        full_change = {**self.job.change, **change}
        return digest(settle(self.job.base, full_change)) in self.excluded


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a search is: candidates `tried` of `estimated`; the `best` so far passes so many failing tests.

    `text` says it in one line, for the log.
    """

    tried: int = 0
    estimated: int = 0
    best: int = 0
    text: str = ""


OnProgress = Callable[[Progress], None]
"""Takes progress; quick, and never raises."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The result of a search.

    Attributes:
        change: files on top of the job's change, each with its complete new text; None when nothing was found.
        plan: in words and some lines: which places are suspected and why, and what will be or was tried.
        description: what the change does, in one sentence; empty without one.
        reflection: what was excluded and why, for a search that follows a refusal or found nothing.
        tried: how many candidates ran.
        estimated: how many there were to try.
        seconds: how long it took.
        kind: how it was found: the kind of edit, `quick`, `synthesis`.
        warning: why the change may fit these tests alone; empty where there is no reason to think so.
        why_not: why nothing was found, in a sentence; empty with a change.
        saw_held_out: whether it used the whole tests, so that none of them is independent evidence for the change.
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
    """The change without what leaves the base as it is, as the agent settles the changes that it digests."""
    entries = base.entries()
    return {path: text for path, text in change.items() if not _same(base, path, text, is_present=path in entries)}


def _same(base: Tree, path: str, text: str | None, *, is_present: bool) -> bool:
    if text is None or not is_present:
        return text is None and not is_present
    return base.read(path) == encode(text)
