"""Single runs of a plan, and the looks at the tree without the change that a verdict may need."""

from __future__ import annotations

import ast
import asyncio
import sys
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Protocol

from nightshift.core.code.dependencies import ImportCache
from nightshift.core.code.parsing import parse
from nightshift.core.code.tree import Tree
from nightshift.core.errors import SandboxError
from nightshift.core.isolation import RUN_LIMITS, Ended, SandboxLimits, SandboxResult
from nightshift.core.ports import Sandbox
from nightshift.core.tasks.task import Change, Files
from nightshift.core.tasks.verdicts import Result, SuiteJob
from nightshift.core.text.encoding import encode
from nightshift.sandbox import packing
from nightshift.sandbox.cleaning import Mask
from nightshift.sandbox.runtime import Runtime
from nightshift.sandbox.trees import TreeStore
from nightshift.verdict import answer, environment, integrity, judging, reports
from nightshift.verdict.answer import CaseReport
from nightshift.verdict.baseline import Baselines
from nightshift.verdict.cut_off import CutOffs
from nightshift.verdict.environments.layers import LayerStore
from nightshift.verdict.environments.making import Environments, runtime_of
from nightshift.verdict.judging import Judgement, Run
from nightshift.verdict.languages import dialect_of, plan
from nightshift.verdict.languages.plan import Plan
from nightshift.verdict.languages.test_config import LIBRARY_NAMES
from nightshift.verdict.shaping import Names
from nightshift.verdict.stage import Staged, staged
from nightshift.verdict.time_limits import SuiteTimes, TimeLimit


class _Proof(Protocol):
    """`SuiteRuns.run` or `SuiteRuns.proof`."""

    def __call__(self, job: SuiteJob, planned: Plan, time: TimeLimit, *, alone: bool) -> Awaitable[Run]: ...


REMEMBERED = 64
OUTPUT_BYTES = 16 << 20
"""What one test may print; the last three thousand bytes are kept of those that fail."""
RECENT = 8
MOST_ALONE = 8
"""So many must-fail copies that did not fail as they must are looked at one by one."""
SHARE, ALONE = 0.5, 0.1
"""After this share of its time a run begins no further file of the base's tests; after less in one that runs alone, for
some file took the rest of the time before."""


class SuiteRuns:
    """Runs plans in one sandbox.

    Args:
        sandbox: where untrusted code runs.
        runtime: the interpreter and libraries inside.
        staging_dir: keeps whole trees between runs; made if need be.
        mask: takes secrets out of what runs report.
        limits: of a run where its job says nothing.
        imports: remembers what files import; may be shared.
        layers: the packages that jobs may ask for; without it such a job is refused.
        environments: those of repositories; likewise.
        times: what suites took when they passed.
        baselines: how the tests of trees ended before anything was changed.
    """

    def __init__(  # noqa: PLR0913 (three parts and seven keywords, of which six have a default)
        self,
        sandbox: Sandbox,
        runtime: Runtime,
        staging_dir: Path,
        *,
        mask: Mask,
        limits: SandboxLimits | None = None,
        imports: ImportCache | None = None,
        layers: LayerStore | None = None,
        environments: Environments | None = None,
        times: SuiteTimes | None = None,
        baselines: Baselines | None = None,
    ) -> None:
        self.sandbox, self.runtime, self.mask, self._layers = sandbox, runtime, mask, layers
        self._environments = environments
        self._limits, self._imports = (
            limits or SandboxLimits(output_bytes=OUTPUT_BYTES).with_run(RUN_LIMITS),
            imports or ImportCache(),
        )
        self.times, self._baselines = times or SuiteTimes(), baselines or Baselines()
        self._cut_offs = CutOffs(self.times)
        self._trees = TreeStore(staging_dir)
        self._planned: deque[tuple[SuiteJob, Plan]] = deque(maxlen=RECENT)
        self._red: OrderedDict[tuple[str, ...], bool] = OrderedDict()
        self._commands: OrderedDict[tuple[str, ...], Run] = OrderedDict()

    async def plan(self, job: SuiteJob) -> Plan:
        """Plan a job's run; names are drawn anew each time."""
        planned = await asyncio.to_thread(dialect_of(job.language).make, job, self._imports, self.runtime)
        self._planned.append((job, planned))
        return planned

    async def planned(self, job: SuiteJob) -> Plan:
        """The last plan of this very job, for what needs no names of its own."""
        return next((made for known, made in reversed(self._planned) if known is job), None) or await self.plan(job)

    def time(self, job: SuiteJob) -> TimeLimit:
        """How long a run of a job may take."""
        return TimeLimit.of(job.sandbox_limits(self._limits))

    async def settled(self, job: SuiteJob, planned: Plan) -> Run:
        """As `proof`, or `run` for a command, where whatever a limit of time cut off has run again alone.

        Raises:
            SandboxError: nothing could be run.
        """
        return await self._settled(job, planned, self.run if planned.command else self.proof)

    async def _settled(self, job: SuiteJob, planned: Plan, proof: _Proof) -> Run:
        def whole(plan: Plan, time: TimeLimit, alone: bool) -> Awaitable[Run]:
            return proof(job, plan, time, alone=alone)

        def part(plan: Plan, time: TimeLimit, alone: bool) -> Awaitable[Run]:
            return self.run(job, plan, time, alone=alone)

        return await self._cut_offs.settled(planned, self.time(job), whole, part)

    async def run(self, job: SuiteJob, planned: Plan, time: TimeLimit | None = None, *, alone: bool = False) -> Run:
        """Stage a plan and run it.

        Args:
            job: what it is of.
            planned: what to run.
            time: how long it may take, where that is less than the job's limit.
            alone: while nothing else runs in the sandbox.

        Raises:
            SandboxError: nothing could be run.
        """
        time = time or self.time(job)
        ready, result = await self.executed(job, planned, time, alone=alone)
        answered = answer.read(result, ready.key)
        told = None
        if planned.command and answered:
            told = await asyncio.to_thread(reports.read, answered.session)
        return Run(
            plan=planned,
            result=result,
            answer=answered,
            names=self._names(job, planned),
            limits=job.sandbox_limits(self._limits),
            time=time,
            digest=ready.digest,
            task=_task(job),
            reported=told,
        )

    async def proof(self, job: SuiteJob, planned: Plan, time: TimeLimit | None = None, *, alone: bool = False) -> Run:
        """Run a plan's tests, and their must-fail copies in a sandbox of their own unless the split run had them all.

        A copy cannot tell that it is one by what happened before it, and its effects reach no original. Where a test
        fails the copies have nothing to say, and are ended. The arguments are those of `run`.

        Raises:
            SandboxError: nothing could be run.
        """
        apart = plan.copies(planned)
        if apart is None:
            return await self.run(job, planned, time, alone=alone)
        if planned.split and planned.split.whole:
            run = await self._originals(job, planned, time, alone=alone)
            if not judging.needs_copies(run):
                return run
            return await self._cleared(
                job, apart, replace(run, copies=await self._copies(job, apart, time, alone=alone))
            )
        copies = asyncio.create_task(self._copies(job, apart, time, alone=alone))
        try:
            run = await self._originals(job, planned, time, alone=alone)
            if not judging.needs_copies(run):
                return run
            return await self._cleared(job, apart, replace(run, copies=await copies))
        finally:
            copies.cancel()
            await asyncio.gather(copies, return_exceptions=True)  # where a test fails, nobody asks what became of them

    async def _cleared(self, job: SuiteJob, apart: Plan, run: Run) -> Run:
        """The same with a second look at copies that did not fail: those before them may have left something behind.

        It is a look at their originals as well, in a run that is told the same and in which these must pass: a second
        look at copies alone would say to the tested code that these are copies. Of copies that leave something behind
        for one another each is looked at in a run of its own.
        """
        doubtful = judging.doubtful_copies(run)
        if not doubtful or run.copies is None or apart.launch:
            return run
        run = await self._looked_at_again(job, apart, run, doubtful)
        left = judging.doubtful_copies(run) if len(doubtful) > 1 else ()
        for copy in left if len(left) <= MOST_ALONE else ():
            run = await self._looked_at_again(job, apart, run, (copy,))
            if copy in judging.doubtful_copies(run):
                break
        return run

    async def _looked_at_again(self, job: SuiteJob, apart: Plan, run: Run, doubtful: tuple[str, ...]) -> Run:
        """A run with those of its copies that fail as they must in a run of these alone, where their originals pass."""
        of = dict(zip(doubtful, _of_originals(doubtful, run.plan), strict=True))
        again, originals = await asyncio.gather(
            self.run(job, replace(apart, only=doubtful, split=None)),
            self.run(job, replace(plan.originals(run.plan), only=tuple(of.values()), split=None)),
        )
        ended, passed = _believed(again), _believed(originals)
        cleared = {copy for copy in doubtful if integrity.tell_apart(ended.get(copy, ()), passed.get(of[copy], ()))}
        if not cleared:
            return run
        assert again.answer is not None
        kept = [test for test in judging.copies_of(run) if test.id.partition("[")[0] not in cleared]
        session = replace(again.answer.session, tests=(*kept, *(test for copy in cleared for test in ended[copy])))
        return replace(run, copies=replace(again, plan=apart, answer=replace(again.answer, session=session)))

    async def _copies(self, job: SuiteJob, apart: Plan, time: TimeLimit | None, *, alone: bool) -> Run:
        """The run of must-fail copies; what their sandbox's split run says is known already."""
        return replace(await self.run(job, apart, time, alone=alone), plan=replace(apart, split=None))

    async def _originals(self, job: SuiteJob, planned: Plan, time: TimeLimit | None, *, alone: bool) -> Run:
        run = await self.run(job, plan.originals(planned), time, alone=alone)
        return replace(run, plan=planned, names=self._names(job, planned))

    def _names(self, job: SuiteJob, planned: Plan) -> Names:
        return Names(planned.files, _reader(planned, job.base), self.mask)

    async def executed(
        self, job: SuiteJob, planned: Plan, time: TimeLimit | None = None, *, alone: bool = False
    ) -> tuple[Staged, SandboxResult]:
        """A plan as it was staged, and what the isolation says of its run. The arguments are those of `run`.

        A run of which somebody killed a process runs once more: only what kills itself does it again.

        Raises:
            SandboxError: nothing could be run.
        """
        runtime = await runtime_of(self.runtime, job, layers=self._layers, environments=self._environments)
        limits = job.sandbox_limits(self._limits)
        time = time or self.time(job)
        share = ALONE if alone else SHARE
        stage = partial(staged, planned, job.base, runtime, self._trees, limits, time, share)
        ready = await asyncio.to_thread(stage)
        result = await self.sandbox.run(replace(ready.job, alone=alone))
        if answer.was_killed(result, ready.key):
            ready = await asyncio.to_thread(stage)
            result = await self.sandbox.run(replace(ready.job, alone=alone))
        return ready, result

    async def before(self, job: SuiteJob, paths: Collection[str]) -> Mapping[str, Result]:
        """The tests in these files that do not pass without the change, with how they end; of given ones what skips.

        Raises:
            SandboxError: nothing could be run.
        """
        given = {path: text for path, text in job.given.items() if path in paths}
        skipped = await self._before(job, tuple(given), {**job.given}) if given else {}
        of_base = await self._before(job, [path for path in paths if path not in given], {})
        return {**of_base, **{test: result for test, result in skipped.items() if result is Result.SKIPPED}}

    async def _before(self, job: SuiteJob, paths: Collection[str], given: Files) -> Mapping[str, Result]:
        around = f"{self._around(job)}{_digest(given) if given else ''}"
        known = {path: self._baselines.get(f"{around}:{path}") for path in sorted(paths)}
        asked = tuple(path for path, tests in known.items() if tests is None)
        if asked:
            beside = () if given else asked
            unchanged = replace(job, given=given, own={}, command=(), regression=beside, only=(), whole_tree=True)
            found = await self._unchanged(unchanged)
            tests = {path: _not_passed(found, path) for path in asked}
            if not found.stopped:
                await self._baselines.learn({f"{around}:{path}": found for path, found in tests.items()})
            known |= tests
        return {test: result for tests in known.values() for test, result in (tests or {}).items()}

    def _around(self, job: SuiteJob) -> str:
        """A digest of the tree without the change, and of all else that a run of its tests sees."""
        runtime = [self.runtime.version, *(str(mount.host) for mount in self.runtime.mounts), *_packages(job)]
        runtime += [job.environment] if job.environment else []
        limits = repr(job.sandbox_limits(self._limits))
        return packing.digest_of({
            **{f"base/{path}": blob for path, blob in job.base.entries().items()},
            "": packing.sha256(encode("\0".join((*runtime, limits, job.language, _digest(job.start))))),
        })  # fmt: skip

    async def command_before(self, job: SuiteJob) -> Run:
        """The run of a job's command without the change; what became of it is remembered for a while.

        Raises:
            SandboxError: nothing could be run.
        """
        key = (job.base.commit, _digest(job.start), *job.command, *_packages(job))
        if key not in self._commands:
            unchanged = replace(job, change={})
            self._commands[key] = await self.run(unchanged, await self.plan(unchanged))
            while len(self._commands) > RECENT:
                self._commands.popitem(last=False)
        return self._commands[key]

    async def fails_before(self, job: SuiteJob) -> bool:
        """Tell whether one of the self-written tests fails without the change.

        Raises:
            SandboxError: nothing could be run.
        """
        present = job.base.entries().keys() | job.start.keys()
        bare = not (self.runtime.has_environment or job.packages or job.environment)
        if bare and surely_fail_before(job.own, job.change, present):
            return True
        key = (job.base.commit, _digest({**job.start, **job.own}), job.environment, *_packages(job))
        if key not in self._red:
            found = await self._unchanged(replace(job, given={}, command=(), regression=()))
            self._red[key] = found.stopped or any(one.result is not Result.PASSED for one in found.results)
            while len(self._red) > REMEMBERED:
                self._red.popitem(last=False)
        return self._red[key]

    async def _unchanged(self, job: SuiteJob) -> Judgement:
        """What a run of the job's tests without its change says."""
        unchanged = replace(job, change={})
        run = await self._settled(unchanged, plan.originals(await self.plan(unchanged)), self.run)
        found, left = judging.judge(run), run.left
        while left and not found.stopped:
            run = await self._settled(unchanged, plan.rest(run.plan, left), self.run)
            found, left = found.with_rest(judging.judge(run)), fewer(left, run)
        return found


def _task(job: SuiteJob) -> environment.Task | None:
    """What the task is about; None where nobody said it."""
    if job.asked is None or not job.command:
        return None
    modules = {path.removeprefix("src/").partition("/")[0].removesuffix(".py") for path in job.base.entries()}
    return environment.Task(words=job.asked, modules=frozenset(modules))


def fewer(left: tuple[str, ...], run: Run) -> tuple[str, ...]:
    """Of files that were left for a run those that it left for a further one.

    Raises:
        SandboxError: it began none of them, which no honest run does.
    """
    if len(run.left) >= len(left):
        raise SandboxError("a run of tests began none of the files that were left for it")
    return run.left


def _not_passed(found: Judgement, path: str) -> Mapping[str, Result]:
    """The tests of a file that did not pass; of a run that was stopped those that were seen to fail."""
    nothing = {Result.PASSED, Result.NOT_REACHED, Result.MISSING}
    ended = {one.id: one.result for one in found.results if one.id.partition("::")[0] == path}
    skipped = {test: Result.SKIPPED for test in found.skipped if test.partition("::")[0] == path}
    return skipped | {test: result for test, result in ended.items() if result not in nothing}


def _of_originals(copies: Sequence[str], planned: Plan) -> tuple[str, ...]:
    """The ids of the tests that copies were made of."""
    staged = {file.must_fail_path: file.staged for file in planned.files}
    return tuple(f"{staged[path]}::{name}" for path, _, name in (copy.partition("::") for copy in copies))


def _believed(run: Run) -> Mapping[str, Sequence[CaseReport]]:
    """How the tests of a run ended, by their ids without parameters; nothing where it cannot be believed."""
    if run.answer is None or run.result.ended is not Ended.EXITED or integrity.doubt(run.answer, run.plan):
        return {}
    return integrity.by_name(run.answer.session.tests)


def _reader(planned: Plan, base: Tree) -> Callable[[str], str | None]:
    """Reads files for excerpts as their owner knows them."""
    originals = {file.path: file.original for file in planned.files}

    def text_of(path: str) -> str | None:
        if path in originals:
            return originals[path]
        raw = planned.texts[path] if path in planned.texts else base.read(path) if path in base.entries() else None
        return None if raw is None else raw.decode("utf-8", "replace")

    return text_of


def _packages(job: SuiteJob) -> list[str]:
    return sorted(f"{name}=={version}" for name, version in job.packages.items())


def _digest(files: Files) -> str:
    return packing.digest_of({path: packing.sha256(encode(text)) for path, text in files.items()})


def surely_fail_before(tests: Files, change: Change, present: Collection[str]) -> bool:
    """Tell whether a test file cannot even be imported without the change, so that no run is needed to see it fail.

    Args:
        tests: the self-written test files.
        change: what is to be missing.
        present: the paths that are there without it.
    """
    tops = {path.removeprefix("src/").partition("/")[0].removesuffix(".py") for path in present}
    added = {path.removeprefix("src/").partition("/")[0].removesuffix(".py") for path in change if path not in present}
    missing = added - tops - sys.stdlib_module_names - LIBRARY_NAMES
    return any(name in missing for path, text in tests.items() if path.endswith(".py") for name in _imported(text))


def _imported(text: str) -> Iterator[str]:
    """Top-level names that a module imports unconditionally."""
    try:
        body = parse(text).body
    except (SyntaxError, ValueError, RecursionError):
        return
    for node in body:
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]
