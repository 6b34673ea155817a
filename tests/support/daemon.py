"""Starts the real daemon in a home of its own, as the owner would, and talks to it over HTTP."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, Self

from nightshift.storage.db.recovery import check_rows
from nightshift.storage.db.sqlite import connect
from tests.support.wire_server import WireServer

ROOT = Path(__file__).resolve().parents[2]
ENDED = {"done", "failed", "cancelled"}


def settings_for(server: WireServer, **more: str) -> dict[str, str]:
    """Return the settings of a daemon whose model is a scripted server."""
    return {
        "MODEL_TYPE": "openai", "OPENAI_API_KEY": "test-key", "OPENAI_BASE_URL": server.openai_base_url,
        "MODEL_NAME": server.model, "WORKER_COUNT": "2", "EMBEDDER": "hashed", "SANDBOX_NICE": "0", **more,
    }  # fmt: skip


class Daemon:
    """A daemon process; `with Daemon(home, settings) as daemon: …`.

    Args:
        home: its `NIGHTSHIFT_HOME`.
        settings: environment variables on top of a nearly empty environment.
    """

    def __init__(self, home: Path, settings: Mapping[str, str] | None = None) -> None:
        self.home, self.settings = home, dict(settings or {})
        self.program = [sys.executable, str(ROOT / "main.py")]
        self.process: subprocess.Popen[bytes] | None = None
        self.url, self.umask = "", -1

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        self.stop()
        if error is None:
            assert self.find_damage() == [], "the next start would take the database for a damaged one"

    def find_damage(self) -> list[str]:
        """List what a start would take for damage of the database."""
        file = self.home / "db" / "agent_logs.sqlite"
        if not file.exists():
            return []
        with closing(connect(file, readonly=True)) as conn:
            return list(check_rows(conn))

    def environment(self) -> dict[str, str]:
        """Return the environment of the daemon and the CLI."""
        inherited = {k: v for k, v in os.environ.items() if k in {"PATH", "LANG", "HOME"}}
        defaults = {"NIGHTSHIFT_HOME": str(self.home), "FLASK_PORT": "0", "GIT_AUTO_PUSH": "false"}
        # Many tests run at once: a daemon with a low priority would wait for the others until its timeouts expire.
        return {**inherited, **defaults, "SANDBOX_NICE": "0", **self.settings}

    @property
    def port_file(self) -> Path:
        """The file in which the daemon writes its port."""
        return self.home / "state" / "port"

    def start(self, wait_s: float = 90) -> None:
        """Start the daemon and wait until it has written its port."""
        self.port_file.unlink(missing_ok=True)
        self.home.mkdir(parents=True, exist_ok=True)
        self.process = self._spawn()
        end = time.monotonic() + wait_s
        while time.monotonic() < end:
            if self.process.poll() is not None:
                raise AssertionError(f"the daemon ended with {self.process.returncode}:\n{self.output()}")
            if self.port_file.exists():
                self.url = f"http://127.0.0.1:{self.port_file.read_text().strip()}"
                return
            time.sleep(0.02)
        self.kill()
        raise AssertionError(f"the daemon does not answer:\n{self.output()}")

    def wait_until_started(self) -> None:
        """Wait until the recovery at the start has ended, because it still changes the state."""
        until(lambda: self.get("/api/status")["state"] != "starting")

    def _spawn(self) -> subprocess.Popen[bytes]:
        with (self.home / "daemon.out").open("ab") as out:
            return subprocess.Popen(
                self.program,
                env=self.environment(), cwd=self.home, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                umask=self.umask,
            )  # fmt: skip

    def stop(self, wait_s: float = 90) -> int:
        """Send SIGTERM, wait until the daemon has ended, and return its exit code."""
        assert self.process
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(wait_s)

    def kill(self) -> None:
        """Send SIGKILL, and wait until the daemon has ended."""
        assert self.process
        self.process.kill()
        self.process.wait(10)

    def output(self) -> str:
        """Return the daemon's output so far."""
        return (self.home / "daemon.out").read_text(errors="replace")

    def ask(self, method: str, path: str, body: object = None, *, timeout_s: float = 30) -> tuple[int, Any]:
        """Send one request; return the response's status and JSON."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=timeout_s) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)

    def get(self, path: str) -> Any:
        """Return the JSON of a GET, which must succeed."""
        status, body = self.ask("GET", path)
        assert status == 200, (status, body)
        return body

    def submit(self, **task: Any) -> int:
        """Submit a task and return its id."""
        status, body = self.ask("POST", "/api/task", task)
        assert status in {200, 201}, (status, body)
        return int(body["task_id"])

    def wait(self, *task_ids: int, within_s: float = 600) -> list[dict[str, Any]]:
        """Wait until these tasks have ended, and return their final states."""
        end = time.monotonic() + within_s
        tasks: list[dict[str, Any]] = []
        for task_id in task_ids:
            while (task := self.get(f"/api/task/{task_id}"))["status"] not in ENDED:
                if time.monotonic() > end:
                    raise AssertionError(f"task {task_id} is {task['status']}: {task}\n{self.output()[-3000:]}")
                time.sleep(0.1)
            tasks.append(task)
        return tasks

    def cli(self, *args: str, stdin: str | None = None, within_s: float = 60) -> subprocess.CompletedProcess[str]:
        """Run cli.py against this home, whether or not the daemon is running."""
        env = self.environment()
        if self.url:
            env["FLASK_PORT"] = self.url.rsplit(":", 1)[1]
        return subprocess.run(
            [sys.executable, str(ROOT / "cli.py"), *args],
            env=env, cwd=self.home, capture_output=True, text=True, input=stdin, timeout=within_s, check=False,
        )  # fmt: skip


def git(repo: Path, *args: str) -> str:
    """Run git in a repository and return its output."""
    done = subprocess.run(["git", "-C", str(repo), *args], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def until(condition: Callable[[], bool], within_s: float = 60.0) -> None:
    """Wait until the condition holds."""
    end = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)
