"""The state of one attempt and what a phase returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from core.brief import Brief
from core.gates import Ask
from core.held import HeldOut
from core.isolation import RUN_LIMITS, RunLimits
from core.remarks import Remark
from core.states import Ending, Outcome, Phase
from core.subtasks import Subtask
from core.tasks import Change, Files, Spent, Task
from core.verdicts import Verdict

SHORT_TERM = 5
"""How many tries the short-term memory holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """Something learned earlier: what failed, and what mended it."""

    id: int
    text: str
    score: float
    age_s: float = 0.0
    source: str = "failure"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reflection:
    """Why a try failed and what to do about it.

    `tests_at_fault` says that the agent's own tests are wrong, not the code; given tests are never at fault.
    """

    pattern: str = ""
    root_cause: str = ""
    hypothesis: str = ""
    suggested_fix: str = ""
    replan: bool = False
    tests_at_fault: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Try:
    """One iteration, as short-term memory keeps it. `digest` is that of the change it made."""

    iteration: int
    digest: str
    failing: tuple[str, ...]
    feedback: str
    reflection: Reflection = field(default_factory=Reflection)


@dataclass(frozen=True, slots=True, kw_only=True)
class HandOver:
    """What a fresh context is told of the work before it, up to and with iteration `through`.

    `goal` is empty where the task's own words are all there is; `passing` and `failing` are ids of tests by the last
    verdict, the first of `passing_count`; `tried` has a line for each try and why it failed, `forgotten` counts those
    that were left out of it.
    """

    through: int
    goal: str = ""
    passing: tuple[str, ...] = ()
    passing_count: int = 0
    failing: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    tried: tuple[str, ...] = ()
    forgotten: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptState:
    """All that an attempt knows. Stored after each step; a resumed attempt continues from it.

    `change` is relative to the base commit and leaves tests out: `own_tests` are those the agent wrote.
    `iteration` counts tries, each begun by a CODING step. In phase HOLD `asks` are what the owner must decide and
    `held_in` is the phase that goes on when he has. `packages` may be shown to the run: name to exact version. `noted`
    names the findings that were told already. `saw_held_out`: who wrote the change had seen what is held out of tests.
    `brief` is the task made precise, where its words were vague. `looked_at` names the readers that a change has
    passed, with its digest; `remarks` are why one of them sent the last one back, which happened `sent_back` times.
    `parts` are what the plan split the task into, once in an attempt at most. `handed` is what prompts show in place of
    the tries before a fresh start.
    """

    phase: Phase
    base: str
    attempt: int = 1
    step_no: int = 0
    iteration: int = 0
    plan: str = ""
    change: Change = field(default_factory=dict)
    own_tests: Files = field(default_factory=dict)
    summary: str = ""
    feedback: str = ""
    tries: tuple[Try, ...] = ()
    seen: tuple[str, ...] = ()
    lessons: tuple[Lesson, ...] = ()
    verdict: Verdict | None = None
    escalation: int = 0
    ending: Ending | None = None
    reason: str = ""
    models: tuple[str, ...] = ()
    spent: Spent = field(default_factory=Spent)
    held_in: Phase | None = None
    asks: tuple[Ask, ...] = ()
    packages: Mapping[str, str] = field(default_factory=dict)
    noted: tuple[str, ...] = ()
    saw_held_out: bool = False
    brief: Brief | None = None
    looked_at: tuple[str, ...] = ()
    remarks: tuple[Remark, ...] = ()
    sent_back: int = 0
    parts: tuple[Subtask, ...] = ()
    handed: HandOver | None = None

    def still_held(self, held: HeldOut) -> HeldOut:
        """What is held out of the tests, as far as it can witness for this change."""
        return held.seen() if self.saw_held_out else held

    def with_try(self, new: Try) -> AttemptState:
        """The state with one more try; only the last few are kept."""
        return replace(self, tries=(*self.tries, new)[-SHORT_TERM:], seen=(*self.seen, new.digest))


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What a phase returns. `note` is one line for the timeline, `data` small JSON beside it.

    `work.step_no` counts the finished steps, this one included: the number of this one, under which its model calls
    are stored, is one less.
    """

    phase: Phase
    outcome: Outcome
    state: AttemptState
    note: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptContext:
    """What never changes during an attempt: the task and the switches that hold for it.

    `granted` and `denied` are the subjects on which the owner has decided (`core.gates.Ask`), `answers` what he said to
    his questions, by subject. `held` is what no prompt
    may show of the task's tests. `split` tells that a plan may split the task.
    """

    task: Task
    review: bool = False
    audit: bool = False
    clarify: bool = False
    split: bool = False
    iterations: int = 15
    warn_at: int = 12
    held: HeldOut = field(default_factory=HeldOut)
    whole_tree: bool = True
    run_limits: RunLimits = RUN_LIMITS
    granted: frozenset[str] = frozenset()
    denied: frozenset[str] = frozenset()
    answers: Mapping[str, str] = field(default_factory=dict)

    @property
    def shown_tests(self) -> Files:
        """The given tests as a model may see them."""
        return {**self.task.spec.tests, **self.held.shown}
