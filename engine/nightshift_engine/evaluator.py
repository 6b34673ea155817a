"""Evaluates candidates in a sandbox: each run gets one message and returns one signed answer, like a run of a suite.

A batch of candidates may need several sandboxes. A run that reaches its time limit ends early, and the next run takes
the remaining candidates. A candidate may also kill a run: when the memory is used up, the kernel ends the whole
sandbox. The suspects are then the candidates that were being tried, or all candidates of the run if the run reported
nothing. Suspects are split into halves and tried one at a time, until the culprit is isolated.

The reports of a run are claims of processes with untrusted code in them. Lines of an unknown form are ignored.
"""

from __future__ import annotations

import json
import math
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any

from nightshift.core.code.javascript import SOURCES
from nightshift.core.errors import SandboxError
from nightshift.core.isolation import RUN_LIMITS
from nightshift.core.tasks.verdicts import SuiteJob
from nightshift.verdict.answer import ProgramAnswer, read_program
from nightshift.verdict.languages.plan import Plan, ProgramRun, tests_alone
from nightshift.verdict.shaping import Texts, show_id
from nightshift.verdict.suite_runs import SuiteRuns
from nightshift_engine import PROGRAM
from nightshift_engine.evaluation import (
    Call,
    CallResult,
    Candidate,
    CandidateResult,
    ErrorInfo,
    EvaluationJob,
    EvaluationLimits,
    ObservedTest,
    RunStatus,
    SuiteObservation,
)

RECENT = 4
BUDGET_S = 15.0
"""Seconds after which a run begins no more candidates; the next run takes the remaining ones."""
SPARE_S = 15.0
"""Extra seconds for the last tests of an observation, or the last calls of a probe."""
AT_ONCE = 500
"""Number of candidates that are sent to one sandbox."""
DEATHS = 12
"""Maximum number of runs of a batch that may die. After more deaths the rest of the batch is given up."""
MOST_LINES = 100_000
"""Upper limit for line numbers; larger numbers in a report are not genuine."""
UNTRIED = CandidateResult(how=RunStatus.CRASHED, error="the sandbox came to no end before it was tried")
MISSING = CallResult(how=RunStatus.CRASHED)


class SandboxEvaluator:
    """The implementation of `nightshift_engine.evaluation.Evaluator` by a sandbox.

    Args:
        suite_runs: runs plans in a sandbox; may be shared.
    """

    def __init__(self, suite_runs: SuiteRuns) -> None:
        self._suite_runs = suite_runs
        self._stages: deque[tuple[EvaluationJob, Stage]] = deque(maxlen=RECENT)

    async def observe(self, job: EvaluationJob) -> SuiteObservation:
        """Run the suite once without changes, each test on its own, and report what the tests did.

        Raises:
            SandboxError: nothing could be run, or the tests are not pytest tests.
        """
        stage = await self._stage(job)
        task = {"kind": "observe", "count": _count(job), "budget_s": job.wall_s}
        return observation(await self._run(stage, task, job.wall_s + SPARE_S), stage.plan, stage.texts)

    async def evaluate(
        self, job: EvaluationJob, candidates: Sequence[Candidate], order: Sequence[str], limits: EvaluationLimits
    ) -> Sequence[CandidateResult]:
        """Run the tests with these ids on each candidate, in order; stop at as many failures as `limits` allows.

        Raises:
            SandboxError: nothing could be run, or the tests are not pytest tests.
        """
        stage = await self._stage(job)
        shared = {
            "kind": "evaluate", "order": list(order), "plain": limits.is_uninstrumented,
            "wall_s": limits.wall_s, "steps": limits.steps, "budget_s": BUDGET_S, "whole_s": job.wall_s,
            "max_failures": limits.max_failures,
        }  # fmt: skip

        async def run(numbers: Sequence[int], alone: bool) -> RunReport:
            texts = [(candidates[n].path, candidates[n].scope, candidates[n].text) for n in numbers]
            task = {**shared, "candidates": texts, "count": 1 if alone else _count(job)}
            return _report(await self._run(stage, task, BUDGET_S + job.wall_s), numbers, stage)

        return await Batch(len(candidates), run).outcomes()

    async def probe(
        self, job: EvaluationJob, variants: Sequence[Candidate], calls: Sequence[Call], limits: EvaluationLimits
    ) -> Sequence[Sequence[CallResult]]:
        """Make the calls with each variant; return one list of results for each variant, in the order of the calls.

        Raises:
            SandboxError: nothing could be run.
        """
        if not variants or not calls:
            return [[] for _ in variants]
        stage = await self._stage(job)
        task = {
            "kind": "probe", "variants": [(each.path, each.scope, each.text) for each in variants],
            "calls": [(call.path, call.scope, call.args, call.kwargs) for call in calls], "count": _count(job),
            "wall_s": limits.wall_s, "steps": limits.steps, "budget_s": job.wall_s,
        }  # fmt: skip
        answer = await self._run(stage, task, job.wall_s * len(variants) + SPARE_S)
        return answers(list(rows(answer)), len(variants), len(calls))

    async def _stage(self, job: EvaluationJob) -> Stage:
        for staged_job, stage in self._stages:
            if staged_job is job:
                return stage
        new_stage = await plan_stage(job, self._suite_runs)
        self._stages.append((job, new_stage))
        return new_stage

    async def _run(self, stage: Stage, task: Mapping[str, object], wall_s: float) -> ProgramAnswer | None:
        job = replace(stage.job, limits=replace(stage.job.limits or RUN_LIMITS, cpu_s=wall_s))
        ready, result = await self._suite_runs.executed(job, stage.with_task(task))
        return read_program(result, ready.key)


QUIET = (
    "-o", "addopts=", "-p", "no:terminal", "-p", "no:cacheprovider", "--capture=no", "--continue-on-collection-errors",
)  # fmt: skip
"""Options for pytest. They hide output, because nobody reads the output of candidates, and ignore the owner's
`addopts`, which may need plugins that the sandbox lacks.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A job that is ready to run. `texts` cleans the texts in the reports of its runs."""

    job: SuiteJob
    plan: Plan
    texts: Texts

    def with_task(self, task: Mapping[str, object]) -> Plan:
        """Return the plan of a run in which the engine's program inside the sandbox does this task."""
        return replace(self.plan, program=ProgramRun(entry=PROGRAM.entry, job=task))


async def plan_stage(job: EvaluationJob, suite_runs: SuiteRuns) -> Stage:
    """Plan the runs of a job.

    Raises:
        SandboxError: the job has no pytest tests.
    """
    if any(PurePosixPath(path).suffix in SOURCES for path in job.tests):
        raise SandboxError("the engine evaluates candidates only with Python tests, but this task has JavaScript tests")
    suite = SuiteJob(
        base=job.base, change=job.change, given=job.tests, command=job.command, start=job.start,
        packages=job.packages, whole_tree=job.whole_tree, limits=job.limits,
    )  # fmt: skip
    suite_plan = await suite_runs.plan(suite)
    if suite_plan.words is None or not suite_plan.files:
        raise SandboxError("the engine evaluates candidates only with pytest tests, but this task names none")
    plan = replace(tests_alone(suite_plan), words=(*QUIET, *(suite_plan.words or ())))
    return Stage(job=suite, plan=plan, texts=Texts(frozenset(plan.order), lambda _path: None, suite_runs.mask))


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
    """The report of a run.

    `outcomes` maps the numbers of candidates to their results. `begun` holds the numbers of the candidates that were
    begun. `ended` is true if the run ended normally.
    """

    outcomes: dict[int, CandidateResult]
    begun: frozenset[int]
    ended: bool


Run = Callable[[Sequence[int], bool], Awaitable[RunReport]]
"""Function that runs the candidates with these numbers. If its second argument is True, it runs them one at a time."""


class Batch:
    """A batch of candidates, identified by their numbers.

    Args:
        count: the number of candidates.
        run: tries some of them in one sandbox.
    """

    def __init__(self, count: int, run: Run) -> None:
        self._count, self._run = count, run
        self._waiting = deque(
            (list(range(first, min(first + AT_ONCE, count))), False) for first in range(0, count, AT_ONCE)
        )
        self._outcomes: dict[int, CandidateResult] = {}
        self._deaths, self._silent = 0, True

    async def outcomes(self) -> list[CandidateResult]:
        """Return the result of each candidate.

        Raises:
            SandboxError: nothing could be run.
        """
        while self._waiting and self._deaths <= DEATHS:
            numbers, alone = self._waiting.popleft()
            report = await self._run(numbers, alone)
            self._outcomes |= report.outcomes
            self._silent &= not report.begun
            if left := [number for number in numbers if number not in self._outcomes]:
                self._again(left, report, alone)
        if self._silent and self._deaths > DEATHS:
            raise SandboxError("the engine could not try any candidate: each run ended without an answer")
        return [self._outcomes.get(number, UNTRIED) for number in range(self._count)]

    def _again(self, left: list[int], report: RunReport, alone: bool) -> None:
        if report.ended and report.outcomes:
            self._waiting.appendleft((left, alone))
            return
        self._deaths += 1
        suspects = [number for number in left if number in report.begun] or left
        if others := [number for number in left if number not in suspects]:
            self._waiting.appendleft((others, alone))
        if len(suspects) == 1:
            self._outcomes[suspects[0]] = CandidateResult(how=RunStatus.CRASHED, error="it ended the sandbox")
            return
        middle = len(suspects) // 2
        self._waiting.extendleft([(suspects[middle:], True), (suspects[:middle], True)])


def _count(job: EvaluationJob) -> int:
    """Return how many forks may run at the same time."""
    return max(1, math.floor(job.cpus))


def _report(answer: ProgramAnswer | None, numbers: Sequence[int], stage: Stage) -> RunReport:
    begun, outcomes = set[int](), dict[int, CandidateResult]()
    for row in rows(answer):
        if row[0] == "begun" and len(row) > 1 and type(row[1]) is int and 0 <= row[1] < len(numbers):
            begun.add(numbers[row[1]])
        elif (result := outcome(row, stage.texts)) and 0 <= result[0] < len(numbers):
            outcomes.setdefault(numbers[result[0]], result[1])
    ended = answer is not None and answer.how == "exited" and answer.exit_code == 0
    return RunReport(outcomes=outcomes, begun=frozenset(begun), ended=ended)


def observation(answer: ProgramAnswer | None, plan: Plan, texts: Texts) -> SuiteObservation:
    """Read an observation; if no test could be collected at all, each test file counts as broken."""
    reader = _ObservationReader(texts)
    for row in rows(answer):
        reader.take(row)
    if not reader.tests and not reader.broken:
        why = ErrorInfo(
            kind="Timeout" if answer and answer.how == "timeout" else "Crash", message="no test was collected"
        )
        return SuiteObservation(broken={file.path: why for file in plan.files})
    return reader.observation()


class _ObservationReader:
    """Reads the lines of a run one by one and ignores those of an unknown form."""

    def __init__(self, texts: Texts) -> None:
        self._texts = texts
        self.tests: dict[int, ObservedTest] = {}
        self.broken: dict[str, ErrorInfo] = {}
        self._lines: dict[int, Mapping[str, frozenset[int]]] = {}
        self._kinds: dict[str, dict[str, frozenset[str]]] = {}
        self._calls: dict[int, list[Call]] = {}

    def take(self, row: list[Any]) -> None:
        readers: dict[str, Callable[..., None]] = {
            "broken": self._read_breakage,
            "test": self._test,
            "watched": self._read_observation,
        }
        if row[0] in readers:
            try:
                readers[row[0]](*row[1:])
            except (ValueError, TypeError, KeyError, AttributeError):
                return

    def observation(self) -> SuiteObservation:
        ran = dict(sorted(self.tests.items()))
        ordered = sorted(ran, key=lambda number: ran[number].passed)
        return SuiteObservation(
            tests=tuple(self._with_lines(number, test) for number, test in ran.items()),
            broken=self.broken,
            kinds=self._kinds,
            calls=tuple(call for number in ordered for call in self._calls.get(number, ())),
        )

    def _with_lines(self, number: int, test: ObservedTest) -> ObservedTest:
        return replace(test, lines=self._lines.get(number, {}))

    def _read_breakage(self, name: str, details: Any) -> None:
        self.broken[show_id(name)] = _error_info(details, self._texts, tests=True)

    def _test(self, number: int, name: str, how: str, seconds: float, steps: int, details: Any) -> None:
        if how == "skipped":
            return
        error = _error_info(details, self._texts, tests=False) if details else None
        self.tests[int(number)] = ObservedTest(
            id=show_id(name), how=RunStatus(how), duration_s=float(seconds), steps=int(steps), error=error
        )

    def _read_observation(self, number: int, lines: Any, kinds: Any, calls: Any) -> None:
        self._lines[int(number)] = {str(path): _bits(text) for path, text in lines.items() if text != "0x0"}
        for scope_key, names in kinds.items():
            seen = self._kinds.setdefault(str(scope_key), {})
            for name, types in names.items():
                seen[str(name)] = seen.get(str(name), frozenset()) | frozenset(map(str, types))
        self._calls[int(number)] = [
            Call(path=str(path), scope=str(scope), args=args, kwargs=named) for path, scope, args, named in calls
        ]


def _bits(text: str) -> frozenset[int]:
    """Return the numbers of the bits that are set in a hexadecimal number."""
    if len(text) > MOST_LINES // 4:
        raise ValueError("too many lines")
    return frozenset(index for index, bit in enumerate(reversed(f"{int(text, 16):b}")) if bit == "1")


def rows(answer: ProgramAnswer | None) -> Iterator[list[Any]]:
    """Yield the lines of an answer that are JSON lists beginning with a string."""
    for line in answer.lines if answer else ():
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if type(row) is list and row and type(row[0]) is str:
            yield row


def outcome(row: list[Any], texts: Texts) -> tuple[int, CandidateResult] | None:
    """Return the number and the result of the candidate that a line reports; None for other lines."""
    try:
        word, number, how, passed, error = row
        status = RunStatus(how)
    except (ValueError, TypeError):
        return None
    if word != "tried" or type(number) is not int or type(passed) is not int or type(error) is not str:
        return None
    return number, CandidateResult(how=status, passed=passed, error=texts.text(error))


def _error_info(details: Any, texts: Texts, *, tests: bool) -> ErrorInfo:
    """Read an error with the frames of the tree's own files; frames in tests are included only if `tests` is true.

    Raises:
        ValueError, TypeError, KeyError: the details have another form.
    """
    frames = [(str(path), int(line), str(function)) for path, line, function in details["frames"]]
    own = [frame for frame in frames if not frame[0].startswith(("/", "<")) and (tests or frame[0] not in texts.tests)]
    return ErrorInfo(
        kind=texts.text(str(details["kind"])),
        message=texts.text(str(details["message"])),
        frames=tuple((path, line, texts.text(function)) for path, line, function in own),
    )


def answers(rows: Sequence[list[Any]], variants: int, calls: int) -> list[list[CallResult]]:
    """Return the results of the calls for each variant; a missing result counts as crashed."""
    table = [[MISSING] * calls for _ in range(variants)]
    for row in rows:
        try:
            word, variant, first, raw_results = row
            results = [
                CallResult(how=RunStatus(how), value=value, raised=tuple(map(str, raised)))
                for how, value, raised in raw_results
            ]
        except (ValueError, TypeError):
            continue
        if word == "answered" and type(variant) is type(first) is int and 0 <= variant < variants and first >= 0:
            table[variant][first : first + len(results)] = results[: max(0, calls - first)]
    return table
