"""The dashboard's list of repositories and of the agent's commits in each; reading the list never waits for git."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from nightshift.app.web import RepositoryWatch
from nightshift.config.load import Settings, load_settings
from nightshift.core.clock import utc_now
from nightshift.core.events import Event
from nightshift.core.tasks.revisions import Author
from nightshift.core.tasks.submission import parse_spec
from nightshift.git.manager import GitManager
from nightshift.queue.manager import QueueManager
from nightshift.storage.db.database import Database
from nightshift.storage.db.event_log import EventLog
from nightshift.storage.db.state_store import Commit, StateStore
from tests.support.daemon import until
from tests.support.git_repo import git, make_repo
from tests.support.ready_database import ready


class Bench:
    """A home with a queue and a git manager."""

    def __init__(self, home: Path) -> None:
        self.settings: Settings = load_settings(home=home)
        self.database = Database(ready(home / "db.sqlite"))
        self.queue = QueueManager(self.database, EventLog(self.database))
        self.events: list[Event] = []
        self.git = GitManager(
            workspace=self.settings.workspace, author=Author(name="Night", email="n@example.org"), auto_push=False,
            emit=self.events.append, environ={"PATH": os.environ["PATH"]},
        )  # fmt: skip
        self.watch = RepositoryWatch(lambda: self.settings, self.database, self.git, utc_now)

    def submit(self, repo: Path) -> None:
        self.queue.submit(parse_spec({"description": "x", "repo": str(repo)})).result()

    def close(self) -> None:
        self.watch.stop()
        self.git.close()
        self.database.close()


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    (tmp_path / "home").mkdir()
    new_bench = Bench(tmp_path / "home")
    yield new_bench
    new_bench.close()


def commit(repo: Path, number: int, *, integrated: bool) -> Commit:
    return Commit(
        task_id=number, attempt=1, repo=str(repo), branch=f"agent/{number}-x", commit=f"{number:040x}", base="0" * 40,
        subject="Add", label="verified", integrated=integrated,
    )  # fmt: skip


def test_the_repositories_of_tasks_are_told_with_what_is_ours(bench: Bench, tmp_path: Path) -> None:
    shop, api = make_repo(tmp_path / "shop"), make_repo(tmp_path / "api")
    (api / "README.md").write_text("changed\n")
    for repo in (shop, api, api / ".", shop):
        bench.submit(repo)
    bench.submit(tmp_path / "gone")
    state = StateStore(bench.database)
    for number, integrated in ((1, True), (2, True), (3, False)):
        state.record_commit(commit(shop, number, integrated=integrated)).result()
    state.record_push(str(shop), f"{1:040x}").result()
    overview = bench.watch()
    own, gone, first, second = overview.repositories
    assert (own.is_own, own.repo) == (True, str(bench.settings.workspace))
    assert (gone.repo, "no folder" in gone.error, gone.status) == (str(tmp_path / "gone"), True, None)
    assert first.status is not None
    assert (first.repo, first.status.branch, first.status.changed) == (str(shop), "main", 0)
    assert (first.ours.commits, first.ours.unpushed) == (3, 1)
    assert first.ours.pushed_at is not None
    assert first.status.newest is not None
    assert first.status.newest.id == git(shop, "rev-parse", "HEAD")
    assert second.status is not None
    assert (second.repo, second.status.changed) == (str(api), 1)
    assert (second.ours.commits, second.ours.pushed_at) == (0, None)
    assert (overview.more, overview.auto_push) == (0, bench.settings.git_auto_push)
    assert overview.at is not None


def test_an_answer_does_not_wait_for_a_git_that_hangs(bench: Bench, tmp_path: Path) -> None:
    shop = make_repo(tmp_path / "shop")
    bench.submit(shop)
    attributes = shop / ".git" / "index"
    attributes.unlink()
    os.mkfifo(attributes)  # opening the pipe blocks git until a writer opens the pipe too
    assert bench.watch().at is None
    with attributes.open("wb") as writer:  # git continues, and finds no index
        fcntl.fcntl(writer, fcntl.F_GETFL)
    until(lambda: bench.watch().at is not None)
    assert bench.watch().repositories[1].status is not None
