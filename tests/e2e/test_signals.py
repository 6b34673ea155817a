"""Signals, terminals that close, and settings that are reloaded, with the real process."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from tests.support.answers import Answers, job
from tests.support.daemon import ROOT, Daemon, settings_for
from tests.support.daemon import until as within
from tests.support.sse import Listener
from tests.support.wire_server import WireServer


def until(condition: Callable[[], bool]) -> None:
    """Wait up to 90 s for a condition, because the machine may be busy."""
    within(condition, within_s=90)


def say(daemon: Daemon, number: signal.Signals) -> None:
    assert daemon.process
    daemon.process.send_signal(number)


def log(daemon: Daemon, event: str) -> list[dict[str, object]]:
    return [line for line in daemon.get("/api/logs?limit=500")["events"] if line["event"] == event]


def port_of(daemon: Daemon) -> int:
    return int(daemon.url.rsplit(":", 1)[1])


def test_a_stop_waits_for_what_runs_and_a_second_one_does_not(
    tmp_path: Path, server: WireServer, answers: Answers
) -> None:
    daemon = Daemon(tmp_path / "home", settings_for(server, WORKER_COUNT="1", DRAIN_S="600"))
    daemon.start()
    server.fail_next("hang", 1, phase="CODING")
    task = daemon.submit(**job(1))
    until(lambda: any(request.phase == "CODING" for request in server.requests))
    with closing(Listener(port_of(daemon))) as stream:
        assert stream.status == 200
        say(daemon, signal.SIGTERM)
        until(lambda: daemon.get("/api/status")["state"] == "draining")
        assert daemon.get(f"/api/task/{task}")["status"] == "running", "it may finish"
        say(daemon, signal.SIGINT)
        assert daemon.process
        assert daemon.process.wait(90) == 0, "a stream that is open does not hold it"
    daemon.start()
    assert daemon.wait(task)[0]["ending"] == "committed"
    assert answers.counts[1, "PLANNING"] == 1, "it went on where it stopped"
    assert daemon.stop() == 0


def test_a_hang_up_takes_up_new_settings_and_refuses_wrong_ones(tmp_path: Path, server: WireServer) -> None:
    given = settings_for(server)
    del given["WORKER_COUNT"]  # the environment would override the file
    home = tmp_path / "home"
    home.mkdir()
    config = home / "config.yaml"
    config.write_text("worker_count: 1\n")
    with Daemon(home, given) as daemon:

        def workers() -> int:
            return len(daemon.get("/api/status")["workers"])

        until(lambda: workers() == 1)
        config.write_text("worker_count: 3\nlease_s: 90\nchecker_rules: {python.socket: note}\n")
        (home / "tasks.yaml").write_text("tasks: []\n")
        say(daemon, signal.SIGHUP)
        until(lambda: workers() == 3 and bool(log(daemon, "settings_reloaded")))
        (reloaded,) = log(daemon, "settings_reloaded")
        assert reloaded["data"] == {"changed": ["worker_count", "checker_rules"], "later": {"lease_s": "60.0"}}
        assert "lease_s (still 60.0)" in daemon.get("/api/status")["notices"][-1]
        config.write_text("worker_count: 2\nlease_s: 60\nchecker_rules: {no.such.rule: note}\n")
        status, body = daemon.ask("POST", "/api/reload", {})
        assert (status, workers()) == (422, 3)
        assert "no.such.rule" in str(body)
        assert "the old ones stay in use" in daemon.get("/api/status")["notices"][-1]
        config.write_text("worker_count: 2\n")
        done = daemon.cli("--reload", "--json")
        assert json.loads(done.stdout)["changed"] == ["worker_count", "checker_rules"]
        until(lambda: workers() == 2)
        assert daemon.get("/api/status")["notices"] == []
        server.fail_next("hang", 2, phase="CODING")
        tasks = [daemon.submit(**job(1)), daemon.submit(**job(2))]
        until(lambda: sum(request.phase == "CODING" for request in server.requests) == 2)
        config.write_text("worker_count: 1\n")
        assert daemon.ask("POST", "/api/reload", {})[0] == 200
        assert workers() == 2, "nobody is interrupted"
        assert daemon.ask("POST", f"/api/task/{tasks[0]}/cancel", {})[0] == 200
        assert daemon.ask("POST", f"/api/task/{tasks[1]}/cancel", {})[0] == 200
        until(lambda: workers() == 1)


def test_a_terminal_that_is_closed_ends_nothing(tmp_path: Path, server: WireServer) -> None:
    terminal, inner = pty.openpty()

    class OnATerminal(Daemon):
        def _spawn(self) -> subprocess.Popen[bytes]:
            begin = "import fcntl,os,sys,termios; os.setsid(); fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
            begin += "os.execv(sys.executable, [sys.executable, sys.argv[1]])"
            return subprocess.Popen(
                [sys.executable, "-c", begin, str(ROOT / "main.py")],
                env=self.environment(), cwd=self.home, stdin=inner, stdout=inner, stderr=inner,
            )  # fmt: skip

    with OnATerminal(tmp_path / "home", settings_for(server)) as daemon:
        os.close(inner)
        until(lambda: b"Give it a task" in os.read(terminal, 1 << 16))
        os.close(terminal)
        until(lambda: bool(log(daemon, "settings_reloaded")))
        task = daemon.submit(**job(1))
        assert daemon.wait(task)[0]["status"] == "done"
        assert daemon.stop() == 0, "its last words find nobody"


def test_the_exit_code_tells_a_manager_whether_to_try_again(tmp_path: Path, server: WireServer) -> None:
    with Daemon(tmp_path / "home", settings_for(server)) as first:
        link = tmp_path / "link"
        link.symlink_to(first.home)
        other = tmp_path / "other"
        (other / "db").parent.mkdir()
        (other / "db").symlink_to(first.home / "db")
        for home in (first.home, link, other):
            done = _run(Daemon(home, first.settings))
            assert done.returncode == 3, done.stderr
            assert first.process
            assert f"process {first.process.pid} (" in done.stderr
            assert "already works here since" in done.stderr
    wrong = _run(Daemon(tmp_path / "wrong", {"WORKER_COUNT": "many"}))
    assert wrong.returncode == 2
    assert "WORKER_COUNT" in wrong.stderr


def _run(daemon: Daemon) -> subprocess.CompletedProcess[str]:
    daemon.home.mkdir(exist_ok=True)
    return subprocess.run(
        [sys.executable, str(ROOT / "main.py")],
        env=daemon.environment(), cwd=daemon.home, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
