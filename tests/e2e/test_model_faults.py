"""Faults of model servers, through the real daemon: tasks wait, and are finished after the server works again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.answers import Answers, job
from tests.support.daemon import Daemon, settings_for, until
from tests.support.wire_server import WireServer

OVERLOADED = b'{"error": {"message": "The model is overloaded", "type": "server_error"}}'
ONCE: dict[str, dict[str, Any]] = {
    "an error of the server": {"kind": "500"},
    "too many requests, for thirty million years": {"kind": "429", "retry_after": 10**15},
    "no answer": {"kind": "drop"},
    "a cut stream": {"kind": "cut"},
    "an error with status 200": {"kind": "raw", "body": OVERLOADED},
    "a redirect": {"kind": "307", "headers": {"Location": "http://127.0.0.1:9/login"}},
    "a line without an end": {"kind": "flood"},
    "nonsense": {"kind": "garbage"},
}


@pytest.fixture
def answers() -> Answers:
    return Answers()


def state(daemon: Daemon, task_id: int) -> dict[str, Any]:
    return dict(daemon.get(f"/api/task/{task_id}"))


def park(daemon: Daemon, task_id: int) -> dict[str, Any]:
    """Wait until the task is postponed, and return the task's state."""
    until(lambda: bool(state(daemon, task_id)["status"] == "scheduled"), within_s=60)
    return state(daemon, task_id)


def test_each_fault_is_survived_and_what_was_paid_for_is_counted(tmp_path: Path, server: WireServer) -> None:
    with Daemon(tmp_path / "home", settings_for(server, WORKER_COUNT="1")) as daemon:
        for number, (name, fault) in enumerate(ONCE.items(), 1):
            server.fail_next(**fault, phase="CODING")
            (task,) = daemon.wait(daemon.submit(**job(number)))
            assert (name, task["ending"], task["attempt"]) == (name, "committed", 1)
            paid = fault["kind"] in {"cut", "garbage"}
            assert (name, task["spent"]["model_calls"]) == (name, 3 if paid else 2)
        high = [line for line in Path(f"/proc/{_pid(daemon)}/status").read_text().splitlines() if "VmHWM" in line]
        assert int(high[0].split()[1]) < 600_000, "the line without an end filled the memory"


def _pid(daemon: Daemon) -> int:
    return int(daemon.get("/api/status")["pid"])


def test_a_limit_of_hours_is_kept_over_a_kill_and_nobody_asks_before(tmp_path: Path, server: WireServer) -> None:
    daemon = Daemon(tmp_path / "home", settings_for(server))
    daemon.start()
    server.fail_always("429", retry_after=7200, message="the limit of this hour is used up")
    first = park(daemon, daemon.submit(**job(1)))
    assert "the limit of this hour is used up" in first["reason"]
    assert "the task continues at" in first["reason"]
    assert len(server.requests) == 1
    daemon.kill()
    daemon.start()
    second = park(daemon, daemon.submit(**job(2)))
    assert second["not_before"] == first["not_before"]
    assert "the limit of this hour is used up" in second["reason"]
    assert len(server.requests) == 1, "it was asked again before its time"
    daemon.stop()


def test_a_key_that_is_revoked_in_the_night_and_mended_in_the_morning(tmp_path: Path, answers: Answers) -> None:
    with WireServer(answers, keys=["test-key"]) as server:
        daemon = Daemon(tmp_path / "home", settings_for(server, MODEL_PROBE_S="0.3"))
        daemon.start()
        assert daemon.wait(daemon.submit(**job(1)))[0]["ending"] == "committed"
        server.keys = {"another-key"}
        waits = park(daemon, daemon.submit(**job(2)))
        assert (waits["not_before"], "OPENAI_API_KEY" in waits["reason"]) == (None, True)
        asked = len(server.requests)
        daemon.stop()
        daemon.settings["OPENAI_API_KEY"] = "another-key"
        daemon.start()
        assert daemon.wait(waits["task_id"])[0]["ending"] == "committed"
        assert len(server.requests) <= asked + 2
        daemon.stop()


def test_a_model_that_was_removed_and_a_login_page_in_between(tmp_path: Path, server: WireServer) -> None:
    settings = settings_for(server, MODEL_TYPE="ollama", OLLAMA_BASE_URL=server.ollama_base_url, MODEL_PROBE_S="0.3")
    with Daemon(tmp_path / "home", settings) as daemon:
        assert daemon.wait(daemon.submit(**job(1)))[0]["ending"] == "committed"
        server.models = ["another"]
        until(lambda: not daemon.get("/api/status")["models"][0]["available"])
        waits = park(daemon, daemon.submit(**job(2)))
        assert "ollama pull tiny-coder" in waits["reason"]
        server.models = ["tiny-coder"]
        assert daemon.wait(waits["task_id"])[0]["ending"] == "committed"
        server.portal = "<html>Welcome to our hotel! Please log in.</html>"
        until(lambda: not daemon.get("/api/status")["models"][0]["available"])
        waits = park(daemon, daemon.submit(**job(3)))
        assert "login page" in waits["reason"]
        server.portal = ""
        assert daemon.wait(waits["task_id"])[0]["ending"] == "committed"
