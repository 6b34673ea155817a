"""Checkpoints and pauses of the real daemon, with and without kills.

A report exists after each checkpoint, and tasks wait until the owner resumes work.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support.answers import job
from tests.support.daemon import Daemon, settings_for, until
from tests.support.wire_server import WireServer


def until_at_last(condition: Callable[[], bool]) -> None:
    """Wait up to 120 s for a condition, because a busy machine may take long to start a daemon."""
    until(condition, within_s=120)


def read_held(daemon: Daemon) -> dict[str, str]:
    """Return the pauses that hold tasks back, as a mapping from source to reason."""
    return {hold["source"]: hold["reason"] for hold in daemon.get("/api/status")["holds"]}


def describe(daemon: Daemon) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = daemon.get("/api/logs?limit=1000")["events"]
    return [event for event in events if event["event"] == "checkpoint"]


def status_of(daemon: Daemon, task_id: int) -> str:
    return str(daemon.get(f"/api/task/{task_id}")["status"])


def waits(daemon: Daemon) -> bool:
    return "is written" in read_held(daemon).get("checkpoint", "")


def save(daemon: Daemon) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((daemon.home / "state.json").read_text())
    return read


def test_at_a_checkpoint_the_report_is_written_and_tasks_wait_until_resumed(daemon: Daemon) -> None:
    daemon.wait(daemon.submit(**job(1)))
    asked = daemon.cli("--checkpoint-now")
    assert (asked.returncode, asked.stdout[:11]) == (0, "checkpoint:")
    until_at_last(lambda: waits(daemon))
    status = daemon.get("/api/status")
    assert (status["state"], status["next_checkpoint_at"]) == ("checkpoint", None)
    (event,) = describe(daemon)
    report = (daemon.home / "reports" / event["data"]["report"]).read_text()
    assert "job_1" in report
    later = daemon.submit(**job(2))
    shown = daemon.cli("--status").stdout
    assert "Paused: checkpoint (checkpoint: 1 landed, " in shown
    assert f"; {event['data']['report']} is written); continues when you resume" in shown
    assert "Resume on the dashboard" in shown
    assert status_of(daemon, later) == "queued"
    assert daemon.ask("POST", "/api/checkpoint")[1] == {"asked": False, "state": "checkpoint"}
    assert daemon.cli("--resume").stdout == "running\n"
    daemon.wait(later)
    assert daemon.get("/api/status")["next_checkpoint_at"] is not None
    assert len(describe(daemon)) == 1


def test_killed_while_it_waits_for_what_runs_the_next_start_finishes_the_checkpoint(
    tmp_path: Path, server: WireServer
) -> None:
    daemon = Daemon(tmp_path / "home", settings_for(server, WORKER_COUNT="1"))
    daemon.start()
    server.fail_next("hang", 1, phase="CODING")
    running = daemon.submit(**job(1))
    until_at_last(lambda: any(request.phase == "CODING" for request in server.requests))
    daemon.ask("POST", "/api/checkpoint")
    until_at_last(lambda: "checkpoint" in read_held(daemon))
    assert not waits(daemon)
    daemon.kill()
    daemon.start()
    until_at_last(lambda: waits(daemon))
    assert status_of(daemon, running) == "queued"
    assert f"with task {running} in flight, which continues." in daemon.output()
    daemon.kill()
    daemon.start()
    assert waits(daemon)
    until_at_last(lambda: save(daemon)["starts"] == 3)
    assert len(describe(daemon)) == 1
    assert "died at about" in daemon.output().rpartition("no task was in flight")[0]
    daemon.cli("--resume")
    (task,) = daemon.wait(running)
    assert (task["ending"], task["attempt"]) == ("committed", 1)
    assert daemon.stop() == 0
    state = save(daemon)
    assert (state["clean"], state["running"], state["in_flight"], state["totals"]["commits"]) == (True, False, [], 1)
    daemon.start()
    until_at_last(lambda: save(daemon)["running"])
    assert "The last run ended cleanly" in daemon.output()
    daemon.stop()
