"""The main job end to end: the real daemon, a task through each interface, and a tested commit at the end.

One daemon does the tasks of all tests, as an owner's daemon would. So each test uses its own job numbers.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.answers import RIGHT, TESTS, Answers, job
from tests.support.daemon import Daemon, git, settings_for, until
from tests.support.wire_server import WireServer

HOPELESS = 3
"""Number of the job that never gets a right answer."""


class OneHopeless(Answers):
    def wrong_first_of(self, n: int) -> int:
        return 1000 if n == HOPELESS else 1


@pytest.fixture(scope="module")
def answers() -> Answers:
    return OneHopeless()


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory, answers: Answers) -> Iterator[Daemon]:
    home = tmp_path_factory.mktemp("main") / "home"
    with WireServer(answers) as server, Daemon(home, settings_for(server)) as running:
        yield running


def passes_bare_pytest(repo: Path, commit: str, folder: Path) -> bool:
    folder.mkdir()
    archive = subprocess.run(["git", "-C", str(repo), "archive", commit], capture_output=True, check=True)
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive.stdout, check=True)
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:asyncio", str(folder)]
    return subprocess.run(argv, cwd=folder, capture_output=True, check=False).returncode == 0


def test_wrong_first_and_right_second_ends_as_a_commit_after_two_tries(
    daemon: Daemon, answers: Answers, tmp_path: Path
) -> None:
    (task,) = daemon.wait(daemon.submit(**job(1)))
    assert (task["status"], task["ending"]) == ("done", "committed")
    assert [(row["iteration"], row["passed"], row["failed"]) for row in task["iterations"] if row["iteration"]] == [
        (1, 1, 1),
        (2, 2, 0),
    ]
    asked = {phase: count for (n, phase), count in answers.counts.items() if n == 1}
    assert asked == {"PLANNING": 1, "CODING": 2, "REFLECTING": 1}
    workspace = daemon.home / "workspace"
    assert git(workspace, "rev-parse", "main") == task["commit"]
    assert git(workspace, "show", f"{task['commit']}:job_1.py") + "\n" == RIGHT.format(n=1)
    message = git(workspace, "log", "-1", "--format=%B", task["commit"])
    assert f"Task: {task['task_id']}" in message
    assert "Iterations: 2" in message
    assert f"Model: openai/{WireServer.model}" in message or "Model: " in message
    assert task["branch"].startswith("agent/1-")
    assert passes_bare_pytest(workspace, task["commit"], tmp_path / "tree")
    note = json.loads(git(workspace, "notes", "--ref=nightshift", "show", task["commit"]))
    assert note["evidence"]["label"] == "tests_passed"
    assert note["evidence"]["twins"] == 2
    assert git(workspace, "fsck", "--strict") == ""
    looked = daemon.cli("verify", task["commit"][:10])
    assert (looked.returncode, looked.stdout.splitlines()[-1][:19]) == (0, "holds: tests_passed"), looked.stdout
    events = daemon.get("/api/logs?limit=500")["events"]
    assert [event["task_id"] for event in events if event["event"] == "verified"] == [task["task_id"]], "by the daemon"
    judged_events = [event for event in events if event["event"] == "suite_judged"]
    own = [event for event in judged_events if event["task_id"] == task["task_id"]]
    assert len(own) == 2, "each verdict is told once, with its task"


def test_without_tests_the_agent_writes_them_and_says_so(daemon: Daemon, answers: Answers) -> None:
    (task,) = daemon.wait(daemon.submit(description="Write total() in job_2.py"))
    assert task["ending"] == "committed"
    assert answers.counts[2, "TESTING"] == 1
    workspace = daemon.home / "workspace"
    assert git(workspace, "show", f"{task['commit']}:test_job_2.py") + "\n" == TESTS.format(n=2)
    assert "Verdict: self_tested" in git(workspace, "log", "-1", "--format=%B", task["commit"])


def test_always_wrong_is_never_committed_and_fails_with_a_reason(daemon: Daemon) -> None:
    workspace = daemon.home / "workspace"
    before = git(workspace, "rev-parse", "main")
    (task,) = daemon.wait(daemon.submit(**job(HOPELESS)))
    assert task["status"] == "failed"
    assert task["ending"] in {"stuck", "gave_up"}
    assert task["commit"] is None
    assert len(daemon.get(f"/api/logs?task={task['task_id']}&limit=200")["events"]) > 5
    assert git(workspace, "rev-parse", "main") == before
    shown = daemon.cli("--show", str(task["task_id"]))
    assert "test_boundary_and_above" in shown.stdout


def test_each_door_leads_to_the_same_queue(daemon: Daemon) -> None:
    wanted = {f"Write total() in job_{n}.py" for n in (4, 5, 6)}
    by_cli = daemon.cli("Write total() in job_4.py", "--json")
    assert by_cli.returncode == 0, by_cli.stderr
    (daemon.home / "tasks.yaml").write_text('tasks:\n  - description: "Write total() in job_5.py"\n    key: five\n')
    daemon.submit(description="Write total() in job_6.py")

    def ids() -> list[int]:
        return [task["task_id"] for task in daemon.get("/api/tasks")["tasks"] if task["description"] in wanted]

    until(lambda: len(ids()) == len(wanted))
    ended = daemon.wait(*ids())
    assert {task["description"] for task in ended} == wanted
    assert {task["ending"] for task in ended} == {"committed"}


def tree_of(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_in_the_owners_repository_a_branch_is_left_and_nothing_else_moves(daemon: Daemon, tmp_path: Path) -> None:
    repo = tmp_path / "owned"
    repo.mkdir()
    git(repo, "init", "-q", "-b", "trunk")
    git(repo, "config", "user.name", "Owner")
    git(repo, "config", "user.email", "owner@example.org")
    (repo / "other.py").write_text("VALUE = 1\n")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "First")
    (repo / "other.py").write_text("VALUE = 2\n")
    git(repo, "stash")
    (repo / "staged.py").write_text("STAGED = True\n")
    git(repo, "add", "staged.py")
    (repo / "loose.py").write_text("LOOSE = True\n")
    paths = ("HEAD", "index", "config", "refs/heads/trunk", "refs/stash", "logs/HEAD", "logs/refs/stash")
    before = {name: (repo / ".git" / name).read_bytes() for name in paths}
    files = {path: digest for path, digest in tree_of(repo).items() if not path.startswith(".git/")}
    (task,) = daemon.wait(daemon.submit(**job(7), repo=str(repo)))
    assert task["ending"] == "committed", task
    assert {name: (repo / ".git" / name).read_bytes() for name in paths} == before
    assert {path: digest for path, digest in tree_of(repo).items() if not path.startswith(".git/")} == files
    assert git(repo, "rev-parse", task["branch"]) == task["commit"]
    assert git(repo, "rev-parse", f"{task['commit']}^") == git(repo, "rev-parse", "trunk")
    assert sorted(git(repo, "ls-tree", "-r", "--name-only", task["commit"]).split()) == [
        "job_7.py", "other.py", "test_job_7.py",
    ]  # fmt: skip
    assert git(repo, "for-each-ref", "--format=%(refname)", "refs/heads").split() == [
        f"refs/heads/{task['branch']}", "refs/heads/trunk",
    ]  # fmt: skip
