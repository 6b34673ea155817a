"""Runs the workspace's tests that no single task runs, because their closure (the files they can see) is unknown.

Such a test may see any file, so any task could break it. Run with each task, these tests would make the thousandth task
slower than the first. They run in batches while the workers are idle, once for each new tip. A test file that also
fails when run alone is bisected to the commit that broke it, and so to that commit's task. The commit is blamed only if
the file fails at the commit and not at its parent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from nightshift.attempt.landed_packages import read_landed
from nightshift.attempt.services import AttemptServices
from nightshift.core.code.dependencies import closure
from nightshift.core.code.environments import NO_ENVIRONMENT
from nightshift.core.code.paths import is_test_path
from nightshift.core.code.tree import Tree, read_text
from nightshift.core.errors import NightshiftError
from nightshift.core.events import Emitter, Kind, Level, RegressionData
from nightshift.core.tasks.projects import Scope, scopes_of
from nightshift.core.tasks.revisions import LogLine
from nightshift.core.tasks.verdicts import SuiteJob

BRANCH = "main"
BATCH = 20
LOOK_S = 60.0
HISTORY = 5000
_KEY = "swept_commit"


class Sweep:
    """Tests the daemon's own workspace repository in the background.

    Args:
        services: the services of an attempt.
        workspace: the folder of the repository; nothing happens before it exists.
        idle: returns True if the workers have nothing to do; checked before each batch.
        look_s: seconds between checks of the tip.
    """

    def __init__(
        self, services: AttemptServices, workspace: Path, idle: Callable[[], bool], look_s: float = LOOK_S
    ) -> None:
        self._services, self._workspace, self._idle, self._look_s = services, workspace, idle, look_s

    def renew(self, services: AttemptServices) -> None:
        """Use these services from now on."""
        self._services = services

    async def run(self) -> None:
        """Sweep repeatedly until cancelled. A failed sweep is reported, and the next one tries again."""
        while True:
            await asyncio.sleep(self._look_s)
            if not (self._idle() and self._workspace.exists()):
                continue
            try:
                await self.once()
            except NightshiftError as error:
                self._events.emit(Kind.SWEPT, f"the whole suite could not be run: {error}", level=Level.WARNING)

    async def once(self) -> bool:
        """Judge the tip unless it was already judged; report broken tests and the task that broke them.

        Returns:
            True if all tests pass.
        """
        tip = await asyncio.to_thread(self._services.git.resolve, None, BRANCH)
        last = self._services.state.get(_KEY)
        if tip == last:
            return True
        failing = await self._failing(tip, None)
        if failing is None:
            return False
        if failing:
            await self._blame(failing, tip, str(last) if last else None)
        else:
            self._events.emit(Kind.SWEPT, f"the whole suite passes at {tip[:10]}", level=Level.DEBUG)
        await asyncio.wrap_future(self._services.state.set(_KEY, tip))
        return not failing

    async def _failing(self, commit: str, only: Sequence[str] | None) -> tuple[str, ...] | None:
        """Return the test files that fail at a commit, as full paths; None if the workers got work meanwhile.

        Runs the files in `only`, or all test files with an unknown closure if `only` is None.
        """
        full_tree = await asyncio.to_thread(self._services.git.tree, None, commit)
        failing: list[str] = []
        for scope in await asyncio.to_thread(scopes_of, full_tree):
            failing_paths = await self._failing_in(scope, scope.of(full_tree), only)
            if failing_paths is None:
                return None
            failing += map(scope.full, failing_paths)
        return tuple(failing)

    async def _failing_in(self, scope: Scope, tree: Tree, only: Sequence[str] | None) -> list[str] | None:
        """Return the project's test files that fail both with others and alone, as paths relative to the project."""
        if only is None:
            paths = await asyncio.to_thread(self._unknown, tree)
        else:
            paths = [path for each in only if (path := scope.inside(each)) and path in tree.entries()]
        environments = self._services.environments
        environment = await environments.of(tree) if environments else NO_ENVIRONMENT
        job = SuiteJob(
            base=tree,
            change={},
            packages=read_landed(self._services.state, scope.project),
            environment=environment.digest,
        )
        failing: list[str] = []
        for start in range(0, len(paths), BATCH):
            if only is None and not self._idle():
                return None
            together = await self._run(job, paths[start : start + BATCH])
            alone = [path for path in together if await self._run(job, [path])]
            if innocent := sorted({*together} - {*alone}):
                names = ", ".join(map(scope.full, innocent))
                text = f"{names}: fails with other tests and passes alone, so one of them leaves something behind"
                self._events.emit(Kind.SWEPT, text, level=Level.WARNING)
            failing += alone
        return failing

    async def _run(self, job: SuiteJob, paths: Sequence[str]) -> list[str]:
        """Run test files in one sandbox, which also ends leftover processes; return the failing files."""
        texts = {path: read_text(job.base, path) for path in paths}
        verdict = await self._services.suite.judge(replace(job, given=texts))
        return sorted({test.partition("::")[0] for test in verdict.failing} & texts.keys())

    def _unknown(self, tree: Tree) -> list[str]:
        names = (path for path in tree.entries() if path.endswith(".py") and not path.endswith("conftest.py"))
        tests = [path for path in names if is_test_path(path)]
        return [
            path
            for path in tests
            if not closure(tree, {}, {path: read_text(tree, path)}, self._services.imports).complete
        ]

    async def _blame(self, failing: Sequence[str], tip: str, good: str | None) -> None:
        """Find, by bisection, the first commit after `good` at which each file fails, and report it."""
        log = await asyncio.to_thread(self._services.git.recent_commits, None, HISTORY, tip)
        ids = [line.id for line in log]
        suspects = list(log[: ids.index(good)] if good in ids else log)[::-1]
        left = set(failing)
        while left:
            culprit, blamed = await self._find_culprit(suspects, sorted(left))
            names, since = ", ".join(blamed or sorted(left)), f"{culprit.id[:10]} ({culprit.subject})"
            if not blamed:
                text = f"{names}: fails at {tip[:10]}; what broke it cannot be found, since it passes at {since}"
                self._events.emit(Kind.SWEPT, text, level=Level.WARNING)
                return
            data = RegressionData(tests=blamed, commit=culprit.id)
            self._events.bind(task_id=culprit.task_id).emit(
                Kind.REGRESSION, f"{names} fails since {since}", level=Level.ERROR, **data
            )
            left -= {*blamed}

    async def _find_culprit(self, suspects: Sequence[LogLine], files: Sequence[str]) -> tuple[LogLine, list[str]]:
        """Return the first suspect at which a file fails, and the files that fail there but not at its parent."""
        low, high = 0, len(suspects) - 1
        while low < high:
            middle = (low + high) // 2
            broken = await self._failing(suspects[middle].id, files)
            low, high = (low, middle) if broken else (middle + 1, high)
        culprit = suspects[low]
        parents = (await asyncio.to_thread(self._services.git.describe, None, culprit.id)).parents
        there = await self._failing(culprit.id, files) or ()
        before = await self._failing(parents[0], files) or () if parents else ()
        return culprit, sorted({*there} - {*before})

    @property
    def _events(self) -> Emitter:
        return Emitter(self._services.events.emit)
