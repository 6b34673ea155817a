"""The repair engine's port to the sandbox: observe a suite, try many candidates fast, call the variants.

The results are not verdicts. They show a search where to look and which changes are worth judging; the change that it
finds is judged like any other.

A *scope* is the outermost function around a piece of code, by its qualified name (`parse`, `Stack.push`); the empty
scope is the whole file. A candidate is the new text of one scope.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from nightshift.core.code.tree import Tree, text_of
from nightshift.core.isolation import RUN_LIMITS, RunLimits
from nightshift.core.tasks.task import Change, Files


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationJob:
    """The setting of an evaluation: `base` with `change` on top, and `tests` or the tests of `command`.

    `start` holds the files that the owner gave with the task. `packages` maps the distributions that the run may import
    to exact versions. `wall_s` limits the run of the unchanged suite; `cpus` also sets how many candidates run at the
    same time.
    """

    base: Tree
    change: Change
    tests: Files
    command: tuple[str, ...] = ()
    start: Files = field(default_factory=dict)
    packages: Mapping[str, str] = field(default_factory=dict)
    whole_tree: bool = True
    wall_s: float = RUN_LIMITS.cpu_s
    memory_mb: int = RUN_LIMITS.memory_mb
    cpus: float = RUN_LIMITS.cpus
    pids: int = RUN_LIMITS.pids
    work_mb: int = RUN_LIMITS.work_mb

    @property
    def limits(self) -> RunLimits:
        """The five limits of the job's runs."""
        return RunLimits(
            cpu_s=self.wall_s, memory_mb=self.memory_mb, cpus=self.cpus, pids=self.pids, work_mb=self.work_mb
        )

    def text_of(self, path: str) -> str | None:
        """Return a file's text with the change applied; None if there is no such file."""
        for files in (self.change, self.start):
            if path in files:
                return files[path]
        return text_of(self.base, path)


class RunStatus(StrEnum):
    """The way in which a test, a candidate or a call ended. STEPS: it exceeded its limit of loop turns and calls."""

    PASSED = "passed"
    FAILED = "failed"
    TIMEOUT = "timeout"
    STEPS = "steps"
    CRASHED = "crashed"
    INVALID = "invalid"


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorInfo:
    """The error of a test or a file. `frames` are (path, line, function) of the tree's own files, outermost first."""

    kind: str
    message: str
    frames: tuple[tuple[str, int, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedTest:
    """The result of one test. `lines` are the executed lines of the tree's own files, without tests.

    `steps` counts loop turns and function calls in the same files.
    """

    id: str
    how: RunStatus
    duration_s: float = 0.0
    steps: int = 0
    lines: Mapping[str, frozenset[int]] = field(default_factory=dict)
    error: ErrorInfo | None = None

    @property
    def passed(self) -> bool:
        """True if the test passed."""
        return self.how is RunStatus.PASSED


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call of a function of the tree: `scope` in the file `path`, with plain data as arguments, packed as JSON.

    A packed value is a list that begins with the type; see `nightshift.sandbox.inside.values`.
    """

    path: str
    scope: str
    args: object
    kwargs: object


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteObservation:
    """The result of a close look at the suite.

    Attributes:
        tests: every test that ran, in the order of the suite.
        broken: path of a file that could not be imported or collected, to its error.
        kinds: `path:scope` to variable name to the names of the types that it had (`int`, `list`, `NoneType`).
        calls: up to a few hundred distinct calls of scopes with plain data, those of failing tests first.
    """

    tests: tuple[ObservedTest, ...] = ()
    broken: Mapping[str, ErrorInfo] = field(default_factory=dict)
    kinds: Mapping[str, Mapping[str, frozenset[str]]] = field(default_factory=dict)
    calls: tuple[Call, ...] = ()

    @property
    def failing(self) -> tuple[ObservedTest, ...]:
        """The tests that did not pass."""
        return tuple(test for test in self.tests if not test.passed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A change to try: `text` replaces `scope` in the file `path`; the text of a function begins at column 0."""

    path: str
    scope: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationLimits:
    """The limits of a candidate.

    `steps` and `wall_s` apply to each test. After `max_failures` tests that do not pass, no further test is run. With
    `is_uninstrumented` nothing is instrumented and each candidate is imported afresh: slower, but as the suite will run
    it.
    """

    wall_s: float = 1.0
    steps: int = 200_000
    max_failures: int = 1
    is_uninstrumented: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateResult:
    """The result of a candidate: how the first test that did not pass ended, and the number of tests that passed."""

    how: RunStatus
    passed: int = 0
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallResult:
    """The result of a call of a variant: how it ended, and the packed value or the names of the exception's classes.

    A generator is replaced by the list of the values that it yields. None is replaced by the pair of None and the
    arguments if the call changed them. Long results are replaced by a digest.
    """

    how: RunStatus
    value: object = None
    raised: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SynthesisJob:
    """A function to be synthesised: the scope in the file `path` of the job's tree is a stub.

    `names` and `constants` (as source text) are hints from the task, its docstring and its tests.
    """

    job: EvaluationJob
    path: str
    scope: str
    names: tuple[str, ...] = ()
    constants: tuple[str, ...] = ()
    budget_s: float = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SynthesisResult:
    """The result of a synthesis: new texts of the function, smallest first; if empty, `why` gives the reason.

    `examples` is the number of calls with known results, `tried` the number of evaluated expressions.
    """

    texts: tuple[str, ...] = ()
    why: str = ""
    examples: int = 0
    tried: int = 0


class Evaluator(Protocol):
    """Evaluates the candidates of a search; its results are not verdicts.

    Raises:
        SandboxError: (all methods) nothing could be run.
    """

    async def observe(self, job: EvaluationJob) -> SuiteObservation:
        """Run the suite once as it is, each test on its own, and report what it did."""
        ...

    async def evaluate(
        self, job: EvaluationJob, candidates: Sequence[Candidate], order: Sequence[str], limits: EvaluationLimits
    ) -> Sequence[CandidateResult]:
        """Run the tests with these ids on each candidate, in order, up to the last failure that `limits` allows."""
        ...

    async def probe(
        self, job: EvaluationJob, variants: Sequence[Candidate], calls: Sequence[Call], limits: EvaluationLimits
    ) -> Sequence[Sequence[CallResult]]:
        """Make the calls with each variant; return for each variant one answer per call."""
        ...


class Synthesiser(Protocol):
    """Finds small functions from examples."""

    async def synthesise(self, job: SynthesisJob) -> SynthesisResult:
        """Search for bodies that agree with every example in the tests and the docstring.

        Raises:
            SandboxError: nothing could be run.
        """
        ...


MOST_PASSING = 60
"""Maximum number of passing tests run with each candidate, fastest first. The chosen change runs with all tests."""
MOST_FAILURES = 3
"""Maximum number of failing tests run with each candidate: a fix may help any of them."""
LEAST_STEPS, LEAST_S, MOST_S = 10_000, 0.5, 10.0
STEPS_FACTOR, WALL_FACTOR = 30, 8
"""Limits of a candidate, as multiples of the steps and time of the slowest passing test."""


def order_of(observation: SuiteObservation) -> list[str]:
    """Return the ids of tests to try, failing then fast ones first, with at most `MOST_PASSING` passing ones."""
    failing = sorted(observation.failing, key=_cost)
    passing = sorted((test for test in observation.tests if test.passed), key=_cost)
    return [test.id for test in (*failing, *passing[:MOST_PASSING])]


def limits_for(observation: SuiteObservation) -> EvaluationLimits:
    """Return the limits of a candidate for one test, derived from the steps and times of the passing tests."""
    passing = [test for test in observation.tests if test.passed]
    steps = max((test.steps for test in passing), default=0)
    wall_s = max((test.duration_s for test in passing), default=0.0)
    max_failures = min(MOST_FAILURES, max(1, len(observation.failing)))
    return EvaluationLimits(
        steps=max(LEAST_STEPS, STEPS_FACTOR * steps),
        wall_s=min(MOST_S, max(LEAST_S, WALL_FACTOR * wall_s)),
        max_failures=max_failures,
    )


def _cost(test: ObservedTest) -> tuple[bool, float]:
    return test.how in {RunStatus.TIMEOUT, RunStatus.STEPS}, test.duration_s
