"""A killed daemon leaves files behind; the next daemon of the same home removes and reports them, and continues."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

from tests.support.answers import job
from tests.support.daemon import Daemon, git


def leave(path: Path) -> Path:
    """Create a file with a modification time one hour ago."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    os.utime(path, (time.time() - 3600,) * 2)
    return path


def test_what_a_killed_daemon_left_is_swept_and_told(daemon: Daemon) -> None:
    daemon.wait(daemon.submit(**job(1)))
    daemon.kill()
    gone = subprocess.Popen(["true"])
    gone.wait()
    workspace = daemon.home / "workspace" / ".git"
    files = [
        leave(workspace / "refs" / "heads" / "main.lock"),
        leave(workspace / "packed-refs.lock"),
        leave(daemon.home / "state" / f".seal-{gone.pid}"),
        leave(daemon.home / f".state.json.{gone.pid}-1"),
    ]
    daemon.start()
    assert not any(path.exists() for path in files)
    (done,) = daemon.wait(daemon.submit(**job(2)))
    assert done["status"] == "done"
    events = [line for line in daemon.get("/api/logs?limit=500")["events"] if line["event"] == "orphans_swept"]
    assert events
    assert sorted(events[-1]["data"]["drafts"]) == sorted(map(str, files[2:]))
    assert sorted(events[-1]["data"]["git_files"]) == sorted(map(str, files[:2]))
    assert git(daemon.home / "workspace", "fsck", "--full") == ""
