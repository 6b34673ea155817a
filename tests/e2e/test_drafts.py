"""Tasks that end without a commit, through the real daemon: each task's branch has its change as a draft."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.support.answers import PLAN, REFLECTION, RIGHT, TESTS, WRONG
from tests.support.daemon import Daemon, settings_for, until
from tests.support.git_repo import git, make_repo
from tests.support.wire_server import WireServer

NUMBER = re.compile(r"job_(\d+)")
HANGS = "import time\n\n\ndef total(numbers):\n    time.sleep(600)\n    return {n}\n"
WORSE = "def total(numbers):\n    return 'none' + '{n}'\n"
OTHER = "def total(numbers):\n    return 'other' + '{n}'\n"


@dataclass
class Model:
    """A model for the tasks “job_<n>”.

    Attributes:
        code: The code for each task, in the order of the requests.
        tests: The tests for each task.
    """

    code: dict[int, list[str]] = field(default_factory=dict)
    tests: dict[int, str] = field(default_factory=dict)

    def __call__(self, phase: str, messages: list[dict[str, Any]]) -> str:
        n = int(NUMBER.findall("\n".join(message["content"] for message in messages))[0])
        if phase == "CODING":
            waiting = self.code[n]
            code = waiting.pop(0) if len(waiting) > 1 else waiting[0]
            return f"Summary: Sum above {n}\n\n```python path=job_{n}.py\n{code.format(n=n)}```" if code else "Well."
        if phase == "TESTING":
            return f"```python path=test_own_{n}.py\n{self.tests[n]}```"
        return {"PLANNING": PLAN, "REFLECTING": f"```json\n{REFLECTION}\n```"}[phase]


@dataclass
class Site:
    """A daemon with its model, and a repository of the owner."""

    daemon: Daemon
    server: WireServer
    model: Model
    repo: Path
    numbers: Iterator[int]

    def submit(self, *code: str, tests: bool = True, **more: Any) -> int:
        """Submit the next task, for which the model returns these versions of the code."""
        n = next(self.numbers)
        self.model.code[n] = list(code)
        given = {f"test_job_{n}.py": TESTS.format(n=n)} if tests else {}
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


def test_a_task_that_is_stuck_leaves_its_best_change(site: Site) -> None:
    task = site.ended(site.submit(WRONG))
    assert task["ending"] == "stuck"
    assert (site.draft(task)["tests"], site.draft(task)["tests_passed"]) == (2, 1)
    diff = site.daemon.get(f"/api/task/{task['task_id']}/diff")
    assert (diff["commit"], task["draft"]["commit"]) == (site.draft(task)["commit"],) * 2
    assert task["draft"]["text"] == f"draft on {task['branch']}: 1 of 2 tests pass"


def test_a_task_that_gave_up_leaves_the_change_with_most_tests_passing_and_not_the_last(site: Site) -> None:
    task = site.ended(site.submit(WORSE, WRONG, OTHER, limits={"iterations": 3}))
    assert task["ending"] == "gave_up"
    row = site.draft(task)
    assert (row["tests"], row["tests_passed"], len(row["failing"])) == (2, 1, 1)
    assert "x >= " in git(site.repo, "show", row["commit"])


def test_a_task_whose_time_is_over_leaves_what_was_judged_before(site: Site) -> None:
    task = site.ended(site.submit(WRONG, HANGS, limits={"wall_s": 8, "attempts": 1}))
    assert task["ending"] == "timeout"
    assert site.draft(task)["tests_passed"] == 1


def test_a_task_whose_owner_grants_no_more_leaves_what_it_has(site: Site) -> None:
    task_id = site.submit(WRONG, limits={"model_calls": 2})
    until(lambda: site.daemon.get(f"/api/task/{task_id}")["status"] == "waiting", within_s=60)
    (asked,) = site.daemon.get("/api/approvals?open=1")["approvals"]
    assert site.daemon.ask("POST", f"/api/approvals/{asked['approval_id']}", {"granted": False})[0] == 200
    task = site.ended(task_id)
    assert task["ending"] == "budget"
    assert site.draft(task)["tests_passed"] == 1


def test_a_task_that_changed_nothing_leaves_nothing_and_says_so(site: Site) -> None:
    task = site.ended(site.submit("", limits={"iterations": 2}))
    assert task["reason"].endswith("no draft is left: nothing was changed")
    assert (task["branch"], site.daemon.get(f"/api/commits?task={task['task_id']}")["commits"]) == (None, [])


def test_right_code_whose_self_written_tests_show_nothing_is_doubtful_after_the_second_ones(site: Site) -> None:
    n = 50
    site.model.code[n], site.model.tests[n] = [RIGHT], "def test_own():\n    assert 1 + 1 == 2\n"
    (site.repo / f"job_{n}.py").write_text(RIGHT.format(n=n).replace("> 50", "> 50 and x"))
    (site.repo / f"test_old_{n}.py").write_text(TESTS.format(n=n))
    git(site.repo, "add", "-A")
    git(site.repo, "commit", "-q", "-m", "Sums")
    asked = len(site.server.requests)
    (task,) = site.daemon.wait(
        site.daemon.submit(description=f"Let total() in job_{n}.py be plain", repo=str(site.repo))
    )
    assert task["ending"] == "committed", task["reason"]
    assert [row["label"] for row in site.daemon.get(f"/api/commits?task={task['task_id']}")["commits"]] == ["doubtful"]
    prompts = [str(request.messages) for request in site.server.requests[asked:] if request.phase == "TESTING"]
    assert (len(prompts), len(set(prompts))) == (2, 2)


def test_a_retry_that_passes_takes_the_branch_of_the_draft(site: Site) -> None:
    task = site.ended(site.submit(WRONG, limits={"iterations": 2}))
    draft = site.draft(task)
    site.model.code[int(NUMBER.findall(task["description"])[0])] = [RIGHT]
    assert site.daemon.ask("POST", f"/api/task/{task['task_id']}/retry")[0] == 200
    (done,) = site.daemon.wait(task["task_id"])
    assert (done["ending"], done["branch"]) == ("committed", task["branch"])
    assert git(site.repo, "rev-parse", task["branch"]) == done["commit"] != draft["commit"]
    assert [row["label"] for row in site.daemon.get(f"/api/commits?task={task['task_id']}")["commits"]] == [
        "tests_passed"
    ]


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
    (file,) = site.daemon.get(f"{path}&of=iteration&iteration=1")["files"]
    assert (file["path"], file["added"], file["removed"]) == (f"job_{NUMBER.findall(task['description'])[0]}.py", 1, 1)


def test_the_command_line_shows_the_draft_and_what_can_be_done_with_it(site: Site) -> None:
    task = site.ended(site.submit(WRONG, limits={"iterations": 1}))
    number, branch = str(task["task_id"]), task["branch"]
    shown = " ".join(site.daemon.cli("show", number).stdout.split())
    assert f"draft on {branch}: 1 of 2 tests pass" in shown
    assert task["draft"]["look"] in shown
    for command in (f"retry {number} --from-draft", f"integrate {number}", f"discard {number}"):
        assert command in shown
    look = task["draft"]["look"].split()
    assert "+def total(numbers):" in git(site.repo, *look[look.index("diff") :])
    row = next(line for line in site.daemon.cli("history", "50").stdout.splitlines() if line.split()[:1] == [number])
    assert "draft" in row
    assert re.search(r"\d+ drafts?", site.daemon.cli("brief").stdout)
    judged = site.daemon.cli("verify", branch, "--repo", str(site.repo))
    assert (judged.returncode, "a draft: it did not pass: 1 of 2 tests pass" in judged.stdout) == (1, True)
    assert "does not hold" not in judged.stdout
    reverted = site.daemon.cli("revert", number)
    assert (reverted.returncode, "left a draft, which did not pass" in reverted.stderr) == (5, True)


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


def test_a_task_without_a_draft_cannot_begin_with_one(site: Site) -> None:
    task = site.ended(site.submit("", limits={"iterations": 1}))
    path = f"/api/task/{task['task_id']}/retry"
    status, body = site.daemon.ask("POST", path, {"from_draft": True})
    assert (status, "has no draft" in body["error"]) == (409, True)
    status, body = site.daemon.ask("POST", path, {"from_draft": "yes"})
    assert (status, body["error"].partition(":")[0]) == (400, "from_draft")
    result = site.daemon.cli("retry", "--failed", "--from-draft")
    assert (result.returncode, "retry 7 --from-draft" in result.stderr) == (2, True)


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
