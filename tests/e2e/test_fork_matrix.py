"""Forks: a task goes on with another model, and of several forks only the one that its owner integrates lands."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path
from typing import Any

import pytest

from tests.support.answers import PLAN, RIGHT, WRONG, Answers, job
from tests.support.daemon import Daemon, git, settings_for
from tests.support.wire_server import WireServer


class ThreeModels(Answers):
    """Three models, which requests choose by name.

    `big` is always wrong. `small` and `other` are right, and write their name in a comment.
    """

    def __init__(self) -> None:
        super().__init__()
        self.server: WireServer | None = None

    def __call__(self, phase: str, messages: list[dict[str, str]]) -> str:
        assert self.server
        model = self.server.requests[-1].body["model"]
        self.wrong_first = 1000 if model == "big" else 0
        reply = super().__call__(phase, messages)
        return reply.replace("def total", f"# by {model}\ndef total") if phase == "CODING" and model != "big" else reply


@pytest.fixture(scope="module")
def server() -> Iterator[WireServer]:
    answers = ThreeModels()
    with WireServer(answers, models=["big", "small", "other"]) as running:
        answers.server = running
        yield running


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory, server: WireServer) -> Iterator[Daemon]:
    settings = settings_for(server, MODEL_NAME="openai=big,openai=small,openai=other", WORKER_COUNT="1")
    with Daemon(tmp_path_factory.mktemp("matrix") / "home", settings) as running:
        yield running


def give_up_task(daemon: Daemon, number: int) -> int:
    """Return a task that the `big` model gave up after one iteration."""
    task = daemon.submit(**job(number), limits={"iterations": 1})
    (ended,) = daemon.wait(task, within_s=180)
    assert ended["ending"] == "gave_up", ended
    return task


def matrix(daemon: Daemon, task: int, *models: str) -> list[int]:
    status, reply = daemon.ask("POST", f"/api/task/{task}/forks", {"models": list(models)})
    assert status == 201, reply
    return [each["task_id"] for each in reply["forks"]]


def commit_of(daemon: Daemon, task: int) -> dict[str, Any]:
    """Return the newest commit of a task."""
    commit: dict[str, Any] = daemon.get(f"/api/commits?task={task}")["commits"][0]
    return commit


def land(daemon: Daemon) -> list[str]:
    """Return the task ids in the commits on the workspace's branch, the newest first."""
    log = git(daemon.home / "workspace", "log", "--format=%(trailers:key=Task,valueonly,separator=%x2C)")
    return [line for line in log.splitlines() if line]


def integrate(daemon: Daemon, task: int) -> dict[str, Any]:
    status, answer = daemon.ask("POST", f"/api/task/{task}/integrate")
    assert status == 200, answer
    done: dict[str, Any] = answer
    return done


def test_what_passes_waits_on_its_branch_until_it_is_integrated(daemon: Daemon) -> None:
    source = give_up_task(daemon, 1)
    before = land(daemon)
    small, other = matrix(daemon, source, "small", "other")
    ended = daemon.wait(small, other, within_s=180)
    assert [task["ending"] for task in ended] == ["committed", "committed"], ended
    assert all("it waits on its branch" in task["reason"] for task in ended)
    assert land(daemon) == before
    commits = [commit_of(daemon, number) for number in (small, other)]
    assert [(commit["integrated"], commit["waits"]) for commit in commits] == [(False, True), (False, True)]
    done = integrate(daemon, other)
    assert done["ended"] == []
    assert land(daemon) == [str(other), *before]
    code = git(daemon.home / "workspace", "show", "HEAD:job_1.py")
    assert code == ("# by other\n" + RIGHT.format(n=1)).strip()
    assert commit_of(daemon, other)["integrated"]
    unread = {each["task_id"] for each in daemon.get("/api/commits?unread=1")["commits"]}
    assert unread & {small, other} == {other}, "only what landed is to be read"
    branches = git(daemon.home / "workspace", "branch", "--list", "agent/*")
    assert f"agent/{small}-" in branches, "what was not chosen stays on its branch"
    assert daemon.ask("POST", f"/api/task/{small}/discard")[0] == 200
    assert f"agent/{small}-" not in git(daemon.home / "workspace", "branch", "--list", "agent/*")


def test_integrating_twice_is_integrating_once_and_a_second_winner_is_refused(daemon: Daemon) -> None:
    source = give_up_task(daemon, 2)
    small, other = matrix(daemon, source, "small", "other")
    daemon.wait(small, other, within_s=180)
    first, again = integrate(daemon, small), integrate(daemon, small)
    assert (again["commit"], again["already"]) == (first["commit"], True)
    status, refused = daemon.ask("POST", f"/api/task/{other}/integrate")
    assert status == 409
    assert f"task {small}, a fork beside task {other}, is integrated already" in refused["error"]
    before = land(daemon)
    assert daemon.ask("POST", f"/api/task/{small}/revert", {})[0] == 200
    integrate(daemon, other)
    assert land(daemon)[0] == str(other), "what was reverted leaves the place to another"
    assert len(land(daemon)) == len(before) + 1


def test_a_kill_while_a_fork_is_integrated_loses_nothing_and_lands_once(tmp_path: Path, server: WireServer) -> None:
    settings = settings_for(server, MODEL_NAME="openai=big,openai=small,openai=other", WORKER_COUNT="1")
    with Daemon(tmp_path / "home", settings) as daemon:
        source = give_up_task(daemon, 5)
        small, other = matrix(daemon, source, "small", "other")
        daemon.wait(small, other, within_s=180)
        before = land(daemon)
        with ThreadPoolExecutor() as pool:
            asked = pool.submit(daemon.ask, "POST", f"/api/task/{small}/integrate")
            daemon.kill()
            with suppress(OSError, HTTPException):
                asked.result()
        daemon.start()
        integrate(daemon, small)
        assert land(daemon) == [str(small), *before]
        assert daemon.ask("POST", f"/api/task/{other}/integrate")[0] == 409


def course(daemon: Daemon, task_id: int) -> list[tuple[str, str]]:
    """Return the phase and outcome of each step in a task's newest attempt."""
    tries = daemon.get(f"/api/task/{task_id}/timeline")["tries"]
    return [(step["phase"], step["outcome"]) for each in tries for step in each["steps"]]


def change(daemon: Daemon, task_id: int, step: int) -> str:
    """Return a task's code as it was after a step of the first attempt."""
    file = daemon.get(f"/api/task/{task_id}/file?path=job_9.py&attempt=1&step={step}")
    return "\n".join("".join(text for _, text in line) for line in file["lines"])


def test_a_fork_goes_on_with_files_and_plan_by_another_model(daemon: Daemon, server: WireServer) -> None:
    given_up = daemon.submit(**job(9), limits={"iterations": 2})
    daemon.wait(given_up, within_s=180)
    source, asked = daemon.get(f"/api/task/{given_up}"), len(server.requests)
    assert course(daemon, given_up)[1] == ("CODING", "ok")
    status, new_fork = daemon.ask("POST", f"/api/task/{given_up}/fork", {"attempt": 1, "step_no": 1, "model": "small"})
    assert status == 201, new_fork
    (ended,) = daemon.wait(new_fork["task_id"], within_s=180)
    assert ended["ending"] == "committed", ended["reason"]
    assert course(daemon, ended["task_id"]) == [
        ("TESTING", "redo"), ("REFLECTING", "redo"), ("CODING", "ok"), ("TESTING", "ok"),
    ]  # fmt: skip
    assert change(daemon, ended["task_id"], 0) == WRONG.format(n=9)
    assert change(daemon, ended["task_id"], 2) == "# by small\n" + RIGHT.format(n=9)
    calls = server.requests[asked:]
    assert {(call.phase, call.body["model"]) for call in calls} == {("REFLECTING", "small"), ("CODING", "small")}
    assert PLAN.splitlines()[1] in calls[-1].messages[1]["content"], "the plan came along"
    assert daemon.get(f"/api/task/{given_up}") == source, "the source is not touched"
    origin = {"task_id": ended["task_id"], "source": given_up, "attempt": 1, "step_no": 1, "model": "openai=small"}
    assert daemon.get(f"/api/task/{ended['task_id']}/timeline")["forked_from"] == origin
    assert origin in daemon.get(f"/api/task/{given_up}/timeline")["forks"]
    assert ended["metadata"]["forked_from"]["task_id"] == given_up
