"""Judges a change: runs the tests of the tree with and without the change, and looks for evidence against it.

The run with the change decides whether the change passes (`verdict.judge`). All other observations are findings, each
made in a sandbox that is thrown away. Findings set the label. A finding refuses the change only if its control, such as
the run without the change, did not show the same observation. There are findings about

- tests that no longer exist,
- must-fail copies of tests that pass although their expected values were altered,
- calls that return different values outside of the tests, and
- tests of the agent that prove nothing.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from nightshift.core.code.dependencies import ImportCache
from nightshift.core.code.tree import list_modules
from nightshift.core.errors import CommandBlocked
from nightshift.core.events import Emitter, Kind, Level
from nightshift.core.isolation import SandboxLimits
from nightshift.core.ports import Sandbox, Sink, Suite
from nightshift.core.tasks.held_out import HeldOut
from nightshift.core.tasks.verdicts import (
    CaseResult,
    Evidence,
    Failure,
    Finding,
    FindingKind,
    Label,
    Result,
    SuiteJob,
    Trial,
    Verdict,
)
from nightshift.core.text.masking import Masker
from nightshift.sandbox.cleaning import Mask, clean
from nightshift.sandbox.runtime import Runtime
from nightshift.verdict import documents, environment, removal, words
from nightshift.verdict.baseline import Baselines
from nightshift.verdict.checks.hooks.hooks import CommandHooks
from nightshift.verdict.environments.layers import LayerStore
from nightshift.verdict.environments.making import Environments
from nightshift.verdict.findings import gone
from nightshift.verdict.findings.search import Found, Search
from nightshift.verdict.held import layer
from nightshift.verdict.held.asking import Asker
from nightshift.verdict.judge import DOUBTS, Judgement, judge, list_excused
from nightshift.verdict.languages import plan
from nightshift.verdict.languages.plan import Plan, Role
from nightshift.verdict.run import NativeRun, bare, file_of
from nightshift.verdict.suite_runs import SuiteRuns
from nightshift.verdict.time_limits import Taken


@dataclass(frozen=True, slots=True, kw_only=True)
class _Both:
    """The runs with and without the change.

    Attributes:
        job: the job.
        planned: the plan of the run with the change.
        native: the run with the change.
        base: the run without the change; None if the base has no tests.
        brought: the test files and single tests that judge the task, whose failures are not excused by the base.
        lacking: the given tests that this machine cannot run.
    """

    job: SuiteJob
    planned: Plan
    native: NativeRun
    base: NativeRun | None
    brought: frozenset[str] = frozenset()
    lacking: frozenset[str] = frozenset()

    def judge(self, findings: Sequence[Finding] = ()) -> Judgement:
        """Return the judgement that follows from both runs and the findings."""
        best = _label(self.job, self.planned, self.native)
        return judge(self.native, self.base, findings, brought=self.brought, lacking=self.lacking, best=best)

    @property
    def excused(self) -> tuple[str, ...]:
        """The excused tests: those that cannot run here, or fail without the change too and are not in `brought`."""
        return tuple(sorted(list_excused(self.native, self.base, self.brought, self.lacking)))

    @property
    def mended(self) -> tuple[str, ...]:
        """The tests that failed without the change and pass with it."""
        base = self.base
        return tuple(sorted(test for test in self.native.passed if base.has_failed(test))) if base else ()

    @property
    def results(self) -> tuple[CaseResult, ...]:
        """The results of all tests that are neither skipped nor excused."""
        aside, cases = set(self.excused), self.native.tests or ()
        return tuple(case for case in cases if case.id not in aside and case.result is not Result.SKIPPED)

    @property
    def failures(self) -> tuple[Failure, ...]:
        """The failures that are not excused; for a command that does not name its tests, the failing exit status."""
        aside, native = set(self.excused), self.native
        counted = tuple(failure for failure in native.failures if failure.id not in aside)
        return counted or ((native.describe_exit(),) if native.tests is None and native.exit_code else ())


class SuiteRunner(Suite):
    """Runs and judges suites in one sandbox. Any number of jobs can run at the same time.

    Args:
        sandbox: runs untrusted code.
        runtime: the interpreter and libraries inside the sandbox.
        emit: receives the events.
        staging_dir: a folder that caches whole trees between runs; created if it is missing.
        limits: the default limits of a run.
        imports: caches the imports of files; may be shared with other users of the cache.
        mask: removes secrets from reports.
        layers: the packages that jobs may ask for. Without them, a job that asks for packages is refused.
        environments: the environments of repositories. Without them, a job that needs an environment is refused.
        hooks: decides which test commands never run.
        baselines: the file that stores the results of runs without a change. Without a file, these results are lost
            with the runner.
    """

    def __init__(  # noqa: PLR0913 (two parts and nine keywords, of which eight have a default)
        self,
        sandbox: Sandbox,
        runtime: Runtime,
        *,
        emit: Sink,
        staging_dir: Path,
        limits: SandboxLimits | None = None,
        imports: ImportCache | None = None,
        mask: Mask | None = None,
        layers: LayerStore | None = None,
        environments: Environments | None = None,
        hooks: CommandHooks | None = None,
        baselines: Path | None = None,
    ) -> None:
        self._events, self._mask, self._hooks = Emitter(emit), mask or Masker(), hooks or CommandHooks()
        self._runs = SuiteRuns(
            sandbox, runtime, staging_dir, mask=self._mask, limits=limits, imports=imports, layers=layers,
            environments=environments, baselines=Baselines(baselines),
        )  # fmt: skip
        self._asker = Asker(self._runs)

    async def judge(self, job: SuiteJob) -> Verdict:
        """Run the job's tests and all further checks, and return the verdict.

        Raises:
            SandboxError: nothing could be run.
            CommandBlocked: the job's command is one that never runs.
            ValueError: the job selects only some of its tests.
        """
        if job.only:
            raise ValueError("a verdict is on all of a job's tests")
        self._check_command(job)
        started = time.monotonic()
        verdict = await layer.judge(job, self._of_tests, self._plainly, self._asker.ask, self._runs.sandbox.name)
        if verdict.passed:
            verdict = await words.check_words(job, verdict, self._asker)
        verdict = clean(replace(verdict, duration_s=time.monotonic() - started), self._mask)
        self._emit_result(verdict)
        return verdict

    async def try_out(self, job: SuiteJob) -> Trial:
        """Run the job's tests once, or only the test files in `job.only`.

        There are no must-fail copies, no mutants and no held-out cases.

        Raises:
            SandboxError: nothing could be run.
            CommandBlocked: the job's command is one that never runs.
        """
        started = time.monotonic()
        shown = replace(job, given={**job.given, **job.held.shown}, held=HeldOut())
        if job.only:
            beside = tuple(path for path in job.only if path not in {*shown.given, *shown.own})
            shown = replace(shown, command=(), regression=beside)
        self._check_command(shown)
        planned = await self._runs.plan(shown)
        trial = await self._run_trial(shown, planned)
        if missing := sorted(set(job.only) - {file.path for file in planned.files}):
            text = f"there is no such test file: {', '.join(missing)}"
            trial = replace(trial, reason=f"{trial.reason}; {text}" if trial.results and trial.reason else text)
        return clean(replace(trial, duration_s=time.monotonic() - started), self._mask)

    async def observe(self, job: SuiteJob) -> Trial:
        """Run the job's tests once and return all results.

        No failure is excused, no test is held out, and no test runs a second time.

        Raises:
            SandboxError: nothing could be run.
        """
        planned = plan.tests_alone(await self._runs.plan(job))
        return self._tell_run(await self._runs.run(job, planned))

    async def run_base(self, job: SuiteJob) -> Trial:
        """Return the results of the job's tests without the change.

        The tests run only once for each combination of commit, command and environment; the results are cached.

        Raises:
            SandboxError: nothing could be run.
            CommandBlocked: the job's command is one that never runs.
        """
        self._check_command(job)
        return self._tell_run(await self._runs.base(job) or NativeRun(command=()))

    def _tell_run(self, native: NativeRun) -> Trial:
        """Return a single run as a trial; no failure is excused."""
        decided = judge(native, None)
        ended = (native.describe_exit(),) if native.tests is None and native.exit_code else ()
        trial = Trial(
            reason="" if decided.passed else decided.reason, results=native.tests or (),
            failures=native.failures or ended, duration_s=native.wall_s, command=native.command,
            python=native.python,
        )  # fmt: skip
        return clean(trial, self._mask)

    async def _run_trial(self, job: SuiteJob, planned: Plan) -> Trial:
        if not (planned.files or planned.command):
            return Trial(reason="there are no tests to run", dropped=planned.dropped)
        both = await self._run_both(job, planned)
        decided = both.judge()
        return Trial(
            reason="" if decided.passed else _with_unreached(decided.reason, both.native),
            results=both.results,
            failures=() if decided.passed else both.failures,
            before=both.excused,
            mended=both.mended,
            dropped=planned.dropped,
        )

    def _check_command(self, job: SuiteJob) -> None:
        if refusal := self._hooks.refusal(job.command, job.allow):
            raise CommandBlocked(f"The test command never runs: {refusal}")

    async def _of_tests(self, job: SuiteJob) -> Verdict:
        """Return the verdict of the job's tests. Held-out cases and the task's text are checked elsewhere."""
        if removal.leaves_nothing(job):
            return removal.passed(job)
        planned = await self._runs.plan(job)
        if job.documents:
            verdict = await self._ran(job, planned) if planned.files or planned.command else documents.pass_unrun(job)
            if not (verdict.passed or verdict.results or verdict.failures):
                verdict = documents.pass_unrun(job)  # The tests failed before the change too, so they prove nothing.
            return await documents.judge(job, verdict, self._runs) if verdict.passed else verdict
        if not (planned.files or planned.command or job.command):
            refused = Judgement(passed=False, label=Label.TESTS_PASSED, reason="there are no tests to judge by")
            return self._verdict(_Both(job=job, planned=planned, native=NativeRun(), base=None), refused, Found())
        return await self._ran(job, planned)

    async def _plainly(self, job: SuiteJob) -> Verdict:
        """Return the verdict of one run of the job's tests, without the search for evidence against the change.

        This method runs the complete tests of a job whose shown tests have already passed with the full search. A job
        with documentation or a command is judged in full again.
        """
        if job.documents or job.command:
            return await self._of_tests(job)
        both = await self._run_both(job, await self._runs.plan(job))
        outcome = Found(findings=tuple(gone.find_changed(both.native, both.base)))
        return self._verdict(both, both.judge(outcome.findings), outcome)

    async def _ran(self, job: SuiteJob, planned: Plan) -> Verdict:
        """Return the verdict of a plan that has tests or a command."""
        both = await self._run_both(job, planned)
        outcome, decided, native = Found(), both.judge(), both.native
        best = decided.label
        search = Search(job=job, planned=planned, native=native, base=both.base)
        if decided.passed and decided.label is Label.DOUBTFUL:
            outcome = Found(findings=tuple(search.list_questions()))
            decided = both.judge(outcome.findings)
        elif decided.passed:
            taken = Taken(cpu_s=native.cpu_s, wall_s=native.wall_s)
            self._runs.times.learn(planned, taken)
            outcome = await search.run(self._runs, self._asker)
            decided = both.judge(outcome.findings)
        weak = _list_weak(outcome.findings, planned, native) if decided.passed else ()
        keeps_behaviour = _keeps_behaviour(outcome.findings, planned, native)
        if weak and not (job.told_weak or (job.keeps_behaviour and keeps_behaviour)):
            # Weak tests are refused once, so that the agent can rewrite them.
            decided = replace(decided, passed=False, label=best, reason=_first_reason(outcome.findings, planned))
        elif decided.label is Label.DOUBTFUL and keeps_behaviour:
            decided = replace(decided, label=Label.BEHAVIOUR_KEPT, reason=both.judge().reason)
        notes = ("nothing was added: the tests of the base judge it",) if job.takes_away else ()
        decided = replace(decided, notes=(*decided.notes, *notes))
        return self._verdict(both, decided, outcome, () if decided.passed else weak)

    async def _run_both(self, job: SuiteJob, planned: Plan) -> _Both:
        """Run the tests with and without the change.

        A test that fails only with the change runs once more, alone, unless it belongs to the task or the agent.
        """
        alone = plan.tests_alone(planned)
        native, base = await asyncio.gather(self._runs.settle(job, alone), self._runs.base(job))
        failed = native.failed & base.passed if base and not native.stopped else frozenset[str]()
        failed = frozenset(test for test in failed if file_of(test) not in _list_brought(planned))
        if failed and (again := plan.only_tests(alone, sorted(map(bare, failed)))):
            native = native.with_second_look(await self._runs.run(job, again, alone=True), failed)
        brought, lacking = _list_brought(planned), _list_lacking(job, native)
        if job.command and not job.given:
            # These tests judge the task, and may have failed before because of the very problem that it is about. A
            # lack of the machine excuses them only if they failed before.
            brought, lacking = brought | (native.failed - lacking), frozenset()
        return _Both(job=job, planned=planned, native=native, base=base, brought=brought, lacking=lacking)

    def _verdict(self, both: _Both, decided: Judgement, outcome: Found, weak: tuple[str, ...] = ()) -> Verdict:
        planned, native, results = both.planned, both.native, both.results
        return Verdict(
            passed=decided.passed,
            reason=decided.reason if decided.passed else _with_unreached(decided.reason, native),
            evidence=Evidence(
                tree=native.digest,
                sandbox=self._runs.sandbox.name,
                label=decided.label,
                ids=tuple(case.id for case in results),
                twins=outcome.copies_failed,
                complete=planned.closure is None,
                python=native.python or self._runs.runtime.version,
                dropped=planned.dropped,
                notes=tuple(dict.fromkeys((*native.notes, *decided.notes, *outcome.notes))),
                mutants=outcome.mutants,
                suites={file.path: file.role.value for file in planned.files},
            ),
            results=results,
            failures=() if decided.passed else both.failures,
            before=both.excused,
            mended=both.mended,
            weak=weak,
            findings=decided.findings,
        )

    def _emit_result(self, verdict: Verdict) -> None:
        evidence = verdict.evidence
        if evidence.dropped:
            text = f"not used: {', '.join(sorted(evidence.dropped)[:5])}"
            shown = dict(list(evidence.dropped.items())[:20])
            self._events.emit(Kind.FILES_DROPPED, text, level=Level.WARNING, dropped=shown)
        counts = {result.value: count for result in Result if (count := verdict.count(result))}
        self._events.emit(
            Kind.SUITE_JUDGED,
            f"{'passed' if verdict.passed else 'failed'}: {verdict.reason}"[:500],
            passed=verdict.passed,
            counts=counts,
            twins=evidence.twins,
            label=evidence.label.value,
            sandbox=evidence.sandbox,
            tree=evidence.tree,
            duration_s=round(verdict.duration_s, 3),
        )


def _list_brought(planned: Plan) -> frozenset[str]:
    """List the test files of the task and of the agent."""
    return frozenset(file.path for file in planned.files if file.role in {Role.GIVEN, Role.OWN})


def _list_lacking(job: SuiteJob, native: NativeRun) -> frozenset[str]:
    """List the tests that failed because this machine lacks something, of given tests only if another one passes."""
    failed = [case for case in native.tests or () if case.id in native.failed]
    is_judged = not job.given or any(file_of(test) in job.given for test in native.passed)
    if not failed or job.asked is None or not (job.given or job.command) or not is_judged:
        return frozenset()
    task = environment.Task(words=job.asked, modules=list_modules(job.base), gives_tests=bool(job.given))
    return frozenset(case.id for case in failed if environment.is_to_blame(case, task))


def _with_unreached(reason: str, native: NativeRun) -> str:
    unknown = sum(case.result is Result.NOT_REACHED for case in native.tests or ())
    return f"{reason}; {unknown} of {len(native.tests or ())} tests were not reached" if unknown else reason


_WEAK = frozenset({FindingKind.GREEN_BEFORE, FindingKind.HOLLOW, FindingKind.COPY, FindingKind.IDLE})


def _list_weak(findings: Sequence[Finding], planned: Plan, native: NativeRun) -> tuple[str, ...]:
    """List the agent's tests that prove nothing. If a finding is about a file, all tests of the file are listed."""
    own = {file.path for file in planned.files if file.role is Role.OWN}
    weak = {finding.where for finding in findings if finding.kind in _WEAK and file_of(finding.where) in own}
    tests = (case.id for case in native.tests or ())
    return tuple(test for test in tests if bare(test) in weak or file_of(test) in weak)


def _first_reason(findings: Sequence[Finding], planned: Plan) -> str:
    own = {file.path for file in planned.files if file.role is Role.OWN}
    return next(finding.says for finding in findings if finding.kind in _WEAK and file_of(finding.where) in own)


def _keeps_behaviour(findings: Sequence[Finding], planned: Plan, native: NativeRun) -> bool:
    """Check whether a change counts as one that keeps the behaviour.

    A test of the base that reaches the change must have passed, and the only doubt must be that the agent's own tests
    pass without the change too.
    """
    kinds = {finding.kind for finding in findings if finding.kind in DOUBTS}
    return kinds == {FindingKind.GREEN_BEFORE} and _reaches_base(planned, native)


def _reaches_base(planned: Plan, native: NativeRun) -> bool:
    """Check whether a test of the base that reaches the change passed."""
    of_base = {file.path for file in planned.files if file.role in {Role.REGRESSION, Role.COMMAND}}
    return any(file_of(test) in of_base for test in native.passed)


def _label(job: SuiteJob, planned: Plan, native: NativeRun) -> Label:
    """Choose the label for a change that nothing speaks against."""
    roles = {file.role for file in planned.files}
    if planned.command and not native.is_recorded:
        return Label.EXIT_CODE
    if roles & {Role.GIVEN, Role.COMMAND}:
        return Label.TESTS_PASSED
    if job.keeps_behaviour and _reaches_base(planned, native):
        return Label.BEHAVIOUR_KEPT
    return Label.SELF_TESTED if Role.OWN in roles else Label.TESTS_PASSED
