"""The process that follows a forge is killed at every write of a whole course.

The course contains an issue, a task, a draft pull request, comments, follow-ups and a merge. The process is killed with
SIGKILL at its n-th write, for each n of an undisturbed course: before the forge receives the request, or after the
forge has carried it out but before the answer is read. The next process does the remaining work, and does nothing
twice. `test_pulls.py` breaks a course off at every request, within one process.
"""

from __future__ import annotations

import multiprocessing
import signal
import time
from pathlib import Path

import pytest

from nightshift.core.tasks.states import Status
from nightshift.remote.forges.connections import Connection
from tests.remote.forges.conftest import APIS
from tests.support.forges.lives import Home, live
from tests.support.forges.server import TOKEN, ForgeServer, Seen
from tests.support.forges.world import BOT, Thread, World
from tests.support.git_repo import git, make_repo
from tests.support.store import open_store

KINDS = ("gitea", "github", "gitlab")
WRITES = 7
"""Number of writes in an undisturbed course, which a test verifies."""
DEATHS = [(kind, "after", n) for kind in KINDS for n in range(1, WRITES + 1)]
DEATHS += [("github", "before", n) for n in range(1, WRITES + 1)]
CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["tests.support.forges.lives", "httpx"])


class Way:
    """A whole course at one forge, with at most one kill.

    Args:
        folder: The folder for all files.
        kind: The kind of forge.
        when: "before" or "after": whether the kill comes before or after the forge carries out the write.
        n: The number of the write at which the process is killed; 0 never kills.
    """

    def __init__(self, folder: Path, kind: str, when: str = "", n: int = 0) -> None:
        remote = folder / "remote.git"
        self.repo = make_repo(folder / "hello", {"answer.txt": "wrong\n"})
        git(folder, "init", "-q", "--bare", "-b", "main", str(remote))
        git(self.repo, "remote", "add", "origin", str(remote))
        git(self.repo, "push", "-q", "origin", "main")
        self.server = ForgeServer(APIS[kind](World(remote=remote)), most=30)
        connection = Connection(
            kind=kind, site=self.server.site, project="octo/hello", repo=str(self.repo), token=TOKEN
        )
        self.home, self.deaths, self.writes = Home(folder=folder, connection=connection), 0, 0
        self._when, self._n = when, n
        self._process = CONTEXT.Process(target=live, args=(self.home,))
        self.server.before, self.server.after = self._before, self._after

    def _before(self, seen: Seen) -> None:
        self.writes += seen.method != "GET"
        self._strike("before", seen)

    def _after(self, seen: Seen) -> None:
        self._strike("after", seen)

    def _strike(self, when: str, seen: Seen) -> None:
        """Kill the process at the chosen write; the server does not process the request any further."""
        if seen.method == "GET" or (when, self.writes) != (self._when, self._n) or self.deaths:
            return
        self.deaths += 1
        while self._process.pid is None:  # the process may send requests before `start` returns
            time.sleep(0.001)
        self._process.kill()
        raise ConnectionAbortedError

    def follow(self) -> None:
        """Run the process until it ends normally, restarting it after each kill."""
        while True:
            before = self.deaths
            self._process = CONTEXT.Process(target=live, args=(self.home,))
            self._process.start()
            self._process.join()
            if self._process.exitcode == 0:
                return
            assert (self._process.exitcode, self.deaths) == (-signal.SIGKILL, before + 1), self.server.errors

    def go(self) -> None:
        """Run the whole course and check its result."""
        world = self.server.world
        with self.server:
            number = world.issue("Mend the answer", "It must be a number.")
            self.follow()
            (pull,) = world.pulls.values()
            world.say(pull, "/nightshift more", by="mia")
            world.say(pull, "and here", path="answer.txt", line=1)
            self.follow()
            pull.state, world.issues[number].state = "merged", "closed"
            self.follow()
        self._judge(world.issues[number], pull)

    def _judge(self, issue: Thread, pull: Thread) -> None:
        world = self.server.world
        with open_store(self.home.folder / "db.sqlite") as store:
            tasks = store.queue.find()[::-1]
            (record,) = store.state.get(f"forge:{self.home.connection.id}")["issues"].values()
        assert [task.status for task in tasks] == [Status.DONE] * 3
        assert len({task.spec.key for task in tasks}) == 3
        assert list(world.pulls.values()) == [pull]
        assert pull.draft
        (issue_note,) = [note.text for note in issue.notes if note.author == BOT]
        (pull_note,) = [note.text for note in pull.notes if note.author == BOT]
        assert "was merged" in issue_note
        assert pull_note.count("is done.") == 2
        assert [each["pushed"] for each in record["followups"]] == [task.commit for task in tasks[1:]]
        assert record["pull"]["state"] == "merged"
        assert world.head(pull.branch) == tasks[-1].commit
        assert git(self.repo, "rev-list", "--count", f"main..{pull.branch}") == "3"


@pytest.mark.parametrize("kind", KINDS)
def test_an_undisturbed_way_has_so_many_writes(tmp_path: Path, kind: str) -> None:
    way = Way(tmp_path, kind)
    way.go()
    assert way.writes == WRITES


@pytest.mark.parametrize(("kind", "when", "n"), DEATHS)
def test_a_death_at_a_write_doubles_nothing_and_loses_nothing(tmp_path: Path, kind: str, when: str, n: int) -> None:
    way = Way(tmp_path, kind, when, n)
    way.go()
    assert way.deaths == 1
