"""Judges a tree: stages it with its tests, runs them in a sandbox, and says what that proved, with the evidence.

A verdict is built in layers, because an exit code, a printed summary or a report file proves nothing: what could steer
the tests is staged from the task or the base alone, a parent that never imports the tested code reports for it, and
each test is run beside a copy of itself that must fail. Further runs follow only where the first one leaves a question:
self-written tests must fail without the change and notice faults in it, and a test of the base that fails now may have
failed before.

This is defence in depth and no proof: code that runs in one process with its tests, and that was written to forge just
this report, can do so. Only answers that are compared outside the sandbox exclude it: `verdict.held` has such cases.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from nightshift.core.code.dependencies import ImportCache
from nightshift.core.code.tree import text_of
from nightshift.core.errors import CommandBlocked, NotJudgeable
from nightshift.core.events import Emitter, Kind, Level
from nightshift.core.isolation import SandboxLimits
from nightshift.core.ports import Sandbox, Sink, Suite
from nightshift.core.tasks.held_out import HeldOut
from nightshift.core.tasks.verdicts import Evidence, Label, Result, SuiteJob, Trial, Verdict
from nightshift.core.text.masking import Masker
from nightshift.sandbox.cleaning import Mask, cleaned
from nightshift.sandbox.runtime import Runtime
from nightshift.verdict import chance, commands, documents, judging, mutation, removal, replay, words
from nightshift.verdict.baseline import Baselines
from nightshift.verdict.checks.hooks.hooks import CommandHooks
from nightshift.verdict.environments.layers import LayerStore
from nightshift.verdict.environments.making import Environments
from nightshift.verdict.held import layer
from nightshift.verdict.held.asking import Asker
from nightshift.verdict.judging import Judgement, Run
from nightshift.verdict.languages import dialect_of, plan
from nightshift.verdict.languages.plan import Plan, Role
from nightshift.verdict.suite_runs import SuiteRuns, fewer
from nightshift.verdict.time_limits import SuiteTimes, Taken

MOST_LEFT_OUT = 3
"""So many tests that end no run of the base either are left out of one; then it is given up."""


class SuiteRunner(Suite):
    """Runs suites in one sandbox; any number of jobs at the same time.

    Args:
        sandbox: where untrusted code runs.
        runtime: the interpreter and libraries inside.
        emit: takes the events.
        staging_dir: keeps whole trees between runs; made if need be.
        limits: of a run where its job says nothing.
        imports: remembers what files import; may be shared.
        mask: takes secrets out of what runs report.
        oracle_inputs: how many inputs an owner's oracle is asked for beside the given ones.
        layers: the packages that jobs may ask for; without it such a job is refused.
        environments: those of repositories; likewise.
        hooks: which test commands never run.
        times: the file that keeps what suites took when they passed; without it that is forgotten with the runner.
        baselines: the file that keeps how tests ended before anything was changed; without it, likewise.
    """

    def __init__(  # noqa: PLR0913 (two parts and eleven keywords, of which nine have a default)
        self,
        sandbox: Sandbox,
        runtime: Runtime,
        *,
        emit: Sink,
        staging_dir: Path,
        limits: SandboxLimits | None = None,
        imports: ImportCache | None = None,
        mask: Mask | None = None,
        oracle_inputs: int = 20,
        layers: LayerStore | None = None,
        environments: Environments | None = None,
        hooks: CommandHooks | None = None,
        times: Path | None = None,
        baselines: Path | None = None,
    ) -> None:
        self._events, self._mask, self._hooks = Emitter(emit), mask or Masker(), hooks or CommandHooks()
        self._runs = SuiteRuns(
            sandbox, runtime, staging_dir, mask=self._mask, limits=limits, imports=imports, layers=layers,
            environments=environments,
            times=SuiteTimes(times), baselines=Baselines(baselines),
        )  # fmt: skip
        self._asker = Asker(self._runs, oracle_inputs)

    async def judge(self, job: SuiteJob) -> Verdict:
        """Run the job's tests and say what they proved.

        Raises:
            SandboxError: nothing could be run.
            CommandBlocked: its command is one of those that never run.
            NotJudgeable: the tree provides a package that the runner consists of.
            ValueError: the job is for some of its tests alone.
        """
        if job.only:
            raise ValueError("a verdict is on all of a job's tests")
        self._check_command(job)
        started = time.monotonic()
        verdict = await layer.judge(job, self._of_tests, self._plainly, self._asker.ask, self._runs.sandbox.name)
        if verdict.passed:
            verdict = await words.check_words(job, verdict, self._asker)
        verdict = cleaned(replace(verdict, duration_s=time.monotonic() - started), self._mask)
        self._emit_result(verdict)
        return verdict

    async def try_out(self, job: SuiteJob) -> Trial:
        """Run the job's tests, or some of them, once and plainly: no must-fail copies, no mutants, no held-out cases.

        Raises:
            SandboxError: nothing could be run.
            CommandBlocked: its command is one of those that never run.
            NotJudgeable: the tree provides a package that the runner consists of.
        """
        started = time.monotonic()
        shown = replace(job, given={**job.given, **job.held.shown}, held=HeldOut())
        if job.only:
            beside = tuple(path for path in job.only if path not in {*shown.given, *shown.own})
            shown = replace(shown, command=(), regression=beside)
        self._check_command(shown)
        planned = plan.tests_alone(await self._runs.plan(shown))
        trial = await self._tried(shown, planned)
        if missing := sorted(set(job.only) - {file.path for file in planned.files}):
            text = f"there is no such test file: {', '.join(missing)}"
            trial = replace(trial, reason=f"{trial.reason}; {text}" if trial.results and trial.reason else text)
        return cleaned(replace(trial, duration_s=time.monotonic() - started), self._mask)

    async def observe(self, job: SuiteJob) -> Trial:
        """Run the job's tests once and tell how each ended: nothing is excused, none is held out or looked at again.

        Raises:
            SandboxError: nothing could be run.
        """
        started = time.monotonic()
        planned = plan.tests_alone(await self._runs.plan(job))
        found = judging.judge(await self._runs.run(job, planned))
        trial = Trial(reason=found.reason, results=found.results, failures=found.failures, dropped=planned.dropped)
        return cleaned(replace(trial, duration_s=time.monotonic() - started), self._mask)

    async def _tried(self, job: SuiteJob, planned: Plan) -> Trial:
        if not planned.files and not planned.command:
            return Trial(reason="there are no tests to run", dropped=planned.dropped)
        _check_judgeable(planned)
        run = await self._runs.run(job, planned)
        if planned.command:
            found = await self._of_command(job, run)
        else:
            found = await self._with_rest(job, *await self._decided(job, run))
        return Trial(
            reason=found.reason,
            results=found.results,
            failures=found.failures,
            before=found.left,
            mended=found.mended,
            dropped=planned.dropped,
        )

    def _check_command(self, job: SuiteJob) -> None:
        if refusal := self._hooks.refusal(job.command, job.allow):
            raise CommandBlocked(f"The test command never runs: {refusal}")

    async def _of_tests(self, job: SuiteJob) -> Verdict:
        """What the job's tests proved."""
        if removal.leaves_nothing(job):
            return removal.passed(job)
        planned = await self._runs.plan(job)
        if job.documents:
            verdict = await self._ran(job, planned) if planned.files or planned.command else documents.passed(job)
            if not (verdict.passed or verdict.results or verdict.failures or verdict.tampering):
                verdict = documents.passed(job)  # whatever reaches the files failed before, and says nothing
            return await documents.judged(job, verdict, self._runs) if verdict.passed else verdict
        if refusal := _refusal(job, planned):
            return self._verdict(planned, refusal, None)
        return await self._ran(job, planned)

    async def _plainly(self, job: SuiteJob) -> Verdict:
        """What the job's tests say in one run; what else has to be asked of them is known."""
        planned = await self._runs.planned(job)
        if job.documents or planned.command:
            return await self._of_tests(job)
        return await self._ran(replace(job, own_proven=True), plan.tests_alone(planned))

    async def _ran(self, job: SuiteJob, planned: Plan) -> Verdict:
        """What a plan proved that there is something to run in."""
        _check_judgeable(planned)
        run = await self._runs.settled(job, planned)
        found = await (self._of_command(job, run) if planned.command else self._weighed(job, run))
        if found.passed and run.answer:
            taken = Taken(cpu_s=run.answer.session.cpu_s, wall_s=run.answer.session.duration_s)
            await asyncio.to_thread(self._runs.times.learn, planned, taken)
        if job.takes_away:
            found = replace(found, notes=(*found.notes, "nothing was added: the tests of the base judge it"))
        return self._verdict(planned, found, run)

    async def _of_command(self, job: SuiteJob, run: Run) -> Judgement:
        """The judgement of a command, with a look at how it ends without the change where that may excuse it."""
        found = commands.judge(run)
        if found.excusable:
            found = commands.judge(replace(run, unchanged=await self._runs.command_before(job)))
        return found

    async def _weighed(self, job: SuiteJob, run: Run) -> Judgement:
        """The judgement of a run, with the further runs it takes where a question is left."""
        run, found = await self._decided(job, run)
        found = await self._with_rest(job, run, found)
        found = await replay.ask_again(job, run, found, self._runs)
        return await mutation.prove_own(job, run, found, self._runs)

    async def _with_rest(self, job: SuiteJob, run: Run, found: Judgement) -> Judgement:
        """A judgement with those of the runs that a long suite takes besides; none where something failed before."""
        left = run.left
        while left and found.passed:
            run, rest = await self._decided(job, await self._runs.settled(job, plan.rest(run.plan, left)))
            found, left = found.with_rest(rest), fewer(left, run)
        if left and not found.passed:
            files = "file" if len(left) == 1 else "files"
            return replace(found, reason=f"{found.reason}; {len(left)} {files} of tests were not reached")
        return found

    async def _decided(self, job: SuiteJob, run: Run) -> tuple[Run, Judgement]:
        """A run and its judgement, with a look at how it was before the change, and a second one at what failed."""
        return await self._seen_again(job, *await self._excused(job, run))

    async def _seen_again(self, job: SuiteJob, run: Run, found: Judgement) -> tuple[Run, Judgement]:
        """The same, unless only tests that stand in the base failed and these pass alone: then all run again.

        That run counts. Such tests failed by chance, or under the load of the machine; of those in a file that the task
        brings it has to be known that they passed before the change.
        """
        ids = {one.id for one in found.results if one.result in {Result.FAILED, Result.ERROR}}
        if found.stopped or not ids or not (failed := _standing(job, run, ids)):
            return run, found
        only = chance.again(run.plan, failed)
        alone = await self._runs.run(job, replace(plan.originals(run.plan), only=only, split=None), alone=True)
        if ids - {one.id for one in judging.judge(alone).results if one.result is Result.PASSED}:
            return run, found
        brought = [file.path for file in run.plan.files if file.path in failed and file.role is not Role.REGRESSION]
        before = await self._runs.before(replace(job, given={}), brought) if brought else {}
        if any(name in before or name.partition("::")[0] in before for name in ids):
            return run, found
        return await self._excused(job, await self._runs.proof(job, run.plan, alone=True))

    async def _excused(self, job: SuiteJob, run: Run) -> tuple[Run, Judgement]:
        """A run and its judgement, with a look at how it was before the change where that may excuse a failure.

        A test of the base that no run came out of before the change either is left out, and the rest runs again.
        """
        before = dict[str, Result]()
        for _ in range(MOST_LEFT_OUT):
            found = judging.judge(run)
            if not found.questioned:
                break
            before |= await self._runs.before(job, found.questioned)
            run = replace(run, before=before)
            found, stuck = judging.judge(run), run.names.id(run.cut_in)
            if not (found.stopped and run.before and stuck in run.before):
                return run, found
            run = await self._runs.settled(job, replace(run.plan, without=(*run.plan.without, run.cut_in)))
        run = replace(run, before=before) if before else run
        return run, judging.judge(run)

    def _verdict(self, planned: Plan, found: Judgement, run: Run | None) -> Verdict:
        return Verdict(
            passed=found.passed,
            reason=found.reason or _praise(found),
            evidence=Evidence(
                tree=run.digest if run else "",
                sandbox=self._runs.sandbox.name,
                label=_label(planned),
                ids=tuple(result.id for result in found.results),
                twins=found.copies_failed,
                complete=planned.closure is None,
                python=run.answer.python if run and run.answer else self._runs.runtime.version,
                dropped=planned.dropped,
                notes=found.notes,
                mutants=found.mutants,
                suites={file.path: file.role.value for file in planned.files},
            ),
            results=found.results,
            failures=found.failures,
            before=found.left,
            mended=found.mended,
            weak=found.weak,
            tampering=found.tampering,
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


def _standing(job: SuiteJob, run: Run, ids: Collection[str]) -> dict[str, set[str]]:
    """Path to names of these tests without their parameters; nothing where one does not stand in the base."""
    files, found = {file.path: file for file in run.plan.files}, defaultdict[str, set[str]](set)
    for path, _, name in (test.partition("::") for test in ids):
        bare = name.partition("[")[0]
        if path not in files or not chance.stands(files[path], bare, text_of(job.base, path)):
            return {}
        found[path].add(bare)
    return found


def _check_judgeable(planned: Plan) -> None:
    """Judge nothing where the tests would meet the runner's own copy of what they test."""
    if planned.not_judged and not planned.command:
        raise NotJudgeable(planned.not_judged)


def _refusal(job: SuiteJob, planned: Plan) -> Judgement | None:
    """Why a plan need not be run at all."""
    if not planned.files and not planned.command:
        return Judgement(reason="there are no tests to judge by")
    own = [file for file in planned.files if file.role is Role.OWN]
    if own and not any(dialect_of(job.language).checks_something(file.original) for file in own):
        weak = tuple(f"{file.path}::{name}" for file in own for name in file.names.values())
        return Judgement(reason="the self-written tests hold no assertion: they prove nothing", weak=weak)
    return None


def _praise(found: Judgement) -> str:
    count = len(found.results)
    return f"{count} test{'s' if count > 1 else ''} passed" if count else "the command ended with exit status 0"


def _label(planned: Plan) -> Label:
    roles = {file.role for file in planned.files}
    if planned.command:
        return Label.EXIT_CODE
    return Label.SELF_TESTED if Role.OWN in roles and not roles & {Role.GIVEN, Role.COMMAND} else Label.TESTS_PASSED
