"""Undo end to end, with a running daemon and without one: a revert adds to the history and never rewrites it."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.answers import Answers, job
from tests.support.daemon import Daemon, git, settings_for
from tests.support.wire_server import WireServer


def test_work_is_read_taken_back_and_brought_back(tmp_path: Path, server: WireServer, answers: Answers) -> None:
    answers.wrong_first = 0
    with Daemon(tmp_path / "home", settings_for(server, GIT_AUTO_PUSH="true")) as daemon:
        first, second = daemon.wait(daemon.submit(**job(1)), daemon.submit(**job(2)))
        workspace = daemon.home / "workspace"
        git(tmp_path, "init", "-q", "--bare", "away.git")
        git(workspace, "remote", "add", "origin", str(tmp_path / "away.git"))
        listed = daemon.cli("--unread").stdout
        assert first["commit"][:10] in listed
        assert "./cli.py revert" in listed
        assert "2 commits, see ./cli.py review" in daemon.cli("--status").stdout
        assert daemon.cli("--reviewed", "1").stdout == "1 commit marked as read, 1 left\n"
        assert daemon.cli("--undo").returncode == 2, "nobody is there to answer"
        newest = git(workspace, "log", "-1", "--format=%H", "main")
        undone = 1 if newest == first["commit"] else 2
        result = daemon.cli("--undo", "--yes")
        assert (result.returncode, f"task {undone} reverted" in result.stdout) == (0, True), result.stderr
        assert f"is of task {undone}, {newest[:10]} on main" in result.stderr
        assert git(workspace, "rev-parse", "main^") == newest
        assert git(workspace, "ls-files").count(f"job_{undone}.py") == 0
        assert not (workspace / f"job_{undone}.py").exists()
        assert git(tmp_path / "away.git", "rev-parse", "main") == git(workspace, "rev-parse", "main")
        again = daemon.cli("--revert", str(undone))
        assert (again.returncode, "already" in again.stderr) == (5, True)
        status, answer = daemon.ask("POST", f"/api/task/{3 - undone}/revert", {})
        assert (status, answer["task_id"], answer["forced"]) == (200, 3 - undone, False)
        assert "reverted" in daemon.cli("--show", "1").stdout
        assert "unread" not in daemon.cli("--status").stdout
        assert daemon.cli("--undo", "--yes").returncode == 4
    alone = daemon.cli("--reapply", "1", "--json")
    assert (alone.returncode, json.loads(alone.stdout)["reapplied"]) == (0, True), alone.stderr
    assert "job_1.py" in git(workspace, "ls-files")
    assert daemon.cli("--revert", "9").returncode == 4
    assert len(git(workspace, "rev-list", "main").split()) == 1 + 2 + 2 + 1
    assert git(workspace, "fsck", "--strict", "--no-dangling") == ""
    assert git(workspace, "status", "--porcelain") == ""
    assert {task["status"] for task in (first, second)} == {"done"}
