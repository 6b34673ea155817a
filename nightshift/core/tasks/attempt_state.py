"""The state of an attempt, its context, the reading of its task with open questions, and the result of a phase.

The state stores the best change that was judged. If the attempt ends without a commit, this change becomes its draft.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from nightshift.core.code.environments import Environment
from nightshift.core.code.tree import Tree, text_of
from nightshift.core.isolation import RUN_LIMITS, RunLimits
from nightshift.core.tasks.change_checks import Ask, AskKind, CheckedChange, Declared, holding
from nightshift.core.tasks.held_out import HeldOut
from nightshift.core.tasks.lesson import Lesson
from nightshift.core.tasks.projects import LAID_OUT, Scope
from nightshift.core.tasks.remarks import GRAVE, Reader, Reading, Remark, worst_first
from nightshift.core.tasks.states import Ending, Outcome, Phase
from nightshift.core.tasks.task import Change, Files, OwnerMessage, Spent, Subtask, Task, digest
from nightshift.core.tasks.verdicts import Result, Verdict
from nightshift.core.text.faults import name_first


@dataclass(frozen=True, slots=True, kw_only=True)
class BestChange:
    """A change with the verdict of its run. The fields are those of `core.tasks.attempt_state.AttemptState`."""

    base: str
    verdict: Verdict
    iteration: int
    change: Change
    own_tests: Files = field(default_factory=dict)
    test_changes: Change = field(default_factory=dict)
    removed_tests: tuple[str, ...] = ()
    merged_tests: Files = field(default_factory=dict)
    summary: str = ""
    feedback: str = ""

    @property
    def rank(self) -> tuple[bool, int, int]:
        """Sort key: passed changes first, then those with more passing tests, then those with fewer failing tests."""
        return self.verdict.passed, self.verdict.count(Result.PASSED), -len(self.verdict.failing)


def holds_work(change: Change, given: Files, tree: Tree, *, in_project: bool) -> bool:
    """Return True if a change contains more than the owner's files and the files that every new project begins with.

    Args:
        change: The change.
        given: The files that the owner supplied with the task.
        tree: The files of the change's base.
        in_project: Whether the paths belong to a project of the workspace.
    """
    return any(
        _differs(given, path, text) and not (in_project and path in LAID_OUT and text_of(tree, path) is None)
        for path, text in change.items()
    )


def _differs(given: Mapping[str, str], path: str, text: str | None) -> bool:
    return path not in given or given[path] != text


def tests_in_words(passed: int, total: int) -> str:
    """Describe how many tests of a draft pass, such as “3 of 5 tests pass”."""
    if not total:
        return "no test was run"
    return f"{passed} of {total} tests pass" if total > 1 else f"{passed} of 1 test passes"


def describe_tests(passed: int, total: int, failing: Sequence[str], reason: str) -> str:
    """Describe the test results of a draft: the counts, and the failing tests or the reason why it was not accepted."""
    why = f"failing: {name_first(failing)}" if failing else reason
    return "; ".join(filter(None, (tests_in_words(passed, total), why)))


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


SHORT_TERM = 5
"""Size of the short-term memory, in tries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reflection:
    """The cause of a failed try, and the next thing to do."""

    pattern: str = ""
    """The kind of failure, described in a few words."""
    root_cause: str = ""
    hypothesis: str = ""
    """The expected effect of the fix."""
    suggested_fix: str = ""
    replan: bool = False
    """True if the approach itself is wrong, so that a new plan is needed."""
    tests_at_fault: bool = False
    """True if the agent's own tests are wrong, not the code. Tests that the owner supplies are never at fault."""
    contradicting_tests: tuple[str, ...] = ()
    """Ids of failing tests of the repository that contradict the task; the owner decides about them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Try:
    """One iteration in the short-term memory."""

    iteration: int
    digest: str
    """Digest of the change and the agent's own tests; empty if the same change and tests may be tried again."""
    failing: tuple[str, ...]
    """Ids of the tests that failed; if no test failed, one line that describes the problem."""
    feedback: str
    reflection: Reflection = field(default_factory=Reflection)
    unconvincing: str = ""
    """Digest of the change, if the try failed only because the agent's own tests did not prove the change's effect."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HandOver:
    """Summary of the work so far, for a new conversation with the model."""

    through: int
    """The last iteration that the summary covers."""
    goal: str = ""
    """The goal; empty if the task's description is enough."""
    passing: tuple[str, ...] = ()
    """Ids of the first few tests that pass in the last verdict; `passing_count` is the number of all that pass."""
    passing_count: int = 0
    failing: tuple[str, ...] = ()
    """Ids of tests that fail in the last verdict."""
    files: tuple[str, ...] = ()
    """Paths that were changed so far."""
    tried: tuple[str, ...] = ()
    """One line for each try with its failure, oldest first."""
    forgotten: int = 0
    """Number of older tries that `tried` omits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptState:
    """The complete state of an attempt.

    It is stored after each step under these names, and a resumed attempt continues from it.
    """

    phase: Phase
    """The phase that runs next, or the one in which the attempt ended."""
    base: str
    """Full id of the commit that `change` is relative to."""
    attempt: int = 1
    step_no: int = 0
    """Number of finished steps."""
    iteration: int = 0
    """Number of tries; each try begins with a CODING step."""
    plan: str = ""
    change: Change = field(default_factory=dict)
    """The changed files relative to the base, without tests."""
    own_tests: Files = field(default_factory=dict)
    """The tests that the agent wrote."""
    test_changes: Change = field(default_factory=dict)
    """Changes to existing tests that were proposed together with the change.

    Allowed changes are also in `own_tests`. For a withdrawn change, `own_tests` has the text of the base.
    """
    removed_tests: tuple[str, ...] = ()
    """Existing test files that may be removed with the code that they test, sorted by path."""
    summary: str = ""
    """The model's one-line summary of its change."""
    feedback: str = ""
    """The fault of the last result, as input for the next phase; empty if there was no fault."""
    tries: tuple[Try, ...] = ()
    """The last `SHORT_TERM` tries, oldest first."""
    seen: tuple[str, ...] = ()
    """The digest of every try."""
    lessons: tuple[Lesson, ...] = ()
    """Lessons that the memory recalled."""
    verdict: Verdict | None = None
    """The verdict on this change; None if the change was written after the last verdict."""
    escalation: int = 0
    """Number of times that the attempt was stuck."""
    ending: Ending | None = None
    """The reason why the attempt was given up."""
    reason: str = ""
    models: tuple[str, ...] = ()
    """Models that answered, without duplicates."""
    spent: Spent = field(default_factory=Spent)
    held_in: Phase | None = None
    """The phase with which the attempt continues after the owner's decision. Set while the attempt waits for that
    decision.
    """
    asks: tuple[Ask, ...] = ()
    """The decisions that the attempt needs, while it waits for the owner."""
    packages: Mapping[str, str] = field(default_factory=dict)
    """Packages that are available to the run: maps names to exact versions."""
    environment: str = ""
    """Digest of the environment that the base declares for runs (`core.code.environments`)."""
    environment_from: tuple[str, ...] = ()
    """The files that declare the environment."""
    noted: tuple[str, ...] = ()
    """Findings that were already reported."""
    saw_held_out: bool = False
    """True if the author of the change had seen the held-out test cases."""
    brief: Brief | None = None
    """A more precise version of the task, if the description was vague."""
    questions: tuple[Question, ...] = ()
    """Questions to the owner that came up while the change was written."""
    checked: CheckedChange | None = None
    """The last change that the checks allowed to run."""
    declared: Mapping[str, Declared] = field(default_factory=dict)
    """Dependency files, by path, to which the checks added packages that this change needs."""
    readings: tuple[Reading, ...] = ()
    """Findings of reviewers and auditors in the last few changes that they read, oldest first."""
    remarks: tuple[Remark, ...] = ()
    """The remarks for which a review or an audit sent the last change back."""
    sent_back_by: tuple[Reader, ...] = ()
    """The readers (review or audit) that sent a change back, with one entry for each time."""
    parts: tuple[Subtask, ...] = ()
    """The subtasks into which the plan split the task, at most once per attempt. This name is stored, so it must stay.
    """
    project: str | None = None
    """The part of the workspace that all paths, also those in `change`, are relative to (`core.tasks.projects.Scope`).

    The value is a project's name, or empty for the root. None means the whole workspace, until a plan names a part. In
    the owner's repositories, the value is always None.
    """
    heard_unmet: bool = False
    """True if a change was sent back because it did not meet a part of the description (`Verdict.unmet`); happens once.
    """
    held_tries: int = 0
    """Number of iterations that failed on held-out cases. The number matters because each such failure reveals a little
    about the cases.
    """
    heard_doubt: bool = False
    """True if a passing change was sent back because of doubts about it; this happens at most once."""
    merged_tests: Files = field(default_factory=dict)
    """The owner's tests merged with newer work. Set if the task was sent back because of a conflict in other files."""
    handed: HandOver | None = None
    """Summary of the iterations before the conversation with the model was restarted.

    Prompts show this summary instead of those iterations.
    """
    heard: int = 0
    """Number of the owner's newest message (`OwnerMessage`) that the change takes into account."""
    test_prompts: tuple[str, ...] = ()
    """Digests of the prompts that asked for tests; no prompt is sent twice."""
    best: BestChange | None = None
    """The best change that was judged so far; it is valid only for the base that it was judged on."""

    @property
    def unmet(self) -> tuple[str, ...]:
        """Demands of the description that the last verdict found unmet, each as a sentence."""
        return self.verdict.unmet if self.verdict else ()

    @property
    def scope(self) -> Scope:
        """The part of the repository that the paths are relative to, for a task that has no files of its own."""
        return Scope(project=self.project)

    def within(self, environment: Environment) -> AttemptState:
        """Return the state with the environment of its base."""
        return replace(self, environment=environment.digest, environment_from=environment.sources)

    def reading(self, reader: Reader) -> Reading | None:
        """Return a reader's findings in the current change; None if the reader has not read that change."""
        now = digest(self.change)
        return next(
            (reading for reading in reversed(self.readings) if (reading.reader, reading.change) == (reader, now)), None
        )

    @property
    def remarks_on_change(self) -> tuple[Remark, ...]:
        """Findings of readers in the current change, the worst first."""
        readings = (self.reading(reader) for reader in Reader)
        return worst_first(remark for reading in readings if reading for remark in reading.found)

    @property
    def open_remarks(self) -> tuple[Remark, ...]:
        """Remarks on the current change that are grave; every page that shows the change shows them."""
        return tuple(remark for remark in self.remarks_on_change if remark.gravity in GRAVE)

    @property
    def changed_tests(self) -> Files:
        """The agent's versions of those existing tests that it was allowed to change."""
        return {path: text for path, text in self.own_tests.items() if path in self.test_changes}

    @property
    def written_tests(self) -> Files:
        """New tests that the agent wrote."""
        return {path: text for path, text in self.own_tests.items() if path not in self.test_changes}

    def with_declared(self, change: Change, declared: Mapping[str, Declared]) -> AttemptState:
        """Return the state after packages were declared in files of the change; the readers' findings stay valid."""
        before, now = digest(self.change), digest(change)
        readings = tuple(
            replace(reading, change=now) if reading.change == before else reading for reading in self.readings
        )
        return replace(self, change=change, declared=declared, readings=readings)

    def still_held(self, held: HeldOut) -> HeldOut:
        """Return the held-out cases, which no longer count as proof if the author of the change has seen them."""
        return held.seen() if self.saw_held_out else held

    @property
    def best_here(self) -> BestChange | None:
        """The best change that was judged on this base; None if there is none."""
        return self.best if self.best and self.best.base == self.base else None

    def with_best(self) -> AttemptState:
        """Return the state with its change stored as the best one, unless a better one was judged on the same base."""
        if self.verdict is None:
            return self
        now = BestChange(verdict=self.verdict, **{name: getattr(self, name) for name in _OF_CHANGE})
        best = self.best_here
        return self if best and best.rank > now.rank else replace(self, best=now)

    def at_best(self) -> AttemptState:
        """Return the state with its best change in place of the last one; unchanged if no change was judged."""
        best = self.best_here
        if best is None:
            return self
        return replace(self, verdict=best.verdict, **{name: getattr(best, name) for name in _OF_CHANGE})

    def with_try(self, new: Try) -> AttemptState:
        """Return the state with one more try; only the last `SHORT_TERM` tries are kept."""
        return replace(self, tries=(*self.tries, new)[-SHORT_TERM:], seen=(*self.seen, new.digest))


_OF_CHANGE = tuple(each.name for each in fields(BestChange) if each.name != "verdict")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Result of a phase.

    `state.step_no` counts the finished steps, including this one. The model calls of this step are stored under the
    step's own number, which is one less.
    """

    phase: Phase
    outcome: Outcome
    state: AttemptState
    note: str = ""
    """One line for the timeline."""
    data: Mapping[str, Any] = field(default_factory=dict)
    """Small JSON data for the timeline: the prompts sent, the findings, and the counts of tests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptContext:
    """The data of an attempt that stay the same in all its phases: the task and its options."""

    task: Task
    review: bool = False
    audit: bool = False
    clarify: bool = False
    """True if the owner wants to be asked about unclear points."""
    split: bool = False
    """True if a plan may split the task."""
    iterations: int = 15
    """Maximum number of tries of the attempt."""
    warn_at: int = 12
    """Number of tries after which the model is told that few tries are left."""
    held: HeldOut = field(default_factory=HeldOut)
    """Held-out cases and files, which no prompt may show."""
    whole_tree: bool = True
    """True if the whole repository belongs to the task. False in the daemon's own workspace, which also contains files
    of other tasks.
    """
    run_limits: RunLimits = RUN_LIMITS
    granted: frozenset[str] = frozenset()
    """Subjects that the owner has approved (`core.tasks.change_checks.Ask.subject`)."""
    denied: frozenset[str] = frozenset()
    """Subjects that the owner has denied."""
    decided: Mapping[str | None, Mapping[str, bool]] = field(default_factory=dict)
    """The owner's decisions on packages in other tasks of the repository, by project (None for an owner's repository).

    For each project, a subject maps to True if the owner granted it, and to False if the owner denied it. `within`
    selects the decisions that are valid in one project.
    """
    answers: Mapping[str, str] = field(default_factory=dict)
    """The owner's answers to questions, by subject."""
    messages: tuple[OwnerMessage, ...] = ()
    """The owner's messages to the task before the step began, oldest first."""
    built_on: tuple[str, ...] = ()
    """Files of the workspace that were changed by the tasks that this task depends on."""

    @property
    def shown_tests(self) -> Files:
        """The owner's tests without the parts that a model may not see."""
        return {**self.task.spec.tests, **self.held.shown}

    def within(self, project: str | None) -> AttemptContext:
        """Return the context for a project of the workspace, or for a repository.

        The context contains the decisions that are valid there. Decisions about the task itself override these.
        """
        before = holding(self.decided, project).items()
        granted = self.granted | {subject for subject, yes in before if yes and subject not in self.denied}
        denied = self.denied | {subject for subject, yes in before if not yes and subject not in self.granted}
        return replace(self, granted=granted, denied=denied)

    def list_approved_packages(self, project: str | None) -> tuple[str, ...]:
        """List the packages that the owner approved for the task, for its project, or for its repository."""
        decisions = {**self.decided.get(None, {}), **self.decided.get(project, {})}
        mine = self.granted - {subject for each in self.decided.values() for subject in each}
        subjects = mine | (self.granted & {subject for subject, yes in decisions.items() if yes})
        kind = f"{AskKind.PACKAGE}:"
        return tuple(sorted(each.removeprefix(kind) for each in subjects if each.startswith(kind)))

    def sees_all(self, state: AttemptState) -> bool:
        """Return True if all files of the tree belong together, as in an owner's repository or in a single project."""
        return self.whole_tree or bool(state.project)

    def tests_beside(self, state: AttemptState) -> Files:
        """Return the tests that a model sees with its change.

        These are the owner's tests, or the agent's own if there are none.
        """
        return self.shown_tests or state.own_tests
