"""A daemon whose database was ruined continues from a backup.

No work is done twice, and the owner is informed.
"""

from __future__ import annotations

import contextlib
from contextlib import closing
from http.client import HTTPException
from pathlib import Path

from nightshift.storage.db.sqlite import connect
from tests.support.answers import Answers, job
from tests.support.daemon import Daemon, git, settings_for, until
from tests.support.wire_server import WireServer


def ruin(home: Path) -> None:
    """Damage a database as a failing disk does: the file becomes noise, and its write-ahead log is gone."""
    database = home / "db" / "agent_logs.sqlite"
    database.write_bytes(b"\xa5" * database.stat().st_size)
    database.with_name(database.name + "-wal").unlink()


def test_what_was_committed_after_the_backup_is_found_by_its_trailer_and_not_done_again(
    tmp_path: Path, server: WireServer, answers: Answers
) -> None:
    daemon = Daemon(tmp_path / "home", settings_for(server))
    daemon.start()
    daemon.ask("POST", "/api/pause", {"reason": "for the test"})
    old = [daemon.submit(**job(n)) for n in (1, 2)]
    assert daemon.stop() == 0  # the backup of this stop has both tasks in the queue
    daemon.start()
    daemon.ask("POST", "/api/resume")
    before = {task["task_id"]: task["commit"] for task in daemon.wait(*old)}
    late = daemon.submit(**job(3))
    daemon.wait(late)
    asked = dict(answers.counts)
    daemon.kill()
    ruin(daemon.home)

    daemon.start()
    daemon.ask("POST", "/api/resume")
    after = {task["task_id"]: task for task in daemon.wait(*old)}
    assert {task_id: task["commit"] for task_id, task in after.items()} == before
    assert {task["ending"] for task in after.values()} == {"committed"}
    assert dict(answers.counts) == asked, "a model was asked again for what was done"
    logs = daemon.get("/api/logs?limit=500&level=WARNING")["events"]
    (event,) = [line for line in logs if line["event"] == "database_restored"]
    assert event["data"]["lost"] == [late]
    assert set(old) <= set(event["data"]["uncertain"])
    assert any("The database was damaged" in notice for notice in daemon.get("/api/status")["notices"])
    (damaged_folder,) = (daemon.home / "db" / "damaged").iterdir()
    assert (damaged_folder / "agent_logs.sqlite").read_bytes()[:9] == b"\xa5" * 9

    new = daemon.submit(**job(3))
    assert new > late
    daemon.wait(new)
    workspace = daemon.home / "workspace"
    trailers = git(workspace, "log", "--format=%(trailers:key=Task,valueonly)", "main").split()
    assert sorted(trailers) == sorted(set(trailers))
    assert git(workspace, "fsck", "--strict", "--no-dangling") == ""
    assert daemon.stop() == 0


def test_damage_that_shows_at_night_ends_the_daemon_and_the_next_start_restores(
    tmp_path: Path, server: WireServer
) -> None:
    daemon = Daemon(tmp_path / "home", settings_for(server))
    daemon.start()
    done = daemon.submit(**job(1))
    daemon.wait(done)
    assert daemon.stop() == 0
    daemon.start()
    database = daemon.home / "db" / "agent_logs.sqlite"
    with closing(connect(database)) as conn:
        conn.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        page = conn.execute("SELECT rootpage FROM sqlite_master WHERE name = 'tasks_ready'").fetchone()[0]
    with database.open("r+b") as file:
        file.seek(4096 * (page - 1))
        file.write(b"\xa5" * 4096)
    process = daemon.process
    assert process

    def ended() -> bool:
        with contextlib.suppress(OSError, HTTPException):
            daemon.ask("POST", "/api/task", job(2), timeout_s=5)
        return process.poll() is not None

    until(ended, within_s=60)
    assert process.returncode == 1, daemon.output()
    assert "the daemon stops, and restores the database" in daemon.output()
    daemon.start()
    assert "The database was damaged" in " ".join(daemon.get("/api/status")["notices"])
    assert daemon.get(f"/api/task/{done}")["ending"] == "committed"
    daemon.wait(daemon.submit(**job(3)))
    assert daemon.stop() == 0
