"""A disk that fills up while the daemon runs, and a disk that accepts no writes when the daemon starts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.support.answers import Answers, job
from tests.support.daemon import ROOT, Daemon, git, settings_for, until
from tests.support.small_disk import fill, remount, small_disk
from tests.support.wire_server import WireServer


def notices(daemon: Daemon) -> str:
    return " ".join(daemon.get("/api/status")["notices"])


def test_a_disk_that_fills_up_loses_and_doubles_no_task(tmp_path: Path, server: WireServer, answers: Answers) -> None:
    with small_disk(tmp_path / "disk", 64) as disk:
        daemon = Daemon(
            disk / "home", settings_for(server, DISK_RESERVE_MB="0", RETRY_BASE_S="0.1", MODEL_TIMEOUT_S="5")
        )
        daemon.start()
        daemon.wait(daemon.submit(**job(1)))
        server.fail_next("hang", 1, phase="CODING", about="job_2")
        taken = [daemon.submit(**job(n)) for n in range(2, 6)]
        until(lambda: any(request.phase == "CODING" for request in server.requests[4:]))
        ballast = fill(disk)
        refused = 0
        for n in range(6, 400):
            status, body = daemon.ask("POST", "/api/task", job(n))
            if status == 507:
                refused = n
                break
            assert status in {200, 201}, body
            taken.append(int(body["task_id"]))
        assert refused, "the disk never filled up"
        until(lambda: "nothing can be written" in notices(daemon), within_s=60)

        ballast.unlink()
        ended = daemon.wait(*taken, within_s=100)
        assert {task["ending"] for task in ended} == {"committed"}
        until(lambda: "nothing can be written" not in notices(daemon), within_s=60)
        again = daemon.submit(**job(refused))
        daemon.wait(again)
        workspace = daemon.home / "workspace"
        trailers = git(workspace, "log", "--format=%(trailers:key=Task,valueonly)", "main").split()
        assert sorted(map(int, trailers)) == sorted([1, *taken, again])
        assert git(workspace, "fsck", "--strict", "--no-dangling") == ""
        assert daemon.stop() == 0, daemon.output()


def start_fails(daemon: Daemon) -> str:
    """Start a daemon that cannot run, and return its error output. The daemon must exit with 1, without a traceback."""
    argv = [sys.executable, str(ROOT / "main.py")]
    done = subprocess.run(argv, env=daemon.environment(), capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1, done
    assert "Traceback" not in done.stderr
    assert "Nightshift cannot continue" in done.stderr
    return done.stderr


def test_a_home_that_is_full_or_read_only_is_told_at_the_start(tmp_path: Path, server: WireServer) -> None:
    with small_disk(tmp_path / "disk", 64) as disk:
        daemon = Daemon(disk / "home", settings_for(server))
        daemon.start()
        assert daemon.stop() == 0
        ballast = fill(disk)
        message = start_fails(daemon)
        assert "No space left" in message or "full" in message
        ballast.unlink()
        remount(disk, "ro")
        assert "Read-only file system" in start_fails(daemon)
        remount(disk, "rw")
        daemon.start()
        assert daemon.stop() == 0
