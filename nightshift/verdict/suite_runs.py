"""Runs the plans of a verdict in the sandbox, with and without the change."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial, reduce
from pathlib import Path

from nightshift.core.code.dependencies import ImportCache
from nightshift.core.code.tree import Tree
from nightshift.core.errors import SandboxError
from nightshift.core.isolation import RUN_LIMITS, SandboxLimits, SandboxResult
from nightshift.core.ports import Sandbox
from nightshift.core.tasks.held_out import HeldOut
from nightshift.core.tasks.task import Files
from nightshift.core.tasks.verdicts import SuiteJob
from nightshift.core.text.encoding import encode
from nightshift.sandbox import packing
from nightshift.sandbox.cleaning import Mask
from nightshift.sandbox.runtime import Runtime
from nightshift.sandbox.trees import TreeStore
from nightshift.verdict import answer
from nightshift.verdict.baseline import Baselines
from nightshift.verdict.environments.layers import LayerStore
from nightshift.verdict.environments.making import Environments, runtime_of
from nightshift.verdict.languages import dialect_of, plan
from nightshift.verdict.languages.plan import Plan
from nightshift.verdict.native import Reported, read_run
from nightshift.verdict.run import NativeRun, bare
from nightshift.verdict.shaping import Texts
from nightshift.verdict.stage import Staged, stage
from nightshift.verdict.time_limits import SuiteTimes, TimeLimit

REMEMBERED = 64
OUTPUT_BYTES = 16 << 20
"""Bytes that one test may print. Of a failing test's output, only the last 3000 bytes are stored."""
RECENT = 8
MOST_AGAIN = 50
"""Maximum number of failed base tests that run a second time alone. If more tests fail, none of them is repeated."""
SHARE, ALONE = 0.5, 0.1
"""Shares of a run's time limit, after which the run begins no further test file of the base.

`SHARE` is for a first run. `ALONE` is for a repeated run; it is smaller, because one of the files may have used up all
the time of the first run.
"""


class SuiteRuns:
    """Runs plans in one sandbox.

    Args:
        sandbox: runs untrusted code.
        runtime: the interpreter and libraries inside the sandbox.
        staging_dir: a folder that caches whole trees between runs; created if it is missing.
        mask: removes secrets from reports.
        limits: the default limits of a run.
        imports: caches the imports of files; may be shared with other users of the cache.
        layers: the packages that jobs may ask for. Without them, a job that asks for packages is refused.
        environments: the environments of repositories. Without them, a job that needs an environment is refused.
        baselines: stores the results of runs without a change.
    """

    def __init__(  # noqa: PLR0913 (three parts and six keywords, of which five have a default)
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
        baselines: Baselines | None = None,
    ) -> None:
        self.sandbox, self.runtime, self.mask, self._layers = sandbox, runtime, mask, layers
        self._environments = environments
        self._limits, self._imports = (
            limits or SandboxLimits(output_bytes=OUTPUT_BYTES).with_run(RUN_LIMITS),
            imports or ImportCache(),
        )
        self.times, self._baselines = SuiteTimes(), baselines or Baselines()
        self._trees = TreeStore(staging_dir)
        self._planned: deque[tuple[SuiteJob, Plan]] = deque(maxlen=RECENT)
        self._red: OrderedDict[tuple[str, ...], bool] = OrderedDict()
        self._making = defaultdict[str, asyncio.Lock](asyncio.Lock)

    async def plan(self, job: SuiteJob) -> Plan:
        """Plan a job's run."""
        planned = await asyncio.to_thread(dialect_of(job.language).make, job, self._imports, self.runtime)
        self._planned.append((job, planned))
        return planned

    async def planned(self, job: SuiteJob) -> Plan:
        """Return the last plan that was made for this same job object, or make a plan."""
        return next(
            (job_plan for planned_job, job_plan in reversed(self._planned) if planned_job is job), None
        ) or await self.plan(job)

    def time(self, job: SuiteJob) -> TimeLimit:
        """Return the time limit of a job's runs."""
        return TimeLimit.of(job.sandbox_limits(self._limits))

    async def settle(self, job: SuiteJob, planned: Plan) -> NativeRun:
        """Run a plan to its end, in as many runs as are needed.

        If a time limit cuts off the first run, the plan runs again alone, with the owner's limit. If a run has used its
        share of the time limit, it begins no further test files of the base; these files run in further runs, and the
        results are joined.

        Raises:
            SandboxError: nothing could be run.
        """
        native_run, *more = [await self._settle_part(job, part) for part in plan.list_parts(planned)]
        return reduce(_join, more, native_run)

    async def _settle_part(self, job: SuiteJob, planned: Plan) -> NativeRun:
        owner_limit = self.time(job)
        short = self.times.limit(planned, owner_limit)
        run = await self._report(job, planned, short)
        if run.is_late:
            run = await self._report(job, planned, owner_limit, alone=True)
        native_run, left = read_run(run), run.left
        while left and not native_run.stopped:
            more = await self._report(job, plan.rest(planned, left), owner_limit)
            if len(more.left) >= len(left):
                raise SandboxError("a test run started none of its remaining files")
            native_run, left = _join(native_run, read_run(more)), more.left
        return native_run

    async def run(
        self, job: SuiteJob, planned: Plan, time: TimeLimit | None = None, *, alone: bool = False
    ) -> NativeRun:
        """Run a plan once; tests that cannot share a process get a run for each.

        Args:
            job: the job of the plan.
            planned: the plan.
            time: the time limit of the run, at most the job's; None for the job's.
            alone: true to run while nothing else runs in the sandbox.

        Raises:
            SandboxError: nothing could be run.
        """
        limit = time or self.time(job)
        reports = [await self._report(job, part, limit, alone=alone) for part in plan.list_parts(planned)]
        return reduce(_join, map(read_run, reports))

    async def _report(self, job: SuiteJob, planned: Plan, time: TimeLimit, *, alone: bool = False) -> Reported:
        ready, result = await self.executed(job, planned, time, alone=alone)
        secret = "" if planned.launch and not planned.command else ready.secret
        answered = answer.read(result, ready.key, secret)
        if answered and planned.launch:
            answered = replace(answered, session=planned.launch.read(answered.session))
        return Reported(
            plan=planned,
            result=result,
            answer=answered,
            texts=self._texts(job, planned),
            limits=job.sandbox_limits(self._limits),
            time=time,
            digest=ready.digest,
        )

    def _texts(self, job: SuiteJob, planned: Plan) -> Texts:
        return Texts(frozenset(planned.order), _reader(planned, job.base), self.mask)

    async def executed(
        self, job: SuiteJob, planned: Plan, time: TimeLimit | None = None, *, alone: bool = False
    ) -> tuple[Staged, SandboxResult]:
        """Run a plan once, and return the staged run with the sandbox's result. The arguments are as in `run`.

        If a process was killed from outside, the run is repeated once. A process that kills itself is killed again in
        the second run, so its result does not change.

        Raises:
            SandboxError: nothing could be run.
        """
        runtime = await runtime_of(self.runtime, job, layers=self._layers, environments=self._environments)
        limits = job.sandbox_limits(self._limits)
        time = time or self.time(job)
        share = ALONE if alone else SHARE
        run_stage = partial(stage, planned, job.base, runtime, self._trees, limits, time, share)
        ready = await asyncio.to_thread(run_stage)
        result = await self.sandbox.run(replace(ready.job, alone=alone))
        if answer.was_killed(result, ready.key):
            ready = await asyncio.to_thread(run_stage)
            result = await self.sandbox.run(replace(ready.job, alone=alone))
        return ready, result

    async def base(self, job: SuiteJob) -> NativeRun | None:
        """Return the run without the change and without the task's tests; None if no tests remain.

        The run comes from the cache if possible.

        Raises:
            SandboxError: nothing could be run.
        """
        unchanged = replace(
            job, change={}, given={}, own={}, gone=(), held=HeldOut(), documents=False, takes_away=False,
            regression=tuple(path for path in job.regression if path not in job.start),
            command=() if job.given else job.command, whole_tree=True,
        )  # fmt: skip
        if not (unchanged.regression or unchanged.command):
            return None
        words = "\0".join((*unchanged.command, "", *sorted(unchanged.regression)))
        key = packing.sha256(encode(f"{self._around(job)}\0{words}"))
        async with self._making[key]:
            if (ran := self._baselines.get(key)) is None:
                planned = plan.tests_alone(await self.plan(unchanged))
                if not (planned.files or planned.command or planned.words):
                    return None
                ran = await self.settle(unchanged, planned)
                is_small = not ran.stopped and len(ran.failed) <= MOST_AGAIN
                failed = ran.failed if is_small else frozenset[str]()
                # Tracing makes some tests fail. If a test passes in a run without tracing, it counts as passing on the
                # base.
                if failed and (again := plan.only_tests(planned, sorted(set(map(bare, failed))))):
                    ran = ran.with_second_look(await self.run(unchanged, again, alone=True), failed)
                if not ran.stopped:  # An interrupted run is not cached, so it is repeated.
                    await self._baselines.learn(key, ran)
        self._making.pop(key, None)
        return ran

    def _around(self, job: SuiteJob) -> str:
        """Return a digest of the tree without the change, and of all other inputs of the run without the change."""
        of_runtime = (self.runtime.version, *(str(mount.host) for mount in self.runtime.mounts), *_packages(job))
        of_job = (job.environment, repr(job.sandbox_limits(self._limits)), job.language, _digest(job.start))
        return packing.sha256(encode("\0".join((*of_runtime, *of_job, _identify(job.base)))))

    async def fails_before(self, job: SuiteJob) -> bool:
        """Check whether at least one of the agent's own tests fails without the change.

        Raises:
            SandboxError: nothing could be run.
        """
        key = (job.base.commit, _digest({**job.start, **job.own}), job.environment, *_packages(job))
        if key not in self._red:
            unchanged = replace(job, change={}, given={}, command=(), regression=())
            native_run = await self.settle(unchanged, plan.tests_alone(await self.plan(unchanged)))
            tests = native_run.tests
            is_red = len(native_run.passed) < len(tests) if tests else native_run.exit_code != 0
            self._red[key] = bool(native_run.stopped) or is_red
            while len(self._red) > REMEMBERED:
                self._red.popitem(last=False)
        return self._red[key]


def _join(first: NativeRun, rest: NativeRun) -> NativeRun:
    """Return two runs as one. The second run contains test files that the first run did not run."""
    return replace(
        first,
        exit_code=first.exit_code or rest.exit_code,
        stopped=first.stopped or rest.stopped,
        is_late=first.is_late or rest.is_late,
        tests=(*(first.tests or ()), *(rest.tests or ())),
        failures=(*first.failures, *rest.failures),
        missing=(*first.missing, *rest.missing),
        lines={**first.lines, **rest.lines},
        read={**first.read, **rest.read},
        opened=tuple(sorted({*first.opened, *rest.opened})),
        modules=tuple(sorted({*first.modules, *rest.modules})),
        changed=tuple(dict.fromkeys((*first.changed, *rest.changed))),
        marked=(*first.marked, *rest.marked),
        altered=(*first.altered, *rest.altered),
        is_forged=first.is_forged or rest.is_forged,
        cpu_s=first.cpu_s + rest.cpu_s,
        wall_s=first.wall_s + rest.wall_s,
    )


def _reader(planned: Plan, base: Tree) -> Callable[[str], str | None]:
    """Return a function that reads the original text of a file of the run, for excerpts."""
    tests = {file.path: file.text for file in planned.files}

    def text_of(path: str) -> str | None:
        if path in tests:
            return tests[path]
        raw = planned.texts[path] if path in planned.texts else base.read(path) if path in base.entries() else None
        return None if raw is None else raw.decode("utf-8", "replace")

    return text_of


@lru_cache(maxsize=2)
def _identify(tree: Tree) -> str:
    """Return a digest of all files of a tree. It is cached, because many runs use the same tree."""
    return packing.digest_of(tree.entries())


def _packages(job: SuiteJob) -> list[str]:
    return sorted(f"{name}=={version}" for name, version in job.packages.items())


def _digest(files: Files) -> str:
    return packing.digest_of({path: packing.sha256(encode(text)) for path, text in files.items()})
