"""The state of an attempt, the context it works in, and what a phase returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from nightshift.core.code.environments import Environment
from nightshift.core.isolation import RUN_LIMITS, RunLimits
from nightshift.core.tasks.best_change import BestChange
from nightshift.core.tasks.brief import Brief, Question
from nightshift.core.tasks.change_checks import Ask, AskKind, CheckedChange, Declared, holding
from nightshift.core.tasks.held_out import HeldOut
from nightshift.core.tasks.lesson import Lesson
from nightshift.core.tasks.messages import OwnerMessage
from nightshift.core.tasks.projects import Scope
from nightshift.core.tasks.remarks import GRAVE, Reader, Reading, Remark, worst_first
from nightshift.core.tasks.states import Ending, Outcome, Phase
from nightshift.core.tasks.subtasks import Subtask
from nightshift.core.tasks.task import Change, Files, Spent, Task, digest
from nightshift.core.tasks.verdicts import Verdict

SHORT_TERM = 5
"""How many tries the short-term memory holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reflection:
    """Why a try failed and what to do about it."""

    pattern: str = ""
    """The kind of failure, in a few words."""
    root_cause: str = ""
    hypothesis: str = ""
    """Effect that is expected of the fix."""
    suggested_fix: str = ""
    replan: bool = False
    """The approach itself is wrong: plan anew."""
    tests_at_fault: bool = False
    """The agent's own tests are wrong, not the code; given tests are never at fault."""
    contradicting_tests: tuple[str, ...] = ()
    """Ids of failing tests of the repository that demand what the task rules out; their owner decides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Try:
    """One iteration, as short-term memory keeps it."""

    iteration: int
    digest: str
    """Of the change and the agent's own tests; empty where the same work may come again."""
    failing: tuple[str, ...]
    """Ids of the tests that failed; without one, what went wrong, in a line."""
    feedback: str
    reflection: Reflection = field(default_factory=Reflection)
    unconvincing: str = ""
    """Digest of the change, where all other tests passed and the agent's own alone did not show what it changes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HandOver:
    """Summary of the work so far, for a fresh context."""

    through: int
    """The last iteration that it covers."""
    goal: str = ""
    """Empty where the task's own words are all there is."""
    passing: tuple[str, ...] = ()
    """Ids of tests that pass by the last verdict, the first of `passing_count`."""
    passing_count: int = 0
    failing: tuple[str, ...] = ()
    """Ids of tests that fail by the last verdict."""
    files: tuple[str, ...] = ()
    """Paths that were changed so far."""
    tried: tuple[str, ...] = ()
    """A line for each try and why it failed, oldest first."""
    forgotten: int = 0
    """How many older tries were left out of `tried`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptState:
    """All that an attempt knows. It is stored after each step under these names; a resumed attempt goes on from it."""

    phase: Phase
    """The phase that runs next, or the one in which the walk has ended."""
    base: str
    """Full id of the commit that `change` is relative to."""
    attempt: int = 1
    step_no: int = 0
    """How many steps are finished."""
    iteration: int = 0
    """How many tries were begun, each by a CODING step."""
    plan: str = ""
    change: Change = field(default_factory=dict)
    """The files relative to the base, without tests."""
    own_tests: Files = field(default_factory=dict)
    """The tests that the agent wrote."""
    test_changes: Change = field(default_factory=dict)
    """Changes of existing tests that were proposed with the change; those that may stand are among `own_tests`, one
    that was withdrawn has the text of the base."""
    removed_tests: tuple[str, ...] = ()
    """Existing test files that may go with what they test, in the order of their paths."""
    summary: str = ""
    """The model's line on what its change does."""
    feedback: str = ""
    """Fault of the last result, for the next phase; empty when there was none."""
    tries: tuple[Try, ...] = ()
    """The last `SHORT_TERM` tries, oldest first."""
    seen: tuple[str, ...] = ()
    """The digest of every try."""
    lessons: tuple[Lesson, ...] = ()
    """Lessons that memory recalled."""
    verdict: Verdict | None = None
    """The last one on this change; None where none was given since it was written."""
    escalation: int = 0
    """How often the attempt was stuck."""
    ending: Ending | None = None
    """Why it was given up."""
    reason: str = ""
    models: tuple[str, ...] = ()
    """Models that answered, each once."""
    spent: Spent = field(default_factory=Spent)
    held_in: Phase | None = None
    """While the owner is waited for: the phase that goes on when he has decided."""
    asks: tuple[Ask, ...] = ()
    """While the owner is waited for: what he must decide."""
    packages: Mapping[str, str] = field(default_factory=dict)
    """Packages that may be shown to the run: name to exact version."""
    environment: str = ""
    """The digest of what the base declares that runs need (`core.code.environments`)."""
    environment_from: tuple[str, ...] = ()
    """The files that declare it."""
    noted: tuple[str, ...] = ()
    """Findings that were reported already."""
    saw_held_out: bool = False
    """Whether the author of the change had seen what is held out of the tests."""
    brief: Brief | None = None
    """The task made precise, where its words were vague."""
    questions: tuple[Question, ...] = ()
    """Questions to the owner while the change was written."""
    checked: CheckedChange | None = None
    """The last change that the checks let run."""
    declared: Mapping[str, Declared] = field(default_factory=dict)
    """The dependency files in which the checks named packages of this change, by path."""
    readings: tuple[Reading, ...] = ()
    """Findings of readers in the last few changes that they read, oldest first."""
    remarks: tuple[Remark, ...] = ()
    """Why a review or an audit sent the last change back."""
    sent_back_by: tuple[Reader, ...] = ()
    """Readers that sent a change back, once for each time."""
    parts: tuple[Subtask, ...] = ()
    """The subtasks that the plan split the task into, once in an attempt at most; stored under this name."""
    project: str | None = None
    """The part of the workspace that `change` and all other paths are relative to (`core.tasks.projects.Scope`): a
    project's name, empty for the root; None is the whole, until a plan says it and in repositories of the owner's."""
    heard_unmet: bool = False
    """Whether a change was sent back for what the words of the task say (`Verdict.unmet`); that happens once."""
    held_tries: int = 0
    """How many iterations failed on cases that no prompt shows: each tells a little of them."""
    heard_doubt: bool = False
    """Whether a change that passed was sent back for what speaks against it; that happens once."""
    merged_tests: Files = field(default_factory=dict)
    """Given tests as their merge with newer work has them, where a conflict in other files sent the task back."""
    handed: HandOver | None = None
    """Summary that prompts show in place of the iterations before a fresh start."""
    heard: int = 0
    """The newest message of its owner's (`core.tasks.messages`) with which the change was written."""
    test_prompts: tuple[str, ...] = ()
    """Digests of the prompts that asked for tests; none is sent twice."""
    best: BestChange | None = None
    """The best change that was judged so far; it counts while the base is its base."""

    @property
    def unmet(self) -> tuple[str, ...]:
        """Sentences on what the words of the task say and the change, by its last verdict, does not do."""
        return self.verdict.unmet if self.verdict else ()

    @property
    def scope(self) -> Scope:
        """The part of the repository that its paths are relative to, for a task that brought no files."""
        return Scope(project=self.project)

    def within(self, environment: Environment) -> AttemptState:
        """The state with the environment of its base."""
        return replace(self, environment=environment.digest, environment_from=environment.sources)

    def reading(self, reader: Reader) -> Reading | None:
        """Return a reader's findings in the change as it is now; None where he has not read it."""
        now = digest(self.change)
        return next(
            (reading for reading in reversed(self.readings) if (reading.reader, reading.change) == (reader, now)), None
        )

    @property
    def remarks_on_change(self) -> tuple[Remark, ...]:
        """Findings of readers in the change as it is now, the worst first."""
        readings = (self.reading(reader) for reader in Reader)
        return worst_first(remark for reading in readings if reading for remark in reading.found)

    @property
    def open_remarks(self) -> tuple[Remark, ...]:
        """The grave ones of these: whoever sees the change is told of them."""
        return tuple(remark for remark in self.remarks_on_change if remark.gravity in GRAVE)

    @property
    def changed_tests(self) -> Files:
        """Existing tests as the agent changed them, of which it was decided that they may stand."""
        return {path: text for path, text in self.own_tests.items() if path in self.test_changes}

    @property
    def written_tests(self) -> Files:
        """The tests that it wrote anew."""
        return {path: text for path, text in self.own_tests.items() if path not in self.test_changes}

    def with_declared(self, change: Change, declared: Mapping[str, Declared]) -> AttemptState:
        """The state with packages named in files of its change; what readers found holds for it as before."""
        before, now = digest(self.change), digest(change)
        readings = tuple(
            replace(reading, change=now) if reading.change == before else reading for reading in self.readings
        )
        return replace(self, change=change, declared=declared, readings=readings)

    def still_held(self, held: HeldOut) -> HeldOut:
        """Return the held-out cases, as far as they can witness for this change."""
        return held.seen() if self.saw_held_out else held

    @property
    def best_here(self) -> BestChange | None:
        """The best change that was judged on this base; None without one."""
        return self.best if self.best and self.best.base == self.base else None

    def with_best(self) -> AttemptState:
        """The state that keeps its change as the best one, unless a better one of the same base was judged before."""
        if self.verdict is None:
            return self
        now = BestChange(verdict=self.verdict, **{name: getattr(self, name) for name in _OF_CHANGE})
        best = self.best_here
        return self if best and best.rank > now.rank else replace(self, best=now)

    def at_best(self) -> AttemptState:
        """The state with its best change in place of the last one; as it is where no change was judged."""
        best = self.best_here
        if best is None:
            return self
        return replace(self, verdict=best.verdict, **{name: getattr(best, name) for name in _OF_CHANGE})

    def with_try(self, new: Try) -> AttemptState:
        """The state with one more try; only the last few are kept."""
        return replace(self, tries=(*self.tries, new)[-SHORT_TERM:], seen=(*self.seen, new.digest))


_OF_CHANGE = tuple(each.name for each in fields(BestChange) if each.name != "verdict")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Result of a phase.

    `state.step_no` counts the finished steps, this one included: the number of this one, under which its model calls
    are stored, is one less.
    """

    phase: Phase
    outcome: Outcome
    state: AttemptState
    note: str = ""
    """One line for the timeline."""
    data: Mapping[str, Any] = field(default_factory=dict)
    """Small JSON for the timeline: which prompts were sent, what was found, the counts of tests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptContext:
    """Constants of an attempt, the same in all its phases: the task and the switches that hold for it."""

    task: Task
    review: bool = False
    audit: bool = False
    clarify: bool = False
    """Whether the owner wants to be asked what is unclear."""
    split: bool = False
    """Whether a plan may split the task."""
    iterations: int = 15
    """How many tries there are."""
    warn_at: int = 12
    """After how many tries a warning is due."""
    held: HeldOut = field(default_factory=HeldOut)
    """Held-out cases and files, which no prompt may show."""
    whole_tree: bool = True
    """Whether the repository belongs to the task as a whole; the daemon's own workspace holds files of other tasks."""
    run_limits: RunLimits = RUN_LIMITS
    granted: frozenset[str] = frozenset()
    """Subjects that the owner has granted (`core.tasks.change_checks.Ask.subject`)."""
    denied: frozenset[str] = frozenset()
    """Subjects that he has denied."""
    decided: Mapping[str | None, Mapping[str, bool]] = field(default_factory=dict)
    """Owner's decisions on packages in other tasks of the repository: project to subject to whether he granted it.
    The project None is a repository of the owner's. `within` adds the decisions that hold in one project.
    """
    answers: Mapping[str, str] = field(default_factory=dict)
    """Owner's answers to questions, by subject."""
    messages: tuple[OwnerMessage, ...] = ()
    """Owner's messages to the task before the step began, oldest first."""
    built_on: tuple[str, ...] = ()
    """Files of the workspace that the tasks changed on which this one depends."""

    @property
    def shown_tests(self) -> Files:
        """The given tests as a model may see them."""
        return {**self.task.spec.tests, **self.held.shown}

    def within(self, project: str | None) -> AttemptContext:
        """The context in a part of the workspace, or in a repository: with what was decided before and holds there.

        What was decided for the task itself comes first.
        """
        before = holding(self.decided, project).items()
        granted = self.granted | {subject for subject, yes in before if yes and subject not in self.denied}
        denied = self.denied | {subject for subject, yes in before if not yes and subject not in self.granted}
        return replace(self, granted=granted, denied=denied)

    def list_approved_packages(self, project: str | None) -> tuple[str, ...]:
        """The packages that the owner said yes to for the task, for its project, or for its repository."""
        decisions = {**self.decided.get(None, {}), **self.decided.get(project, {})}
        mine = self.granted - {subject for each in self.decided.values() for subject in each}
        subjects = mine | (self.granted & {subject for subject, yes in decisions.items() if yes})
        kind = f"{AskKind.PACKAGE}:"
        return tuple(sorted(each.removeprefix(kind) for each in subjects if each.startswith(kind)))

    def sees_all(self, state: AttemptState) -> bool:
        """Tell whether all files of the tree belong together: a repository of the owner's, or one project."""
        return self.whole_tree or bool(state.project)

    def tests_beside(self, state: AttemptState) -> Files:
        """The tests that a model sees beside its change: the given ones, else those that the agent wrote."""
        return self.shown_tests or state.own_tests
