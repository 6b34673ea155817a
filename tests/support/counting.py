"""A suite that records the jobs it is given."""

from __future__ import annotations

from dataclasses import dataclass, field

from nightshift.core.ports import Suite
from nightshift.core.tasks.verdicts import SuiteJob, Trial, Verdict


@dataclass
class Counting:
    """Wraps a suite and records every job that the suite is given."""

    suite: Suite
    jobs: list[SuiteJob] = field(default_factory=list)

    async def judge(self, job: SuiteJob) -> Verdict:
        self.jobs.append(job)
        return await self.suite.judge(job)

    async def try_out(self, job: SuiteJob) -> Trial:
        self.jobs.append(job)
        return await self.suite.try_out(job)

    async def run_base(self, job: SuiteJob) -> Trial:
        self.jobs.append(job)
        return await self.suite.run_base(job)
