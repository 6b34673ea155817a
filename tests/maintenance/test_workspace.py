"""Maintenance of the workspace repository.

It is packed when it has enough loose objects, and cleaned once a week while no task runs.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from nightshift.core.events import Event, Kind
from nightshift.core.tasks.commit_message import CommitMessage
from nightshift.core.tasks.revisions import Author
from nightshift.core.tasks.states import Ending
from nightshift.core.tasks.task import TaskSpec
from nightshift.git.composing import NewObjects
from nightshift.git.manager import GitManager
from nightshift.maintenance import workspace
from nightshift.maintenance.workspace import Workspace
from tests.support.git_repo import git
from tests.support.store import Store, open_store

DAY_S = 86_400.0


@dataclass
class Bench:
    """A home's workspace and database, and the job that maintains the workspace."""

    store: Store
    git: GitManager
    root: Path
    quiet: bool = True

    def __post_init__(self) -> None:
        self.chore = Workspace(
            self.git.maintenance,
            self.store.db,
            self.store.state,
            self.store.events,
            keep_days=lambda: 30,
            quiet=lambda: self.quiet,
            clock=self.store.clock,
        )

    def land(self, ending: Ending | None = Ending.COMMITTED, *, integrate: bool = True) -> int:
        """Make a task with a commit, either on main or only on the task's branch; return the task's id."""
        submission = self.store.queue.submit(TaskSpec(description="do it")).result()
        task = self.store.queue.claim("w", only=submission.task_id).result()
        assert task is not None
        where = self.git.open(None, None, task.id, "do it")
        message = CommitMessage(subject="x", trailers={"Task": str(task.id)})
        commit = self.git.commit(where, where.base, {f"m{task.id}.py": "x\n"}, message)
        assert commit
        assert not integrate or self.git.advance(where, commit, where.base)
        if ending:
            self.store.queue.finish(task.id, task.fence, ending).result()
        return task.id

    def branches(self) -> set[int]:
        return {branch.task_id for branch in self.git.maintenance.branches()}

    def list_events(self) -> list[Event]:
        self.store.db.write(lambda _: None).result()
        return [event for event in self.store.events.last(500) if event.kind is Kind.PRUNED]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with open_store(tmp_path / "a.sqlite") as store:
        manager = GitManager(
            workspace=tmp_path / "workspace",
            author=Author(name="Night", email="night@example.org"),
            auto_push=False,
            emit=store.events.emit,
            clock=store.clock,
            environ={"PATH": os.environ["PATH"]},
        )
        yield Bench(store, manager, tmp_path)
        manager.close()


@pytest.mark.parametrize("is_counted", [True, False], ids=["counted before", "not counted yet"])
@pytest.mark.parametrize(
    ("objects", "size", "is_packed"), [(12, 100_000, True), (1, 1_100_000, True), (8, 100_000, False)]
)
async def test_the_workspace_is_packed_by_what_its_loose_objects_take(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, objects: int, size: int, is_packed: bool, is_counted: bool
) -> None:
    monkeypatch.setattr(workspace, "LOOSE_BYTES", 1 << 20)
    bench.land()
    if is_counted:
        await bench.chore.run()
    own = bench.git._repositories.find(None)
    new = NewObjects("sha1", own.reader.tree)
    for _ in range(objects):
        new.add("blob", os.urandom(size))
    own.store.put(new.objects)
    bench.quiet = False
    await bench.chore.run()
    assert (bench.git.maintenance.count_objects().loose == 0) == is_packed
    assert [event.data["loose_before"] > objects for event in bench.list_events()] == [True] * is_packed
    await bench.chore.run()
    assert len(bench.list_events()) == is_packed, "what was packed counts no more"


async def test_once_a_week_it_is_cleaned_when_nothing_runs(bench: Bench) -> None:
    old, unintegrated = bench.land(), bench.land(Ending.GAVE_UP, integrate=False)
    failed = bench.land(Ending.GAVE_UP)
    waiting = bench.land(None)
    await bench.chore.run()
    bench.store.clock.advance(31 * DAY_S)
    young = bench.land()
    bench.quiet = False
    await bench.chore.run()
    assert bench.list_events() == []
    bench.quiet = True
    await bench.chore.run()
    assert bench.branches() == {unintegrated, waiting, young}
    assert bench.git.maintenance.count_objects().loose == 0
    (event,) = bench.list_events()
    assert event.data["branches"] == 2
    await bench.chore.run()
    assert len(bench.list_events()) == 1
    for task_id in (old, failed):
        assert git(bench.root / "workspace", "show", f"main:m{task_id}.py") == "x"


async def test_a_task_that_is_asked_for_again_keeps_its_branch(bench: Bench) -> None:
    again = bench.land(Ending.GAVE_UP)
    await bench.chore.run()
    bench.store.clock.advance(31 * DAY_S)
    bench.store.queue.retry(again).result()
    await bench.chore.run()
    assert bench.branches() == {again}
