"""Settings of a repository, end to end: set over the API and at the command line, found, and applied to tasks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.answers import PLAN, REFLECTION
from tests.support.daemon import Daemon, git, settings_for
from tests.support.git_repo import make_repo
from tests.support.wire_server import WireServer

MAKEFILE = "test:\n\tgrep -q right answer.txt\n\nstrict:\n\tgrep -q strict answer.txt\n"
FILES = {"Makefile": MAKEFILE, "CMakeLists.txt": "project(x)\n", "answer.txt": "nothing\n"}


def words(phase: str, messages: list[dict[str, str]]) -> str:
    """Return a correct answer.txt; it contains `strict` only if the prompt does."""
    text = "\n".join(message["content"] for message in messages)
    if phase == "CODING":
        answer = "strict right" if "strict" in text else "right"
        return f"Summary: Answer\n\n```text path=answer.txt\n{answer}\n```"
    return {"PLANNING": PLAN, "REFLECTING": f"```json\n{REFLECTION}\n```"}.get(phase, "```python path=test_x.py\n```")


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    with WireServer(words) as server, Daemon(tmp_path / "home", settings_for(server, WORKER_COUNT="1")) as running:
        yield running


def test_a_program_in_another_language_is_judged_by_the_command_that_its_files_name(
    daemon: Daemon, tmp_path: Path
) -> None:
    repo = make_repo(tmp_path / "shop", FILES)
    (task,) = daemon.wait(daemon.submit(description="Write right into answer.txt", repo=str(repo)))
    assert task["ending"] == "committed", task["reason"]
    events = daemon.get(f"/api/logs?task={task['task_id']}&limit=500")["events"]
    messages = [event["message"] for event in events if event["event"] == "repository_read"]
    assert messages == [
        "the task is judged by make test (Makefile:1)", "before any change: `make test` ended with exit status 2",
    ]  # fmt: skip
    note = git(repo, "notes", "--ref=nightshift", "show", task["commit"])
    assert '"make"' in note


def test_a_correction_counts_for_tasks_that_wait_already(daemon: Daemon, tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "shop", FILES)
    git(repo, "branch", "release")
    assert daemon.ask("POST", "/api/pause")[0] == 200
    task_id = daemon.submit(description="Write right into answer.txt", repo=str(repo))
    own = daemon.submit(description="Write right into answer.txt", repo=str(repo), integrate=False, base="main")
    changes = {"test_command": ["make", "strict"], "target": "release", "integrate": True, "iterations": 4}
    status, shown = daemon.ask("PATCH", "/api/repositories/settings", {"repo": str(repo), "changes": changes})
    assert status == 200, shown
    assert daemon.get("/api/repositories")["repositories"][-1] == str(repo)
    assert daemon.ask("POST", "/api/resume")[0] == 200
    task, other = daemon.wait(task_id, own)
    assert task["ending"] == other["ending"] == "committed", (task["reason"], other["reason"])
    assert git(repo, "show", "release:answer.txt") == "strict right"
    assert git(repo, "show", "main:answer.txt") == "nothing"
    assert git(repo, "show", f"{other['commit']}:answer.txt") == "strict right"


def test_what_decides_which_code_is_let_through_is_set_at_the_command_line_alone(
    daemon: Daemon, tmp_path: Path
) -> None:
    repo = make_repo(tmp_path / "shop", FILES)
    change = {"repo": str(repo), "changes": {"allow": ["python.subprocess"]}}
    status, refused = daemon.ask("PATCH", "/api/repositories/settings", change)
    assert (status, "./cli.py repo-settings" in refused["fields"]["allow"]) == (400, True)
    done = daemon.cli("--repo-settings", str(repo), "allow=python.subprocess")
    assert done.returncode == 0, done.stderr
    shown = daemon.get(f"/api/repositories/settings?repo={repo}")
    assert next(each for each in shown["options"] if each["name"] == "allow")["value"] == ["python.subprocess"]
    faulty = {"repo": str(repo), "changes": {"wall_s": 0, "review": "x"}}
    status, refused = daemon.ask("PATCH", "/api/repositories/settings", faulty)
    assert (status, set(refused["fields"])) == (400, {"wall_s", "review"})
    assert daemon.ask("GET", f"/api/repositories/settings?repo={tmp_path}/none")[0] == 409
