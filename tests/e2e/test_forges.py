"""From an issue to a merged pull request, with a draft, a comment and a follow-up, over a daemon that is killed.

`tests/remote/forges/test_kills.py` has a death at each request, with each forge.
"""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.answers import PLAN, REFLECTION
from tests.support.daemon import Daemon, git, settings_for, until
from tests.support.forges.github_api import GitHubApi
from tests.support.forges.server import TOKEN, ForgeServer
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


def test_from_an_issue_to_a_merged_pull_request_over_a_kill(tmp_path: Path) -> None:
    remote = tmp_path / "remote.git"
    repo = make_repo(tmp_path / "hello", FILES)
    owners_git(tmp_path, "init", "-q", "--bare", "-b", "main", str(remote))
    owners_git(repo, "remote", "add", "origin", str(remote))
    owners_git(repo, "push", "-q", "origin", "main")
    world = World(remote=remote)
    with WireServer(words) as models, ForgeServer(GitHubApi(world), most=30) as forge:
        settings = settings_for(
            models, WORKER_COUNT="1", FORGES=json.dumps({f"{forge.site}/octo/hello": str(repo)}),
            FORGE_KINDS=json.dumps({forge.site.partition("://")[2]: "github"}), FORGE_POLL_S="5", GH_TOKEN=TOKEN,
        )  # fmt: skip
        number = world.issue("Write right into answer.txt", "As `make test` wants it.")
        with Daemon(tmp_path / "home", settings) as daemon:
            until(lambda: bool(world.pulls), within_s=120)
            daemon.kill()
            daemon.start()
            (pull,) = world.pulls.values()
            until(lambda: any(f"#{pull.number}" in note.text for note in world.issues[number].notes), within_s=120)
            assert (pull.draft, world.head(pull.branch)) == (True, git(repo, "rev-parse", pull.branch))
            assert "| verdict | `" in pull.text
            assert "/close" not in "\n".join(line for line in pull.text.split("\n") if line.startswith("/"))
            world.say(pull, "/nightshift make it very right", by="mia")
            until(lambda: any("is done." in note.text for note in pull.notes if note.author == BOT), within_s=120)
            assert git(remote, "show", f"{pull.branch}:answer.txt") == "very right"
            pull.state, world.issues[number].state = "merged", "closed"
            until(lambda: "was merged" in world.issues[number].notes[0].text, within_s=120)
            status = daemon.get("/api/status")["forges"][0]
            tasks = daemon.get("/api/tasks")["tasks"]
            shown = daemon.cli("forges").stdout
    assert sorted((task["status"], task["ending"]) for task in tasks) == [("done", "committed")] * 2
    assert len(world.pulls) == 1
    assert [note.author for note in world.issues[number].notes] == [BOT]
    assert sum(note.author == BOT for note in pull.notes) == 1
    assert (status["fault"], status["pulls"]) == ("", 0)
    assert f"{forge.site}/octo/hello" in shown
    assert TOKEN not in shown + daemon.output() + (daemon.home / "logs" / "agent.log").read_text()
