"""A daemon whose database was ruined goes on from a backup: nothing is done twice, and its owner is told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.answers import Answers, job
from tests.support.daemon import Daemon, git, settings_for
from tests.support.wire_server import WireServer


@pytest.fixture
def answers() -> Answers:
    return Answers()


@pytest.fixture
def server(answers: Answers) -> Iterator[WireServer]:
    with WireServer(answers) as running:
        yield running


def ruin(home: Path) -> None:
    """What a failing disk leaves: the database is noise, its log is gone."""
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
    assert daemon.stop() == 0  # with a backup in which both are queued
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
    (told,) = [line for line in logs if line["event"] == "database_restored"]
    assert told["data"]["lost"] == [late]
    assert set(old) <= set(told["data"]["uncertain"])
    assert any("The database was damaged" in notice for notice in daemon.get("/api/status")["notices"])
    (kept,) = (daemon.home / "db" / "damaged").iterdir()
    assert (kept / "agent_logs.sqlite").read_bytes()[:9] == b"\xa5" * 9

    new = daemon.submit(**job(3))
    assert new > late
    daemon.wait(new)
    workspace = daemon.home / "workspace"
    trailers = git(workspace, "log", "--format=%(trailers:key=Task,valueonly)", "main").split()
    assert sorted(trailers) == sorted(set(trailers))
    assert git(workspace, "fsck", "--strict", "--no-dangling") == ""
    assert daemon.stop() == 0
