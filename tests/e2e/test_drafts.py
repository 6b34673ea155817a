"""Tasks that end without a commit, through the real daemon: each task's branch has its change as a draft."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.support.answers import PLAN, REFLECTION, RIGHT, TESTS, WRONG
from tests.support.daemon import Daemon, settings_for
from tests.support.git_repo import git, make_repo
from tests.support.wire_server import WireServer

NUMBER = re.compile(r"job_(\d+)")
WORSE = "def total(numbers):\n    return 'none' + '{n}'\n"
OTHER = "def total(numbers):\n    return 'other' + '{n}'\n"


@dataclass
class Model:
    """A model for the tasks “job_<n>”: `code` has the code for each task, in the order of the requests."""

    code: dict[int, list[str]] = field(default_factory=dict)

    def __call__(self, phase: str, messages: list[dict[str, Any]]) -> str:
        n = int(NUMBER.findall("\n".join(message["content"] for message in messages))[0])
        if phase == "CODING":
            waiting = self.code[n]
            code = waiting.pop(0) if len(waiting) > 1 else waiting[0]
            return f"Summary: Sum above {n}\n\n```python path=job_{n}.py\n{code.format(n=n)}```"
        return {"PLANNING": PLAN, "REFLECTING": f"```json\n{REFLECTION}\n```"}[phase]


@dataclass
class Site:
    """A daemon with its model, and a repository of the owner."""

    daemon: Daemon
    server: WireServer
    model: Model
    repo: Path
    numbers: Iterator[int]

    def submit(self, *code: str, **more: Any) -> int:
        """Submit the next task, for which the model returns these versions of the code."""
        n = next(self.numbers)
        self.model.code[n] = list(code)
        given = {f"test_job_{n}.py": TESTS.format(n=n)}
        return self.daemon.submit(description=f"Write total() in job_{n}.py", tests=given, repo=str(self.repo), **more)

    def ended(self, task_id: int) -> dict[str, Any]:
        (task,) = self.daemon.wait(task_id)
        assert (task["status"], task["commit"]) == ("failed", None)
        return task

    def draft(self, task: dict[str, Any]) -> dict[str, Any]:
        """Return the draft of a task from the API, and check that it matches the branch."""
        (row,) = self.daemon.get(f"/api/commits?task={task['task_id']}")["commits"]
        assert (row["label"], row["integrated"], row["branch"]) == ("draft", False, task["branch"])
        assert git(self.repo, "rev-parse", task["branch"]) == row["commit"]
        body = git(self.repo, "log", "-1", "--format=%B", row["commit"])
        assert f"Draft-Of: {task['task_id']}" in body
        assert "\nTask: " not in body
        return dict(row)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder, model = tmp_path_factory.mktemp("drafts"), Model()
    with WireServer(model) as server, Daemon(folder / "home", settings_for(server)) as daemon:
        yield Site(daemon, server, model, make_repo(folder / "theirs"), iter(range(1, 99)))


def test_a_retry_from_the_draft_begins_with_its_files_and_what_failed(site: Site) -> None:
    task = site.ended(site.submit(WRONG, limits={"iterations": 1}))
    asked, number = len(site.server.requests), str(task["task_id"])
    site.model.code[int(NUMBER.findall(task["description"])[0])] = [RIGHT]
    result = site.daemon.cli("retry", number, "--from-draft")
    assert result.returncode == 0, result.stderr
    (done,) = site.daemon.wait(task["task_id"])
    assert (done["ending"], done["attempt"], done["draft"]) == ("committed", 2, None)
    later = site.server.requests[asked:]
    assert [request.phase for request in later] == ["REFLECTING", "CODING"]
    assert "x >= " in str(later[1].messages), "the model sees the code of the draft"
    assert "test_boundary_and_above" in str(later[1].messages)
    path = f"/api/task/{number}/diff?attempt=2"
    assert site.daemon.get(f"{path}&of=step&step=0")["files"] == [], "it begins with the draft"
    (file,) = site.daemon.get(f"{path}&of=step&step=1")["files"]
    assert (file["path"], file["added"], file["removed"]) == (f"job_{NUMBER.findall(task['description'])[0]}.py", 1, 1)


def test_a_draft_is_integrated_only_if_it_passes_and_a_discarded_one_is_none_any_more(site: Site) -> None:
    git(site.repo, "branch", "-f", "nightly", "main")
    task = site.ended(site.submit(WRONG, base="nightly", limits={"iterations": 1}))
    number, branch = str(task["task_id"]), task["branch"]
    before = git(site.repo, "rev-parse", "nightly")
    refused = site.daemon.cli("integrate", number)
    assert (refused.returncode, "test_boundary_and_above" in refused.stdout + refused.stderr) == (5, True)
    assert git(site.repo, "rev-parse", "nightly", branch).split() == [before, task["draft"]["commit"]]
    assert site.daemon.get("/api/tasks?limit=1")["tasks"][0]["has_draft"] is True
    assert site.daemon.cli("discard", number).returncode == 0
    assert git(site.repo, "branch", "--list", branch) == ""
    task = site.daemon.get(f"/api/task/{number}")
    assert (task["draft"], task["has_draft"]) == (None, False)
    assert site.daemon.get("/api/tasks?limit=1")["tasks"][0]["has_draft"] is False
    assert number not in [str(row["task_id"]) for row in site.daemon.get("/api/commits?drafts=1")["commits"]]
    status, body = site.daemon.ask("POST", f"/api/task/{number}/retry", {"from_draft": True})
    assert (status, "has no draft" in body["error"]) == (409, True)


def test_the_best_change_outlives_a_daemon_that_is_killed(tmp_path: Path) -> None:
    model = Model({1: [WRONG, WORSE, OTHER]})
    with WireServer(model) as server:
        daemon = Daemon(tmp_path / "home", settings_for(server))
        daemon.start()
        repo = make_repo(tmp_path / "theirs")
        site = Site(daemon, server, model, repo, iter([1]))
        server.fail_next("hang", phase="REFLECTING")
        task_id = site.submit(WRONG, WORSE, OTHER, limits={"iterations": 3})
        server.until(lambda: any(request.phase == "REFLECTING" for request in server.requests))
        daemon.kill()
        daemon.start()
        task = site.ended(task_id)
        assert (task["ending"], site.draft(task)["tests_passed"]) == ("gave_up", 1)
        daemon.stop()
