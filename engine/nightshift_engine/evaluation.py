"""The repair engine's port to the sandbox: observe a suite, try many candidates fast, and call variants of a function.

The results are not verdicts. They show a search where to look and which changes are worth judging. The change that the
search finds is judged like any other change.

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
    """The code, the tests and the limits of an evaluation.

    Attributes:
        base: the tree without changes.
        change: the change on top of `base`.
        tests: the given tests.
        command: the test command; its tests are run if there are no given tests.
        start: the files that the owner gave with the task.
        packages: the distributions that the run may import, with their exact versions.
        wall_s: limit in seconds for the run of the unchanged suite.
        cpus: limit of processors, which is also the number of candidates that run at the same time.
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
    """The way in which a test, a candidate or a call ended.

    STEPS means that the limit of loop turns and calls was exceeded.
    """

    PASSED = "passed"
    FAILED = "failed"
    TIMEOUT = "timeout"
    STEPS = "steps"
    CRASHED = "crashed"
    INVALID = "invalid"


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorInfo:
    """The error of a test or of a file.

    `frames` are the frames of the traceback in the tree's own files, outermost first: (path, line, function).
    """

    kind: str
    message: str
    frames: tuple[tuple[str, int, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedTest:
    """The result of one test.

    `lines` maps the paths of the tree's own files, without tests, to the executed lines. `steps` counts loop turns and
    function calls in the same files.
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
    """A call of a function of the tree: of `scope` in the file `path`. The arguments are plain data, packed as JSON.

    A packed value is a list that begins with the type; see `nightshift.sandbox.inside.values`.
    """

    path: str
    scope: str
    args: object
    kwargs: object


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteObservation:
    """The result of running the suite once with tracing.

    Attributes:
        tests: every test that ran, in the order of the suite.
        broken: maps the path of each file that could not be imported or collected to its error.
        kinds: maps `path:scope` to a map from variables to the names of the types that they had (`int`, `NoneType`).
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

    `steps` and `wall_s` apply to each test. After `max_failures` tests that do not pass, no further test is run. If
    `is_uninstrumented` is true, no code is instrumented and each candidate is imported afresh. That is slower, but it
    is how the suite will run the change.
    """

    wall_s: float = 1.0
    steps: int = 200_000
    max_failures: int = 1
    is_uninstrumented: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateResult:
    """The result of a candidate.

    `how` is PASSED, or the way in which the first test that did not pass ended. `passed` is the number of tests that
    passed.
    """

    how: RunStatus
    passed: int = 0
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallResult:
    """The result of a call of a variant.

    `how` is the way in which the call ended. `value` is the packed result. `raised` holds the names of the exception's
    classes. A generator is replaced by the list of the values that it yields. If the call changed its arguments and
    returned None, `value` is the pair of None and the arguments. Long results are replaced by a digest.
    """

    how: RunStatus
    value: object = None
    raised: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SynthesisJob:
    """A function to be synthesised: the stub `scope` in the file `path` of the job's tree.

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
    """The result of a synthesis: new texts of the function, smallest first.

    If there are no texts, `why` gives the reason. `examples` is the number of calls with known results. `tried` is the
    number of evaluated expressions.
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
        """Run the suite once without changes, each test on its own, and report what the tests did."""
        ...

    async def evaluate(
        self, job: EvaluationJob, candidates: Sequence[Candidate], order: Sequence[str], limits: EvaluationLimits
    ) -> Sequence[CandidateResult]:
        """Run the tests with these ids on each candidate, in order; stop at as many failures as `limits` allows."""
        ...

    async def probe(
        self, job: EvaluationJob, variants: Sequence[Candidate], calls: Sequence[Call], limits: EvaluationLimits
    ) -> Sequence[Sequence[CallResult]]:
        """Make the calls with each variant; return one list of results for each variant, in the order of the calls."""
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
    """Return the ids of the tests to run: failing ones, then up to `MOST_PASSING` passing ones; both fastest first."""
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
