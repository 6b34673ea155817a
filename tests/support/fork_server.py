"""Starts daemons quickly: one process imports the program once, and forks for each start of a daemon.

The import takes one second, which is longer than the rest of a daemon's start. A daemon that tests kill a hundred times
would spend that second each time; with the fork server it is spent once. The fork server imports everything and has no
threads, and its child processes are the daemons.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Self

ROOT = Path(__file__).resolve().parents[2]
LOADED = (
    *("tests.support.crash_injection", "main", "nightshift.app.daemon", "nightshift.app.single"),
    *("nightshift.report.weekly", "nightshift.models.openai_api"),
    *(
        "nightshift.server.app",
        "nightshift.server.api",
        "nightshift.server.pages.frame",
        "flask",
        "uvicorn",
        "uvicorn.protocols.http.h11_impl",
    ),
    *("uvicorn.lifespan.off", "a2wsgi", "openai", "sqlite_utils", "sqlite_vec", "numpy", "_strptime"),
)
"""The modules that every daemon imports sooner or later."""


class ForkedProcess:
    """A daemon that the fork server started, with the part of `subprocess.Popen`'s interface that tests use."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._ended = threading.Event()

    def ended(self, returncode: int) -> None:
        self.returncode = returncode
        self._ended.set()

    def poll(self) -> int | None:
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if not self._ended.wait(timeout):
            raise subprocess.TimeoutExpired("daemon", timeout or 0)
        assert self.returncode is not None
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.returncode is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class ForkServer:
    """A context manager; `start` returns a daemon that has just been forked."""

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        self._started: dict[int, ForkedProcess] = {}
        self._news = threading.Condition()
        self._reader = threading.Thread(target=self._listen, name="fork-server")
        self._reader.start()
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait(20)
        self._reader.join()
        assert self._process.stdout
        self._process.stdout.close()

    @property
    def pid(self) -> int:
        return self._process.pid

    def start(self, env: Mapping[str, str], cwd: Path, out: Path) -> ForkedProcess:
        """Fork a daemon with this environment and working folder; its output is appended to the file `out`."""
        assert self._process.stdin
        with self._news:
            before = len(self._started)
            self._process.stdin.write(json.dumps({"env": dict(env), "cwd": str(cwd), "out": str(out)}) + "\n")
            assert self._news.wait_for(lambda: len(self._started) > before, 120), "the fork server is silent"
            return list(self._started.values())[-1]

    def _listen(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            word, pid, status = line.split()
            with self._news:
                if word == "started":
                    self._started[int(pid)] = ForkedProcess(int(pid))
                    self._news.notify_all()
                else:
                    self._started[int(pid)].ended(int(status))


# The functions below run inside the fork server.


def _serve() -> None:
    """Fork a daemon for each line on standard input, and report each start and end of a daemon on standard output."""
    news, rung = os.pipe()
    os.set_blocking(rung, False)
    os.set_blocking(news, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(rung)  # so that a signal just before `select` wakes it too
    waiting = b""
    while True:
        ready, _, _ = select.select([0, news], [], [])
        if news in ready:
            os.read(news, 4096)
        _reap()
        if 0 in ready:
            chunk = os.read(0, 65536)
            if not chunk:
                return
            *lines, waiting = (waiting + chunk).split(b"\n")
            for line in lines:
                _fork(json.loads(line))


def _fork(wanted: dict[str, object]) -> None:
    pid = os.fork()
    if pid == 0:
        _run(wanted)
    _tell("started", pid, 0)


def _tell(word: str, pid: int, status: int) -> None:
    os.write(1, f"{word} {pid} {status}\n".encode())


def _reap() -> None:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not pid:
            return
        _tell("ended", pid, os.waitstatus_to_exitcode(status))


def _run(wanted: dict[str, object]) -> None:
    """Run as a daemon in the forked process, and exit."""
    code = 70
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.environ.clear()
        os.environ.update(wanted["env"])  # type: ignore[call-overload]  # it was a mapping of texts
        os.chdir(str(wanted["cwd"]))
        out = os.open(str(wanted["out"]), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for old, new in ((nothing, 0), (out, 1), (out, 2)):
            os.dup2(old, new)
        from tests.support import crash_injection

        code = crash_injection.run()
    finally:
        sys.stdout.flush()
        os._exit(code)


if __name__ == "__main__":
    import importlib

    sys.path.insert(0, str(ROOT))
    for name in LOADED:
        importlib.import_module(name)
    _serve()
