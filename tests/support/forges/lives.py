"""A daemon's work for one forge, in a process that tests may kill. It polls the forge, does tasks and reports on them.

The queue, the poller, git and the requests are real. The work on a task is scripted: it commits one line and finishes
the task.
"""

from __future__ import annotations

import asyncio
from contextlib import closing
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from nightshift.app.forges import evidence_of
from nightshift.core.events import Event
from nightshift.core.ports import Sink
from nightshift.core.tasks.commit_message import CommitMessage
from nightshift.core.tasks.revisions import Author
from nightshift.core.tasks.states import Ending
from nightshift.core.tasks.task import Task
from nightshift.git.manager import GitManager
from nightshift.remote.forges.connections import Connection, open_forge
from nightshift.remote.forges.poller import Poller
from nightshift.remote.forges.sync import Services
from nightshift.storage.db.state_store import Commit as Entry
from tests.support.forges.server import TOKEN
from tests.support.store import Store, open_store

MOST_TURNS = 30


@dataclass(frozen=True, kw_only=True)
class Home:
    """The paths of a daemon's folder and of the repository that the daemon follows."""

    folder: Path
    connection: Connection


def manager_of(folder: Path, store: Store, emit: Sink) -> GitManager:
    """Return the git manager of a daemon with this folder."""
    author = Author(name="N", email="n@x")
    return GitManager(workspace=folder / "workspace", author=author, auto_push=False, emit=emit, clock=store.clock)


def services_of(store: Store, manager: GitManager, emit: Sink) -> Services:
    """Return the services that a connection needs, all of them real."""
    return Services(
        queue=store.queue, state=store.state, push=manager.push_branch, fetch=manager.fetch_branch,
        evidence=lambda where, commit: evidence_of(manager, where, commit), base=lambda _: None,
        label=lambda: "nightshift", emit=emit, mask=store.mask, clock=store.clock,
    )  # fmt: skip


async def commit_files(store: Store, manager: GitManager, task: Task, text: str, reason: str = "done") -> Task:
    """Commit a change for a task as a worker would, but without an agent. Return the finished task."""
    spec = task.spec
    workspace = manager.open(spec.repo, spec.base, task.id, spec.description, task.created_at)
    message = CommitMessage(subject=f"Do task {task.id}", trailers={"Task": str(task.id)})
    commit = manager.commit(workspace, workspace.base, {"answer.txt": text}, message)
    assert commit
    if spec.integrate:
        assert manager.advance(workspace, commit, workspace.base)
    entry = Entry(
        task_id=task.id, attempt=1, repo=spec.repo or "", branch=commit.branch, commit=commit.id, base=commit.parent,
        subject="Do it", label="tests_passed", integrated=bool(spec.integrate),
        target=workspace.target or "" if spec.integrate else "",
    )  # fmt: skip
    await asyncio.wrap_future(store.state.record_commit(entry))
    return await asyncio.wrap_future(
        store.queue.finish(task.id, task.fence, Ending.COMMITTED, reason=reason, commit=commit.id, branch=commit.branch)
    )


def live(home: Home) -> None:
    """Poll, work and report until there is nothing left to do."""
    asyncio.run(_live(home))


async def _live(home: Home) -> None:
    turns = count()
    with open_store(home.folder / "db.sqlite", secrets=(TOKEN,)) as store:
        manager = manager_of(home.folder, store, _unheard)
        poller = Poller(
            lambda: (home.connection,), lambda: 60.0, lambda each: open_forge(each, store.clock),
            services_of(store, manager, _unheard), monotonic=lambda: 100.0 * next(turns),
        )  # fmt: skip
        with closing(manager):
            for _ in range(MOST_TURNS):
                await poller.turn()
                (status,) = poller.statuses()
                assert not status.fault, status.fault
                task = await asyncio.wrap_future(store.queue.claim("worker"))
                if task is None:
                    break
                await commit_files(store, manager, task, f"{task.id}\n")
            else:
                raise AssertionError("it does not come to an end")
        await poller.aclose()


def _unheard(_event: Event) -> None:
    """Ignore an event."""
