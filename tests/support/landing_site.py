"""A daemon's services without its workers, for tests that judge changes and land them as an attempt does."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from nightshift.attempt import evidence
from nightshift.attempt.integration import Integration, Landed, Reopened
from nightshift.attempt.regression import WithRegression
from nightshift.attempt.services import AttemptServices
from nightshift.attempt.verify import OpenedSuite, Report, Verification
from nightshift.config.load import Settings
from nightshift.core.clock import utc_now
from nightshift.core.events import Emitter, Event
from nightshift.core.tasks.attempt_state import AttemptState
from nightshift.core.tasks.held_out import HeldOut
from nightshift.core.tasks.revisions import Workspace
from nightshift.core.tasks.states import Phase, Status
from nightshift.core.tasks.submission import parse_spec
from nightshift.core.tasks.task import Change, Files, Task
from nightshift.core.tasks.verdicts import SuiteJob
from nightshift.storage.db.state_store import Commit
from nightshift.verdict.held.holding import hold
from tests.support.counting import Counting
from tests.support.services import open_services


@dataclass
class Site:
    """A daemon's services without its workers. `on_event` is called with each event of a landing."""

    parts: AttemptServices
    settings: Settings
    suite: Counting
    events: list[Event] = field(default_factory=list)
    on_event: Callable[[Event], None] = lambda _event: None

    def task(self, number: int, **fields: object) -> Task:
        spec = parse_spec({"description": f"task {number}", "language": "python", **fields})
        return Task(id=number, spec=spec, status=Status.RUNNING, created_at=utc_now(), attempt=1)

    def open(self, task: Task) -> Workspace:
        return self.parts.git.open(task.spec.repo, task.spec.base, task.id, task.spec.description, task.created_at)

    async def judged(
        self, workspace: Workspace, task: Task, change: Change, own: Files | None = None, **more: Any
    ) -> AttemptState:
        """Return the state of an attempt whose change passed; `more` holds further fields of the suite's job."""
        spec = task.spec
        job = SuiteJob(
            base=workspace.tree, change=change, given=spec.tests, own=own or {}, start=spec.files,
            command=spec.test_command, language=spec.language, whole_tree=not workspace.is_own, **more,
        )  # fmt: skip
        verdict = await WithRegression(self.suite, self.parts.imports).judge(job)
        assert verdict.passed, verdict.reason
        return AttemptState(
            phase=Phase.COMMIT, base=workspace.base, change=change, own_tests=own or {}, verdict=verdict, iteration=1,
            models=("ollama/small",), summary=f"Do task {task.id}",
        )  # fmt: skip

    async def commit(
        self, number: int, change: Change, *, own: Files | None = None, documents: bool = False,
        keeps_behaviour: bool = False, **spec: object,
    ) -> str:  # fmt: skip
        """Judge and land one task's work, a part of whose tests is held out; return its commit."""
        task = self.task(number, **spec)
        held: HeldOut = hold(task.spec, (), 0.25)
        more = {"documents": documents, "keeps_behaviour": keeps_behaviour}
        work = await self.judged(self.open(task), task, change, own, held=held, **more)
        end = await self.integration(task, held=held).land(self.open(task), work)
        assert isinstance(end, Landed), end
        assert end.commit
        return end.commit

    async def bring(self, number: int, change: Change) -> None:
        """Land a change without judging it, as a competing change that later changes have to deal with."""
        task = self.task(number)
        workspace = self.open(task)
        work = AttemptState(phase=Phase.COMMIT, base=workspace.base, change=change)
        assert isinstance(await self.land(workspace, task, work), Landed)

    def integration(self, task: Task, **more: Any) -> Integration:
        def emit(event: Event) -> None:
            self.events.append(event)
            self.on_event(event)

        return Integration(task, self.parts, Emitter(emit), **more)

    async def land(self, workspace: Workspace, task: Task, work: AttemptState) -> Landed | Reopened:
        return await self.integration(task).land(workspace, work)

    async def lands(self, workspace: Workspace, task: Task, work: AttemptState) -> Landed:
        """Land a change for which nothing stands in the way."""
        end = await self.land(workspace, task, work)
        assert isinstance(end, Landed), end
        return end

    async def reopens(self, workspace: Workspace, task: Task, work: AttemptState) -> Reopened:
        """Try to land a change that does not fit to newer work."""
        end = await self.land(workspace, task, work)
        assert isinstance(end, Reopened), end
        return end

    def ledger(self, task: Task) -> list[Commit]:
        return self.parts.state.commits(10, task_id=task.id)

    async def verify(self, commit: str, repo: Path | None = None, key: bytes | None = None) -> Report:
        async def suite() -> OpenedSuite:
            return OpenedSuite(suite=self.parts.suite)

        key = evidence.read_key(self.settings.seal_file) if key is None else key
        return await Verification(self.parts.git, str(repo or self.settings.workspace), suite, key).verify(commit)


@contextlib.asynccontextmanager
async def open_site(home: Path, **settings: object) -> AsyncIterator[Site]:
    """Open a site whose queue has the tasks 1 to 3."""
    async with open_services(home, **settings) as rooms:
        for number in range(1, 4):
            rooms.store.queue.submit(parse_spec({"description": f"task {number}"})).result()
        suite = Counting(rooms.parts.suite)
        yield Site(replace(rooms.parts, suite=suite), rooms.settings, suite)
