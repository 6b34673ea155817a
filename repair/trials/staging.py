"""From a job of trials to a plan of the suite's own kind; the test ids of the owner and those of the run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from core.errors import SandboxError
from core.javascript import SOURCES
from core.trials import TrialJob
from core.verdicts import SuiteJob
from verdict.plan import Plan, tests_alone
from verdict.shaping import Names
from verdict.suite_runs import Rounds


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A job of trials ready to run. `names` turns what comes back into its owner's words."""

    job: SuiteJob
    plan: Plan
    names: Names

    def telling(self, trial: Mapping[str, object]) -> Plan:
        """The plan of a run that is told this."""
        return replace(self.plan, trial=trial)

    def staged_id(self, test: str) -> str:
        """A test's id in the run, from the one that its owner knows."""
        path, _, rest = test.partition("::")
        name, bracket, parameters = rest.partition("[")
        found = next((file for file in self.plan.files if file.path == path), None)
        if found is None:
            return test
        name = next((staged for staged, known in found.names.items() if known == name), name)
        return f"{found.staged}::{name}{bracket}{parameters}"


async def stage(job: TrialJob, rounds: Rounds) -> Stage:
    """Plan a job's trials.

    Raises:
        SandboxError: there are no tests of pytest's in it.
    """
    if any(PurePosixPath(path).suffix in SOURCES for path in job.tests):
        raise SandboxError("trials take tests of Python; this task has tests of JavaScript")
    suite = SuiteJob(
        base=job.base, change=job.change, given=job.tests, command=job.command, start=job.start,
        packages=job.packages, whole_tree=job.whole_tree, wall_s=job.wall_s, memory_mb=job.memory_mb, cpus=job.cpus,
        pids=job.pids, work_mb=job.work_mb,
    )  # fmt: skip
    made = await rounds.plan(suite)
    if made.command or not made.files:
        raise SandboxError("trials take tests of pytest; this task names none")
    plan = replace(tests_alone(made), options=made.options)
    return Stage(job=suite, plan=plan, names=Names(plan.files, lambda _path: None, rounds.mask))
