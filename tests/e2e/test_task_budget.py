"""A task that has spent its budget asks its owner, through the real daemon.

The task continues or ends as the owner decides.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.answers import Answers, job
from tests.support.daemon import Daemon, settings_for, until
from tests.support.wire_server import WireServer

FEW = 900
"""Token budget. Enough for one or two of the four model calls that the task needs."""


def waiting(daemon: Daemon, task_id: int) -> dict[str, Any]:
    """Wait until the task asks its owner, and return the open approval."""
    until(lambda: daemon.get(f"/api/task/{task_id}")["status"] == "waiting", within_s=40)
    (asked,) = daemon.get("/api/approvals?open=1")["approvals"]
    assert (asked["task_id"], asked["kind"]) == (task_id, "budget")
    return dict(asked)


def decide(daemon: Daemon, asked: dict[str, Any], granted: bool) -> None:
    status, body = daemon.ask("POST", f"/api/approvals/{asked['approval_id']}", {"granted": granted})
    assert status == 200, body


def grant(daemon: Daemon, asked: dict[str, Any]) -> bool:
    """Grant the approval, and check whether the task then asks its owner again."""
    decide(daemon, asked, True)
    path = f"/api/task/{asked['task_id']}"
    until(lambda: daemon.get(path)["status"] in {"waiting", "done", "failed"}, within_s=40)
    return bool(daemon.get(path)["status"] == "waiting")


def test_grants_add_up_over_a_kill_and_no_reply_is_bought_twice(
    tmp_path: Path, server: WireServer, answers: Answers
) -> None:
    daemon = Daemon(tmp_path / "home", settings_for(server))
    daemon.start()
    task_id = daemon.submit(**job(1), limits={"tokens": FEW})
    asked = waiting(daemon, task_id)
    assert f"of {FEW:,} tokens, and the next call needs" in asked["question"]
    assert asked["question"].endswith(f"; grant as much again ({FEW:,})?")
    assert daemon.get("/api/status")["state"] == "running"
    grants = 1
    while grant(daemon, asked):
        grants, asked = grants + 1, waiting(daemon, task_id)
        assert asked["subject"] == f"budget:tokens:{FEW * (grants + 1)}"
        daemon.kill()
        daemon.start()
        assert waiting(daemon, task_id) == asked
    (task,) = daemon.wait(task_id)
    assert (task["ending"], task["attempt"]) == ("committed", 1)
    assert grants >= 2
    assert task["spent"]["tokens_in"] + task["spent"]["tokens_out"] <= FEW * (grants + 1)
    assert task["spent"]["model_calls"] == len(server.requests) == sum(answers.counts.values())
    assert set(answers.counts.values()) <= {1, 2}, "it went on at its step"
    daemon.stop()


def test_a_spent_day_waits_for_midnight_and_a_raised_limit_lets_go_of_it(tmp_path: Path, server: WireServer) -> None:
    daemon = Daemon(tmp_path / "home", settings_for(server, DAY_TOKENS=str(FEW)))
    daemon.start()
    task_id = daemon.submit(**job(1))
    until(lambda: daemon.get(f"/api/task/{task_id}")["status"] == "scheduled", within_s=40)
    task, asked = daemon.get(f"/api/task/{task_id}"), len(server.requests)
    assert task["not_before"].endswith("T00:00:00.000000Z")
    assert f"today: the limit of {FEW} tokens is reached" in task["reason"]
    assert "DAY_TOKENS" in task["reason"]
    daemon.kill()
    daemon.start()
    other = daemon.submit(**job(2))
    until(lambda: daemon.get(f"/api/task/{other}")["status"] == "scheduled", within_s=40)
    assert daemon.get(f"/api/task/{task_id}")["status"] == "scheduled"
    assert len(server.requests) <= asked + 1, "what was spent before the restart counts after it"
    daemon.stop()
