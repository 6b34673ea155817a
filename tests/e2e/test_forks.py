"""A task is forked: it continues another task with another model, through the real daemon, its API and its CLI."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.answers import PLAN, RIGHT, WRONG, Answers, job
from tests.support.daemon import Daemon, git, settings_for
from tests.support.wire_server import WireServer

NOTE = "Leave the boundary out."


class TwoModels(Answers):
    """Two models: `big` is always wrong, and `small` is right."""

    def __init__(self) -> None:
        super().__init__()
        self.server: WireServer | None = None

    def __call__(self, phase: str, messages: list[dict[str, str]]) -> str:
        assert self.server
        self.wrong_first = 1000 if self.server.requests[-1].body["model"] == "big" else 0
        return super().__call__(phase, messages)


@pytest.fixture(scope="module")
def server() -> Iterator[WireServer]:
    answers = TwoModels()
    with WireServer(answers, models=["big", "small"]) as running:
        answers.server = running
        yield running


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory, server: WireServer) -> Iterator[Daemon]:
    settings = settings_for(server, MODEL_NAME="openai=big,openai=small", WORKER_COUNT="1")
    with Daemon(tmp_path_factory.mktemp("forks") / "home", settings) as running:
        yield running


@pytest.fixture(scope="module")
def given_up(daemon: Daemon) -> int:
    """A task that the `big` model gave up after two iterations."""
    number = daemon.submit(**job(1), limits={"iterations": 2})
    (ended,) = daemon.wait(number)
    assert ended["ending"] == "gave_up"
    return number


def fork(daemon: Daemon, task_id: int, **body: Any) -> dict[str, Any]:
    status, reply = daemon.ask("POST", f"/api/task/{task_id}/fork", body)
    assert status == 201, reply
    return dict(reply)


def course(daemon: Daemon, task_id: int) -> list[tuple[str, str]]:
    """Return the phase and outcome of each step in a task's newest attempt."""
    tries = daemon.get(f"/api/task/{task_id}/timeline")["tries"]
    return [(step["phase"], step["outcome"]) for each in tries for step in each["steps"]]


def change(daemon: Daemon, task_id: int, step: int) -> str:
    """Return a task's code as it was after a step of the first attempt."""
    file = daemon.get(f"/api/task/{task_id}/file?path=job_1.py&attempt=1&step={step}")
    return "\n".join("".join(text for _, text in line) for line in file["lines"])


def test_a_fork_goes_on_with_files_and_plan_by_another_model(daemon: Daemon, server: WireServer, given_up: int) -> None:
    source, asked = daemon.get(f"/api/task/{given_up}"), len(server.requests)
    assert course(daemon, given_up)[1] == ("CODING", "ok")
    new_fork = fork(daemon, given_up, attempt=1, step_no=1, model="small")
    (ended,) = daemon.wait(new_fork["task_id"])
    assert ended["ending"] == "committed", ended["reason"]
    assert course(daemon, ended["task_id"]) == [
        ("TESTING", "redo"), ("REFLECTING", "redo"), ("CODING", "ok"), ("TESTING", "ok"),
    ]  # fmt: skip
    assert change(daemon, ended["task_id"], 0) == WRONG.format(n=1)
    assert change(daemon, ended["task_id"], 2) == RIGHT.format(n=1)
    calls = server.requests[asked:]
    assert {(call.phase, call.body["model"]) for call in calls} == {("REFLECTING", "small"), ("CODING", "small")}
    assert PLAN.splitlines()[1] in calls[-1].messages[1]["content"], "the plan came along"
    assert daemon.get(f"/api/task/{given_up}") == source, "the source is not touched"
    origin = {"task_id": ended["task_id"], "source": given_up, "attempt": 1, "step_no": 1, "model": "openai=small"}
    assert daemon.get(f"/api/task/{ended['task_id']}/timeline")["forked_from"] == origin
    assert origin in daemon.get(f"/api/task/{given_up}/timeline")["forks"]
    assert ended["metadata"]["forked_from"]["task_id"] == given_up


def test_each_attempt_of_a_fork_begins_at_the_same_place(daemon: Daemon, given_up: int) -> None:
    number = fork(daemon, given_up, attempt=1, step_no=1)["task_id"]
    (ended,) = daemon.wait(number)
    assert ended["ending"] == "gave_up"
    assert daemon.ask("POST", f"/api/task/{number}/retry")[0] == 200
    (again,) = daemon.wait(number)
    assert again["attempt"] == 2
    assert course(daemon, number)[0] == ("TESTING", "redo")


def test_a_note_is_heeded_by_whoever_writes_code_next(daemon: Daemon, server: WireServer, given_up: int) -> None:
    asked = len(server.requests)
    new_fork = fork(daemon, given_up, attempt=1, step_no=1, model="openai=small", note=NOTE)
    (ended,) = daemon.wait(new_fork["task_id"])
    assert ended["status"] == "done", "an earlier fork may have brought the same change"
    assert course(daemon, ended["task_id"])[0] == ("CODING", "ok")
    assert NOTE in server.requests[asked].messages[1]["content"]


def test_a_fork_in_the_owners_repository_begins_at_the_base_of_its_source(
    daemon: Daemon, given_up: int, tmp_path: Path
) -> None:
    repo = tmp_path / "owned"
    repo.mkdir()
    git(repo, "init", "-q", "-b", "main")
    (repo / "kept.py").write_text("KEPT = 1\n")
    git(repo, "add", ".")
    git(repo, "-c", "user.name=o", "-c", "user.email=o@x", "commit", "-qm", "begin")
    base = git(repo, "rev-parse", "HEAD")
    number = daemon.submit(**job(1), repo=str(repo), limits={"iterations": 1})
    daemon.wait(number)
    (repo / "later.py").write_text("LATER = 1\n")
    git(repo, "add", ".")
    git(repo, "-c", "user.name=o", "-c", "user.email=o@x", "commit", "-qm", "later")
    (ended,) = daemon.wait(fork(daemon, number, model="small")["task_id"])
    assert ended["ending"] == "committed", ended["reason"]
    assert git(repo, "rev-parse", f"{ended['branch']}^") == base
    (file,) = [each for each in daemon.get(f"/api/task/{ended['task_id']}/diff")["files"] if each["path"] == "job_1.py"]
    assert (file["status"], file["added"], file["removed"]) == ("added", 2, 0)


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ({"model": "gpt-9"}, 400, "openai=big, openai=small"),
        ({"step_no": 99}, 404, "it has 0 to"),
        ({"attempt": 7}, 404, "no finished step in attempt 7"),
        ({"step_no": -1}, 400, "step_no"),
        ({"note": "x" * 4001}, 400, "note"),
        ({"surprise": 1}, 400, "surprise"),
    ],
)
def test_what_cannot_be_forked_is_refused_with_the_reason(
    daemon: Daemon, given_up: int, body: dict[str, Any], status: int, message: str
) -> None:
    before = daemon.get("/api/tasks?limit=1")["tasks"][0]["task_id"]
    got, answer = daemon.ask("POST", f"/api/task/{given_up}/fork", body)
    assert got == status
    assert message in answer["error"]
    assert daemon.get("/api/tasks?limit=1")["tasks"][0]["task_id"] == before


def test_the_command_line_forks(daemon: Daemon, given_up: int) -> None:
    done = daemon.cli("--fork", f"{given_up}:1", "--model", "small", "--json")
    assert done.returncode == 0, done.stderr
    new_fork = json.loads(done.stdout)
    assert (new_fork["source"], new_fork["step_no"], new_fork["model"]) == (given_up, 1, "openai=small")
    assert daemon.wait(new_fork["task_id"])[0]["ending"] in {"committed", "no_change"}
    refused = daemon.cli("--fork", str(given_up), "--model", "gpt-9")
    assert refused.returncode == 2
    assert "openai=big, openai=small" in refused.stderr
    assert daemon.cli("--fork", f"{given_up}:99").returncode == 4
