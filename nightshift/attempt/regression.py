"""Adds regression tests to a suite: those of the base that depend on changed files.

If the change adds nothing, all tests of the base are added.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from functools import partial

from nightshift.core.code.dependencies import ImportCache, dependants, is_suite, nearest_first
from nightshift.core.code.paths import at_or_below
from nightshift.core.code.tree import text_of
from nightshift.core.ports import Suite
from nightshift.core.tasks.verdicts import SuiteJob, Trial, Verdict
from nightshift.verdict.languages import test_config
from nightshift.verdict.languages.python import pytest_settings
from nightshift.verdict.run import text_before


@dataclass(frozen=True, slots=True)
class WithRegression(Suite):
    """A suite that adds regression tests to each job: the tests of its base that the changed files can break.

    The tests that most likely break come first. `test_paths` are the folders of the repository's tests; empty means
    anywhere. If tests are staged together with their closure (the files they can see), a test with an unknown closure
    is left to the sweep of the whole suite (`attempt.sweep`). Such tests would have to run with every task, and would
    make each task slower than the one before.
    """

    suite: Suite
    imports: ImportCache
    test_paths: tuple[str, ...] = ()

    async def judge(self, job: SuiteJob) -> Verdict:
        """Judge the job with its regression tests. Raises what the suite raises."""
        return await self.suite.judge(await asyncio.to_thread(self._with_dependants, job))

    async def try_out(self, job: SuiteJob) -> Trial:
        """Try the job out, with regression tests unless it names the tests to run. Raises what the suite raises."""
        return await self.suite.try_out(job if job.only else await asyncio.to_thread(self._with_dependants, job))

    async def run_base(self, job: SuiteJob) -> Trial:
        """Run the base's tests that the job names. Raises what the suite raises."""
        return await self.suite.run_base(job)

    def _with_dependants(self, job: SuiteJob) -> SuiteJob:
        changed = job.change.keys()
        if not changed:
            return job
        read = partial(text_of, job.base)
        settings = pytest_settings.read(read)

        def is_test(path: str) -> bool:
            return is_suite(path) or settings.is_test_file(path, read)

        dependant_paths = dependants(job.base, changed, self.imports, unknown=job.whole_tree, is_test=is_test)
        if job.takes_away or test_config.list_settings(job.change, partial(text_before, job)):
            dependant_paths |= {path for path in job.base.entries() if is_test(path)}
        left = dependant_paths - job.given.keys() - job.own.keys()
        if self.test_paths:
            left = frozenset(path for path in left if at_or_below((path,), self.test_paths))
        return replace(job, regression=nearest_first(job.base, changed, left, self.imports))
