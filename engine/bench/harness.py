"""Harness of the repair benches: runs the engine in the real sandbox, and lets the suite runner judge its findings.

A change is judged as the daemon judges a task's change: by the given tests, must-fail copies, and held-out cases. If
the judge refuses the change, the engine is asked again with that change excluded, as long as there is time.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace

from bench.false_alarms import open_it
from nightshift.core.code.tree import FileTree
from nightshift.core.isolation import RunLimits
from nightshift.core.tasks.held_out import SHARE, HeldOut
from nightshift.core.tasks.task import Change, Files, TaskSpec, digest
from nightshift.core.tasks.verdicts import Result, SuiteJob, Verdict
from nightshift.core.text.masking import Masker
from nightshift.verdict.held.holding import hold
from nightshift.verdict.runner import SuiteRunner
from nightshift.verdict.suite_runs import SuiteRuns
from nightshift_engine import PROGRAM
from nightshift_engine.engine import Engine
from nightshift_engine.evaluation import EvaluationJob, Evaluator, Synthesiser
from nightshift_engine.evaluator import SandboxEvaluator
from nightshift_engine.problem import Finding, Problem, settle
from nightshift_engine.synthesis import SandboxSynthesiser

SUITE_S = 20.0
"""Seconds that one run of a suite may take."""
JUDGED_S = 2.0
"""Seconds of the time limit that are reserved for the judge."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One task; `hidden` maps the paths of hidden tests, which judge the fix afterwards, to their texts."""

    name: str
    spec: TaskSpec
    hidden: Files


@dataclass(slots=True, kw_only=True)
class Outcome:
    """The outcome of one task.

    Attributes:
        change: the change that the judge accepted; None if there is none.
        refused: the judge's reasons for refusing earlier findings, in order.
        hidden_why: why the accepted change fails the hidden tests; empty if it passes or there are none.
        why_not: why there is no change.
        kind: the kind of edit.
        tried: number of candidates in all rounds.
        took_s: seconds of the engine and the judge together.
    """

    name: str
    change: Change | None = None
    refused: list[str] = field(default_factory=list)
    hidden_why: str = ""
    why_not: str = ""
    kind: str = ""
    warning: str = ""
    tried: int = 0
    took_s: float = 0.0

    @property
    def fixed(self) -> bool:
        """True if the judge accepted a change in time."""
        return self.change is not None

    @property
    def wrong(self) -> bool:
        """True if a change was accepted and fails hidden tests."""
        return self.fixed and bool(self.hidden_why)


@dataclass(frozen=True, slots=True, kw_only=True)
class Harness:
    """An engine and a judge, on `cores` cores."""

    evaluator: Evaluator
    synthesiser: Synthesiser | None
    suite: SuiteRunner
    cores: int

    async def repair(self, row: Row, within_s: float) -> Outcome:
        """Look for a fix of one task and judge it, within `within_s` seconds plus the time of the hidden tests."""
        done, started = Outcome(name=row.name), time.perf_counter()
        change: Change | None = None
        try:
            async with asyncio.timeout(within_s):
                change = await self._find_accepted(row, done, started + within_s - JUDGED_S)
        except TimeoutError:
            done.why_not = "out of time"
        except Exception as error:  # noqa: BLE001 (a bench tells what broke and goes on)
            done.why_not = f"broke: {error!r}"
        done.took_s = time.perf_counter() - started
        if change is not None:
            done.change, done.hidden_why = change, await self._find_hidden_refusal(row, change)
        return done

    async def judge(self, row: Row, change: Change, held: HeldOut | None = None) -> Verdict:
        """Return the full verdict on a change on top of the task's files."""
        spec = row.spec
        job = SuiteJob(
            base=FileTree({}),
            change={**spec.files, **change},
            given=spec.tests,
            held=held or HeldOut(),
            start=spec.files,
            limits=RunLimits(cpu_s=SUITE_S, cpus=float(self.cores)),
        )
        return await self.suite.judge(job)

    async def show_given(self, row: Row) -> Row:
        """Return the task as the engine sees it, without the held-out cases of its tests."""
        held = await asyncio.to_thread(hold, row.spec, (), SHARE)
        return replace(row, spec=replace(row.spec, tests={**row.spec.tests, **held.shown}))

    async def _find_accepted(self, row: Row, done: Outcome, end: float) -> Change | None:
        """Return the change of the first finding that the judge accepts; None if there is none in time."""
        engine = Engine(self.evaluator, self.synthesiser)
        held = await asyncio.to_thread(hold, row.spec, (), SHARE)
        job = self._job(row, held)
        whole_tests, excluded = row.spec.tests if held.shown else {}, frozenset[str]()
        while (left := end - time.perf_counter()) > 0:
            problem = Problem(
                job=job,
                whole_tests=whole_tests,
                task_id=1,
                description=row.spec.description,
                excluded=excluded,
                budget_s=left,
            )
            finding = await engine.solve(problem, lambda _progress: None)
            _note(done, finding)
            if finding.change is None:
                return None
            verdict = await self.judge(row, finding.change, held.seen() if finding.saw_held_out else held)
            if verdict.passed:
                return finding.change
            done.refused.append(verdict.reason)
            done.why_not = f"refused: {verdict.reason}"
            excluded |= {digest(settle(job.base, {**job.change, **finding.change}))}
        return None

    async def _find_hidden_refusal(self, row: Row, change: Change) -> str:
        """Return why the hidden tests refuse a change; empty if they all pass."""
        verdict = await self.judge(replace(row, spec=replace(row.spec, tests={**row.spec.tests, **row.hidden})), change)
        fails = [case for case in verdict.results if case.result is not Result.PASSED]
        if verdict.results and not fails:
            return ""
        return f"{fails[0].id}: {fails[0].message.partition(chr(10))[0]}" if fails else verdict.reason

    def _job(self, row: Row, held: HeldOut) -> EvaluationJob:
        """Make the engine's job: the task without the held-out cases of its tests."""
        spec = row.spec
        return EvaluationJob(
            base=FileTree({}),
            change=dict(spec.files),
            tests={**spec.tests, **held.shown},
            start=spec.files,
            wall_s=SUITE_S,
            cpus=float(self.cores),
        )


def _note(done: Outcome, finding: Finding) -> None:
    done.tried += finding.tried
    done.kind, done.warning, done.why_not = finding.kind, finding.warning, finding.why_not


@contextmanager
def _on(cores: int) -> Iterator[None]:
    """Restrict the process and its children to the first `cores` cores that it may use."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, set(sorted(before)[:cores]))
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@asynccontextmanager
async def harness_on(cores: int) -> AsyncIterator[Harness]:
    """Open a harness whose sandboxes run on this number of cores."""
    with _on(cores):
        async with open_it("auto", cores, [PROGRAM]) as (resources, runtime, folder):
            staging, mask = folder / "staging", Masker()
            suite_runs = SuiteRuns(resources.sandbox, runtime, staging, mask=mask)
            suite = SuiteRunner(resources.sandbox, runtime, emit=lambda _event: None, staging_dir=staging, mask=mask)
            yield Harness(
                evaluator=SandboxEvaluator(suite_runs),
                synthesiser=SandboxSynthesiser(suite_runs),
                suite=suite,
                cores=cores,
            )


def describe(done: Outcome) -> str:
    """Describe the outcome of one task in one line."""
    if not done.fixed:
        word = "not fixed"
    elif done.wrong:
        word = "WRONG    "
    else:
        word = "fixed    "
    why = done.hidden_why or done.why_not or done.warning
    again = f", refused {len(done.refused)} times: {done.refused[0]}" if done.refused else ""
    kind = f"  {done.kind}" if done.kind else ""
    return f"{word}  {done.took_s:6.1f} s  {done.tried:6} tried  {done.name}{kind}{again}{f'  ({why})' if why else ''}"


def middle(values: Sequence[float]) -> str:
    """Describe the median and the 95th percentile of durations in seconds."""
    if not values:
        return "no time"
    ordered = sorted(values)
    p95 = ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))]
    return f"{statistics.median(ordered):.1f} s (median), {p95:.1f} s (95 %)"
