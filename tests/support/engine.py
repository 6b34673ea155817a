"""A real container engine for tests: the machine's own engine if it answers, otherwise a private engine.

The private engine ends with the tests. It needs root and the program `dockerd`. Its socket, its data and everything
that it starts are in its own folder, and it touches neither the network nor the firewall of the machine. If neither
engine is available, the tests that need an engine are skipped and say how to enable them.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from nightshift.core.errors import SandboxError
from nightshift.sandbox.docker_engine import Engine

PLACE = Path("/var/tmp")
PREFIX = "nightshift-engine-"
START_S, STOP_S = 60.0, 30.0
FLAGS = ("--bridge=none", "--iptables=false", "--ip6tables=false", "--ip-forward=false", "--ip-masq=false")


@functools.cache
def host() -> str:
    """Return the address of a container engine that answers.

    Call this function from the main thread, because a private engine ends with the thread that started it.
    """
    own = os.environ.get("DOCKER_HOST", "")
    try:
        engine = Engine(own)
    except SandboxError as error:
        return _private(str(error))
    engine.close()
    return engine.host


def _private(why: str) -> str:
    program = shutil.which("dockerd", path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    if os.geteuid() != 0 or program is None:
        pytest.skip(
            f"There is no container engine: {why}. Root can install `docker.io` (`make test-all` does), and the tests "
            "start a private one."
        )
    _sweep()
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=PLACE))
    process = _start(program, folder)
    atexit.register(_stop, process, folder)
    return _answering(process, folder)


def _start(program: str, folder: Path) -> subprocess.Popen[bytes]:
    (folder / "pid").write_text(str(os.getpid()))
    (folder / "daemon.json").write_text("{}")
    places = {"--data-root": "data", "--exec-root": "exec", "--pidfile": "dockerd.pid", "--config-file": "daemon.json"}
    argv = [
        program,
        *(f"{flag}={folder / name}" for flag, name in places.items()),
        *FLAGS,
        f"--host={_address(folder)}",
    ]
    with (folder / "log").open("wb") as log:
        return subprocess.Popen(
            # Stops the engine even if these tests are killed.
            ["setpriv", "--pdeathsig", "TERM", "--", *argv],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def _address(folder: Path) -> str:
    return f"unix://{folder / 'docker.sock'}"


def _answering(process: subprocess.Popen[bytes], folder: Path) -> str:
    deadline = time.monotonic() + START_S
    while True:
        try:
            Engine(_address(folder)).close()
        except SandboxError as error:
            if process.poll() is not None or time.monotonic() > deadline:
                log = (folder / "log").read_text(errors="replace")
                pytest.fail(f"dockerd did not come up ({error}):\n{log[-3000:]}", pytrace=False)
            time.sleep(0.1)
        else:
            return _address(folder)


def _stop(process: subprocess.Popen[bytes], folder: Path) -> None:
    """End the engine and everything that it started, and remove its folder."""
    process.terminate()
    try:
        process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    _clear(folder)


def _sweep() -> None:
    """Clean up after earlier test runs that were killed."""
    for folder in PLACE.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError, ValueError):
            if not Path(f"/proc/{int((folder / 'pid').read_text())}").exists():
                _clear(folder)


def _clear(folder: Path) -> None:
    for pid in _below(folder):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    mounts = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()]
    for path in sorted((path for path in mounts if path.startswith(f"{folder}/")), reverse=True):
        subprocess.run(["umount", "-l", path], check=False)
    shutil.rmtree(folder, ignore_errors=True)


def _below(folder: Path) -> Iterator[int]:
    """List the ids of the processes whose command lines contain the folder."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if f"{folder}/".encode() in path.read_bytes():
                yield int(path.parent.name)
