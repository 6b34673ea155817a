"""A `tasks.yaml` with a bad entry; the real daemon that reads it is killed and started again."""

from __future__ import annotations

import time
from pathlib import Path

from tests.support.daemon import Daemon, settings_for
from tests.support.wire_server import WireServer

MIXED = "tasks:\n- {description: first, limits: {tokens: many}}\n- {description: second, priority: 2}\n- third\n"


def describe(daemon: Daemon) -> list[str]:
    return [notice for notice in daemon.get("/api/status")["notices"] if notice.startswith("tasks.yaml")]


def wait_for(daemon: Daemon, count: int, notices: int) -> list[str]:
    end = time.monotonic() + 30
    while time.monotonic() < end:
        tasks = [task["description"] for task in daemon.get("/api/tasks")["tasks"]]
        if len(tasks) == count and len(describe(daemon)) == notices:
            return sorted(tasks)
        time.sleep(0.1)
    raise AssertionError(f"{tasks}; {describe(daemon)}")


def test_a_bad_entry_waits_alone_and_is_queued_once_when_it_is_mended(tmp_path: Path, server: WireServer) -> None:
    home = tmp_path / "home"
    home.mkdir()
    path = home / "tasks.yaml"
    path.write_text(MIXED)
    daemon = Daemon(home, settings_for(server))
    daemon.start()
    daemon.ask("POST", "/api/pause", {})
    assert wait_for(daemon, 2, 1) == ["second", "third"]
    assert describe(daemon)[0].startswith("tasks.yaml:2:")
    assert path.read_text() == MIXED
    (fault,) = describe(daemon)
    daemon.kill()
    assert fault in daemon.cli("--status").stdout, "without a daemon it is told as well"
    daemon.start()
    assert wait_for(daemon, 2, 1) == ["second", "third"]
    path.write_text(MIXED.replace("many", "1000"))
    assert wait_for(daemon, 3, 0) == ["first", "second", "third"]
    daemon.kill()
    assert "tasks.yaml:" not in daemon.cli("--status").stdout
    with daemon:
        assert wait_for(daemon, 3, 0) == ["first", "second", "third"]


def test_what_could_only_fail_is_refused_by_a_daemon_with_the_field(tmp_path: Path, server: WireServer) -> None:
    with Daemon(tmp_path / "home", settings_for(server)) as daemon:
        tasks: dict[str, dict[str, object]] = {
            "repo": {"repo": "/nope"},
            "allow.0": {"allow": ["subprocess"]},
            "test_command": {"test_command": ["mkae"]},
            "tests.test_a.py": {"tests": {"test_a.py": "def ("}},
        }
        for field, task in tasks.items():
            status, answer = daemon.ask("POST", "/api/task", {"description": "x", **task})
            assert (status, list(answer["fields"])) == (400, [field])
        assert daemon.get("/api/tasks")["tasks"] == []
