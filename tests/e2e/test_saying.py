"""The owner's words to a running task interrupt the model's reply, survive the daemon's death and are never lost."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.answers import Answers, job
from tests.support.daemon import ROOT, Daemon, settings_for, until
from tests.support.wire_server import Recorded, WireServer

WORDS = "Use a generator, not a list."
PLAIN = {"REPAIR_FIRST_S": "0", "ENABLE_REVIEW": "false", "ENABLE_AUDIT": "false", "ENABLE_CLARIFY": "false"}


@pytest.fixture
def server() -> Iterator[WireServer]:
    with WireServer(Answers()) as running:
        yield running


@pytest.fixture
def daemon(tmp_path: Path, server: WireServer) -> Iterator[Daemon]:
    with Daemon(tmp_path / "home", settings_for(server, **PLAIN)) as running:
        yield running


def prompts(server: WireServer, phase: str = "CODING") -> list[str]:
    """Return the texts of the requests to the model in a phase."""
    return [text(request) for request in server.requests if request.phase == phase]


def text(request: Recorded) -> str:
    return "\n".join(turn["content"] for turn in request.messages)


def read_words(daemon: Daemon, *words: str) -> str:
    """Run `say` with these arguments, and return its output."""
    program = [daemon.program[0], str(ROOT / "cli.py"), "say", *words]
    done = subprocess.run(
        program, env=daemon.environment(), cwd=daemon.home, capture_output=True, text=True, check=True
    )
    return done.stdout


def land(daemon: Daemon, number: int) -> bool:
    return bool(daemon.get(f"/api/task/{number}")["status"] == "done")


def test_the_model_is_interrupted_and_asked_again_with_the_words(daemon: Daemon, server: WireServer) -> None:
    server.fail_next("stall", phase="CODING")
    number = daemon.submit(**job(5))
    server.until(lambda: prompts(server))
    assert "the model is interrupted" in read_words(daemon, str(number), WORDS)
    until(lambda: land(daemon, number), 120)
    stalled = next(request for request in server.requests if request.fault == "stall")
    assert stalled.gone, "nothing more was taken of the reply"
    first, again = prompts(server)
    assert (WORDS in first, WORDS in again) == (False, True)
    task = daemon.get(f"/api/task/{number}")
    assert (task["attempt"], task["iteration_count"]) == (1, 1), "the worker and its attempt went on"
    assert task["spent"]["model_calls"] == 3, "what was written of the first reply was paid for"
    events = [line["event"] for line in daemon.get(f"/api/logs?task={number}&limit=500")["events"]]
    assert events.index("owner_said") < events.index("model_interrupted") < events.index("committed")
    assert "model_failed" not in events
    status, refused = daemon.ask("POST", f"/api/task/{number}/say", {"text": "too late"})
    assert status == 409
    assert "add a follow-up task" in refused["error"]


def test_nothing_is_lost_when_the_daemon_dies_before_the_next_request(daemon: Daemon, server: WireServer) -> None:
    server.fail_next("hang", phase="CODING")
    number = daemon.submit(**job(5))
    server.until(lambda: prompts(server))
    assert daemon.ask("POST", f"/api/task/{number}/say", {"text": WORDS, "interrupt": False})[0] == 200
    daemon.kill()
    assert "it is part of the next request" in read_words(daemon, str(number), "And call it total.")
    daemon.start()
    until(lambda: land(daemon, number), 120)
    first, again = prompts(server)
    assert WORDS not in first
    assert f"- {WORDS}\n- And call it total." in again
    assert len(prompts(server, "PLANNING")) == 1, "it went on with its attempt"
