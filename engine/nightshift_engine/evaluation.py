"""The repair engine's port to the sandbox: observe a suite, try many candidates fast, call the variants.

Nothing that comes back from here is a verdict. It shows a search where to look and what is worth judging; what the
search finds is judged like any other change.

A *scope* is the outermost function that holds a place, by its qualified name (`parse`, `Stack.push`); the empty scope
is the whole file. A candidate is the new text of one scope.
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
    """The place where candidates are evaluated: `base` with `change` on top, by `tests` or by the tests of `command`.

    `start` are the files that the owner gave with the task. `packages` are distributions that the run may see, name to
    exact version. `wall_s` bounds the suite as it is; `cpus` also says how many candidates run at the same time.
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
        """The five limits of its runs."""
        return RunLimits(
            cpu_s=self.wall_s, memory_mb=self.memory_mb, cpus=self.cpus, pids=self.pids, work_mb=self.work_mb
        )

    def text_of(self, path: str) -> str | None:
        """A file's text with the change; None where there is no such file."""
        for files in (self.change, self.start):
            if path in files:
                return files[path]
        return text_of(self.base, path)


class RunStatus(StrEnum):
    """How a test, a candidate or a call ended. STEPS: more loop turns and calls than it was allowed."""

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
    """One test as it ran: `lines` are those of the tree's own files, tests left out, that it executed.

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
        """Whether it passed."""
        return self.how is RunStatus.PASSED


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call of a function of the tree with plain data: `scope` in the file `path`, arguments packed as plain JSON.

    Packing is that of `nightshift.sandbox.inside.values`: a list that begins with the type, see there.
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
        broken: path of a file that could not be imported or collected, to what it failed of.
        kinds: `path:scope` to name to the names of the types that the variable had (`int`, `list`, `NoneType`).
        calls: distinct calls of scopes with plain data that were seen, those of failing tests first, a few hundred.
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
    """A change to try: `text` takes the place of `scope` in the file `path`; a function's text begins at column 0."""

    path: str
    scope: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationLimits:
    """How long a candidate may take.

    `steps` and `wall_s` are for each test. After `max_failures` tests that do not pass no further test is run. With
    `is_uninstrumented` nothing is instrumented and each candidate is imported afresh: slower, and as the suite will
    run it.
    """

    wall_s: float = 1.0
    steps: int = 200_000
    max_failures: int = 1
    is_uninstrumented: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateResult:
    """How a candidate did: how its first test ended that did not pass, and how many of those that ran passed."""

    how: RunStatus
    passed: int = 0
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallResult:
    """The result of a call of a variant: how it ended, and the packed value or the names of the exception's classes.

    For a generator stands the list of what it yields; for None, where the call changed its arguments, the pair of None
    and the arguments. Long results are given by a digest.
    """

    how: RunStatus
    value: object = None
    raised: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SynthesisJob:
    """A function to be found: the scope in the file `path` of the job's tree is a stub.

    `names` and `constants` (as source text) are words that may help, from the task, its docstring and its tests.
    """

    job: EvaluationJob
    path: str
    scope: str
    names: tuple[str, ...] = ()
    constants: tuple[str, ...] = ()
    budget_s: float = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SynthesisResult:
    """The result of a synthesis: new texts of the function, smallest first; empty with the reason in `why`.

    `examples` is how many calls with known results there were, `tried` how many expressions were evaluated.
    """

    texts: tuple[str, ...] = ()
    why: str = ""
    examples: int = 0
    tried: int = 0


class Evaluator(Protocol):
    """Evaluates the candidates of a search; what it says is no verdict.

    Raises:
        SandboxError: (all methods) nothing could be run.
    """

    async def observe(self, job: EvaluationJob) -> SuiteObservation:
        """Run the suite once as it is, each test on its own, and report what it did."""
        ...

    async def evaluate(
        self, job: EvaluationJob, candidates: Sequence[Candidate], order: Sequence[str], limits: EvaluationLimits
    ) -> Sequence[CandidateResult]:
        """Try each candidate by the tests with these ids, in this order, up to the last failure that `limits` allow."""
        ...

    async def probe(
        self, job: EvaluationJob, variants: Sequence[Candidate], calls: Sequence[Call], limits: EvaluationLimits
    ) -> Sequence[Sequence[CallResult]]:
        """Make the calls with each variant: for each variant an answer for each call."""
        ...


class Synthesiser(Protocol):
    """Finds small functions from examples."""

    async def synthesise(self, job: SynthesisJob) -> SynthesisResult:
        """Search for bodies that agree with every example that the tests and the docstring hold.

        Raises:
            SandboxError: nothing could be run.
        """
        ...


MOST_PASSING = 60
"""So many of the passing tests are run with each candidate, the fastest; all are run with what is chosen."""
MOST_FAILURES = 3
"""So many failing tests are run with each candidate, where there are so many: a fix may help any of them."""
LEAST_STEPS, LEAST_S, MOST_S = 10_000, 0.5, 10.0
STEPS_FACTOR, WALL_FACTOR = 30, 8
"""So many times what the slowest passing test takes."""


def order_of(observation: SuiteObservation) -> list[str]:
    """The ids of the tests in the order of trying: failing ones first, fast ones first, not too many."""
    failing = sorted(observation.failing, key=_cost)
    passing = sorted((test for test in observation.tests if test.passed), key=_cost)
    return [test.id for test in (*failing, *passing[:MOST_PASSING])]


def limits_for(observation: SuiteObservation) -> EvaluationLimits:
    """How long a candidate may take with one test, from what the passing tests took."""
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
