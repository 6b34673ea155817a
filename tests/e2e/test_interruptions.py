"""Interruptions of running tasks: `kill -9`, a shutdown, a cancel, a pause, and a time without a model."""

from __future__ import annotations

import random
import time
from pathlib import Path

from tests.support.answers import Answers, job
from tests.support.daemon import Daemon, git, settings_for, until
from tests.support.wire_server import WireServer


def status_of(daemon: Daemon, task_id: int) -> str:
    return str(daemon.get(f"/api/task/{task_id}")["status"])


def test_kill_9_at_ten_moments_loses_and_doubles_nothing(tmp_path: Path, server: WireServer, answers: Answers) -> None:
    daemon = Daemon(tmp_path / "home", settings_for(server, MODEL_TIMEOUT_S="20"))
    daemon.start()
    numbers = range(1, 16)
    ids = [daemon.submit(**job(n)) for n in numbers]
    dice = random.Random(7)
    for _ in range(10):
        time.sleep(dice.uniform(0.1, 0.9))
        daemon.kill()
        daemon.start()
    ended = daemon.wait(*ids, within_s=180)
    assert {task["ending"] for task in ended} == {"committed"}
    workspace = daemon.home / "workspace"
    trailers = git(workspace, "log", "--format=%(trailers:key=Task,valueonly)", "main").split()
    assert sorted(map(int, trailers)) == sorted(ids)
    # If a daemon dies after it wrote a commit but before a reference names the commit, the next daemon makes the commit
    # again. The old commit object stays without a reference.
    assert git(workspace, "fsck", "--strict", "--no-dangling") == ""
    tries = {task["task_id"]: [row["iteration"] for row in task["iterations"] if row["iteration"]] for task in ended}
    assert all(rows == [1, 2] for rows in tries.values()), tries
    # The next daemon may repeat a request that was in progress when the daemon died, but not a request that was
    # answered.
    for n in numbers:
        assert answers.counts[n, "PLANNING"] <= 2
    assert daemon.stop() == 0


def test_shutdown_returns_running_tasks_and_they_go_on_later(
    tmp_path: Path, server: WireServer, answers: Answers
) -> None:
    daemon = Daemon(tmp_path / "home", settings_for(server, DRAIN_S="0"))
    daemon.start()
    server.fail_next("hang", 1, phase="CODING")
    task_id = daemon.submit(**job(1))
    until(lambda: any(request.phase == "CODING" for request in server.requests))
    assert daemon.stop() == 0
    offline = daemon.cli("--status", "--json")
    assert offline.returncode == 3
    daemon.start()
    (task,) = daemon.wait(task_id)
    assert (task["ending"], task["attempt"]) == ("committed", 1)
    daemon.stop()


def test_a_running_task_can_be_cancelled(tmp_path: Path, server: WireServer) -> None:
    with Daemon(tmp_path / "home", settings_for(server)) as daemon:
        server.fail_next("hang", 5, phase="CODING")
        task_id = daemon.submit(**job(1))
        until(lambda: any(request.phase == "CODING" for request in server.requests))
        assert daemon.ask("POST", f"/api/task/{task_id}/cancel")[0] == 200
        (task,) = daemon.wait(task_id)
        assert (task["status"], task["ending"]) == ("cancelled", "user")
        until(lambda: all(request.gone for request in server.requests if request.phase == "CODING"))


def test_a_pause_survives_a_restart(tmp_path: Path, server: WireServer) -> None:
    daemon = Daemon(tmp_path / "home", settings_for(server))
    daemon.start()
    assert daemon.cli("--pause").returncode == 0
    daemon.stop()
    daemon.start()
    assert daemon.get("/api/status")["state"] == "paused"
    task_id = daemon.submit(**job(1))
    time.sleep(0.5)
    assert status_of(daemon, task_id) == "queued"
    assert daemon.cli("--resume").returncode == 0
    assert daemon.wait(task_id)[0]["ending"] == "committed"
    daemon.stop()
