"""Provides a forge of each kind, with a real queue, a real checkout and a bare remote; the tests act as the worker."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from nightshift.core.events import Event
from nightshift.core.tasks.states import Ending
from nightshift.core.tasks.task import Task
from nightshift.git.manager import GitManager
from nightshift.remote.forges.client import Client
from nightshift.remote.forges.connections import Connection, open_forge
from nightshift.remote.forges.sync import Services, Sync
from tests.support.forges.gitea_api import ForgejoApi, GiteaApi
from tests.support.forges.github_api import GitHubApi
from tests.support.forges.gitlab_api import GitLabApi
from tests.support.forges.lives import commit_files, manager_of, services_of
from tests.support.forges.server import TOKEN, Api, ForgeServer
from tests.support.forges.world import BOT, Note, Thread, World
from tests.support.git_repo import git, make_repo
from tests.support.store import Store, open_store

APIS: dict[str, Callable[[World], Api]] = {
    "forgejo": ForgejoApi, "github": GitHubApi, "gitlab": GitLabApi, "gitea": GiteaApi,
}  # fmt: skip


@dataclass
class Rig:
    """A forge, a queue, a checkout, and the sync between the forge and the queue."""

    kind: str
    server: ForgeServer
    store: Store
    manager: GitManager
    repo: Path
    sync: Sync
    clients: list[Client]
    connection: Connection
    services: Services
    events: list[Event] = field(default_factory=list)

    @property
    def world(self) -> World:
        return self.server.world

    def begin_again(self) -> None:
        """Start a new sync that knows only the database, as a restarted daemon does."""
        forge, client = open_forge(self.connection, self.store.clock)
        self.clients.append(client)
        self.sync = Sync(self.connection, forge, self.services)

    def comments(self, thread: Thread) -> list[Note]:
        """Return the bot's comments on an issue or a pull request."""
        return [note for note in thread.notes if note.author == BOT]

    def tasks(self) -> list[Task]:
        return self.store.queue.find()[::-1]

    async def claimed(self) -> Task:
        task = await asyncio.wrap_future(self.store.queue.claim("worker"))
        assert task
        return task

    async def work(self, text: str = "right\n", *, ending: Ending = Ending.COMMITTED, reason: str = "done") -> Task:
        """Finish the next task as a worker would, without an agent."""
        task = await self.claimed()
        return await self.finish(task, text, ending=ending, reason=reason)

    async def finish(self, task: Task, text: str = "right\n", *, ending: Ending, reason: str = "done") -> Task:
        if ending is not Ending.COMMITTED:
            return await asyncio.wrap_future(self.store.queue.finish(task.id, task.fence, ending, reason=reason))
        return await commit_files(self.store, self.manager, task, text, reason)


AT_ONE = pytest.mark.parametrize("kind", ["github"])
"""Marks a test of what is the same at each forge."""


@pytest.fixture(params=sorted(APIS.keys() - {"forgejo"}))  # Forgejo differs from Gitea only in its description
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def rig(kind: str, tmp_path: Path) -> AsyncIterator[Rig]:
    remote = tmp_path / "remote.git"
    repo = make_repo(tmp_path / "hello", {"answer.txt": "wrong\n"})
    git(tmp_path, "init", "-q", "--bare", "-b", "main", str(remote))
    git(repo, "remote", "add", "origin", str(remote))
    git(repo, "push", "-q", "origin", "main")
    events: list[Event] = []
    with (
        open_store(tmp_path / "db.sqlite", secrets=(TOKEN,)) as store,
        ForgeServer(APIS[kind](World(remote=remote))) as server,
    ):
        manager = manager_of(tmp_path, store, events.append)
        connection = Connection(kind=kind, site=server.site, project="octo/hello", repo=str(repo), token=TOKEN)
        forge, client = open_forge(connection, store.clock)
        services = services_of(store, manager, events.append)
        new_rig = Rig(
            kind=kind, server=server, store=store, manager=manager, repo=repo,
            sync=Sync(connection, forge, services), clients=[client], connection=connection, services=services,
            events=events,
        )  # fmt: skip
        yield new_rig
        for each in new_rig.clients:
            await each.aclose()
        manager.close()
