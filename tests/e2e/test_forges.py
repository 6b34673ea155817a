"""From an issue to a merged pull request, with a draft, a comment and a follow-up, while the daemon is killed.

The daemon is killed right after the forge has carried out a request and before the daemon gets the answer. The next
daemon must not repeat the request's effect. `tests/remote/forges/test_kills.py` has a death at each request, and more
forges.
"""

from __future__ import annotations

import json
import signal
import threading
import time
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

import pytest

from tests.support.answers import PLAN, REFLECTION
from tests.support.daemon import Daemon, git, settings_for
from tests.support.forges.github_api import GitHubApi
from tests.support.forges.gitlab_api import GitLabApi
from tests.support.forges.server import TOKEN, Api, ForgeServer, Seen
from tests.support.forges.world import BOT, World
from tests.support.git_repo import git as owners_git
from tests.support.git_repo import make_repo
from tests.support.wire_server import WireServer

FILES = {"Makefile": "test:\n\tgrep -q right answer.txt\n", "answer.txt": "nothing\n"}


def words(phase: str, messages: list[dict[str, str]]) -> str:
    """Answer with the file's text `right`, or `very right` if a comment asks for more."""
    text = "\n".join(message["content"] for message in messages)
    if phase == "CODING":
        answer = "very right" if "very" in text else "right"
        return f"Summary: Answer @everyone /close\n\n```text path=answer.txt\n{answer}\n```"
    return {"PLANNING": PLAN, "REFLECTING": f"```json\n{REFLECTION}\n```"}.get(phase, "```python path=test_x.py\n```")


KINDS = 12
"""The minimum number of different requests, by method and path, that the daemon sends to each forge."""
SETTINGS: Mapping[str, tuple[str, Callable[[World], Api]]] = {
    "github": ("GH_TOKEN", GitHubApi), "gitlab": ("GITLAB_TOKEN", GitLabApi),
}  # fmt: skip


class Killer:
    """Kills and restarts the daemon at requests.

    It kills the daemon at the first request of each kind (method and path) whose number is in `at`.
    """

    def __init__(self, daemon: Daemon, at: Collection[int]) -> None:
        self.daemon, self.struck, self._at = daemon, list[str](), at
        self._lock = threading.Lock()

    def after(self, seen: Seen) -> None:
        with self._lock:
            kind = f"{seen.method} {seen.path}"
            if kind not in self.struck:
                self.struck.append(kind)
                if len(self.struck) - 1 not in self._at:
                    return
                assert self.daemon.process
                self.daemon.process.kill()

    def until(self, condition: Callable[[], bool], within_s: float = 400) -> None:
        """Wait for a condition, and restart the daemon whenever it was killed."""
        end = time.monotonic() + within_s
        while not condition():
            assert time.monotonic() < end, f"it did not happen in time\n{self.daemon.output()[-3000:]}"
            self.revive()
            time.sleep(0.1)

    def revive(self) -> None:
        while self.daemon.process and self.daemon.process.poll() is not None:
            try:
                self.daemon.start()
            except AssertionError:  # the daemon was killed during its start
                if self.daemon.process.poll() != -signal.SIGKILL:
                    raise


@pytest.mark.parametrize("kind", sorted(SETTINGS))
def test_from_an_issue_to_a_merged_pull_request_over_kills_at_requests(tmp_path: Path, kind: str) -> None:
    variable, api = SETTINGS[kind]
    at = (0, KINDS - 1)
    remote = tmp_path / "remote.git"
    repo = make_repo(tmp_path / "hello", FILES)
    owners_git(tmp_path, "init", "-q", "--bare", "-b", "main", str(remote))
    owners_git(repo, "remote", "add", "origin", str(remote))
    owners_git(repo, "push", "-q", "origin", "main")
    world = World(remote=remote)
    with WireServer(words) as models, ForgeServer(api(world), most=30) as forge:
        settings = settings_for(
            models, WORKER_COUNT="1", FORGES=json.dumps({f"{forge.site}/octo/hello": str(repo)}),
            FORGE_KINDS=json.dumps({forge.site.partition("://")[2]: kind}), FORGE_POLL_S="5",
            **{variable: TOKEN},
        )  # fmt: skip
        daemon = Daemon(tmp_path / "home", settings)
        killer = Killer(daemon, at)
        number = world.issue("Write right into answer.txt", "As `make test` wants it.")
        forge.after = killer.after
        sign = "!" if kind == "gitlab" else "#"
        daemon.start()
        killer.until(lambda: bool(world.pulls))
        (pull,) = world.pulls.values()
        killer.until(lambda: any(f"{sign}{pull.number}" in note.text for note in world.issues[number].notes))
        assert (pull.draft, world.head(pull.branch)) == (True, git(repo, "rev-parse", pull.branch))
        assert "| verdict | `" in pull.text
        assert "/close" not in "\n".join(line for line in pull.text.split("\n") if line.startswith("/"))
        world.say(pull, "/nightshift make it very right", by="mia")
        killer.until(lambda: any("is done." in note.text for note in pull.notes if note.author == BOT))
        assert git(remote, "show", f"{pull.branch}:answer.txt") == "very right"
        pull.state, world.issues[number].state = "merged", "closed"
        killer.until(lambda: "was merged" in world.issues[number].notes[0].text)
        killer.revive()
        status = daemon.get("/api/status")["forges"][0]
        tasks = daemon.get("/api/tasks")["tasks"]
        result = daemon.cli("forges")
        daemon.stop()
        after = daemon.cli("forges", "--json")
    assert len(killer.struck) >= KINDS, killer.struck
    assert sorted((task["status"], task["ending"]) for task in tasks) == [("done", "committed")] * 2
    assert len(world.pulls) == 1
    assert [note.author for note in world.issues[number].notes] == [BOT]
    assert sum(note.author == BOT for note in pull.notes) == 1
    assert (status["fault"], status["pulls"], result.returncode) == ("", 0, 0)
    assert f"{forge.site}/octo/hello" in result.stdout
    assert json.loads(after.stdout)["forges"][0]["address"] == f"{forge.site}/octo/hello"
    assert (
        TOKEN not in result.stdout + after.stdout + daemon.output() + (daemon.home / "logs" / "agent.log").read_text()
    )
