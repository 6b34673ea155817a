"""A worker that hangs is restarted: its task continues where it stopped, and no work is done twice."""

from __future__ import annotations

from pathlib import Path

from tests.support.answers import Answers, job
from tests.support.daemon import Daemon, git, settings_for, until
from tests.support.wire_server import WireServer


def kinds(daemon: Daemon, task_id: int) -> list[str]:
    return [line["event"] for line in daemon.get(f"/api/logs?task={task_id}&limit=500")["events"]]


def test_a_restarted_worker_takes_its_task_up_again_at_the_last_finished_step(
    tmp_path: Path, server: WireServer, answers: Answers
) -> None:
    with Daemon(tmp_path / "home", settings_for(server, WORKER_COUNT="1", MODEL_TIMEOUT_S="600")) as daemon:
        server.fail_next("hang", 1, phase="CODING")
        task_id, urgent = (
            daemon.submit(**job(1)),
            daemon.submit(**job(2), priority=9, not_before="2099-01-01T00:00:00Z"),
        )
        until(lambda: any(request.phase == "CODING" for request in server.requests))
        status, done = daemon.ask("POST", "/api/worker/worker-1/restart")
        assert (status, done) == (200, {"name": "worker-1", "task_id": task_id})
        (task,) = daemon.wait(task_id)
        assert (task["ending"], task["attempt"]) == ("committed", 1)
        assert answers.counts[1, "PLANNING"] == 1, "a finished step is not done again"
        event_kinds = kinds(daemon, task_id)
        assert event_kinds.count("worker_restarted") == 1
        assert event_kinds.count("task_claimed") == 2
        trailers = git(daemon.home / "workspace", "log", "--format=%(trailers:key=Task,valueonly)", "main").split()
        assert trailers == [str(task_id)]
        assert daemon.get(f"/api/task/{urgent}")["status"] == "scheduled"
