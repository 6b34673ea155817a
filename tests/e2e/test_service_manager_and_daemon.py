"""Messages that the real daemon sends to a service manager, and the cases in which the messages stop."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.daemon import ROOT, Daemon, settings_for
from tests.support.daemon import until as within
from tests.support.manager import Manager
from tests.support.wire_server import WireServer

WATCHDOG_S = 1.0
# The daemon with one addition: SIGUSR1 makes its main thread sleep, like a call that blocks the workers' loop.
BLOCKED = """
import signal, sys, time
signal.signal(signal.SIGUSR1, lambda *_: time.sleep(60))
sys.argv = sys.argv[1:]
sys.path.insert(0, sys.argv[0].rpartition("/")[0])
import main
sys.exit(main.main())
"""


def until(condition: Callable[[], bool]) -> None:
    """Wait up to 90 s, because the machine may be busy."""
    within(condition, within_s=90)


class Watched(Daemon):
    """A daemon under a service manager."""

    def _spawn(self) -> subprocess.Popen[bytes]:
        with (self.home / "daemon.out").open("ab") as out:
            return subprocess.Popen(
                [sys.executable, "-c", BLOCKED, str(ROOT / "main.py")],
                env=self.environment(), cwd=self.home, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
            )  # fmt: skip


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[Manager]:
    with Manager(tmp_path / "notify") as heard:
        yield heard


def watch(home: Path, server: WireServer, manager: Manager, **more: str) -> Watched:
    environment = {"NOTIFY_SOCKET": manager.address, "WATCHDOG_USEC": str(int(WATCHDOG_S * 1e6))}
    return Watched(home, settings_for(server, **environment, **more))


def test_a_life_is_told_in_its_order(tmp_path: Path, server: WireServer, manager: Manager) -> None:
    with watch(tmp_path / "home", server, manager) as daemon:
        until(lambda: manager.count("READY=1") == 1)
        assert daemon.get("/healthz")["status"] == "ok"
        assert manager.count("WATCHDOG=1") <= 3, "none before it serves"
        manager.hears("WATCHDOG=1", 3)
        assert any(message.startswith("STATUS=Idle") for message in manager.heard)
        assert daemon.process
        daemon.process.send_signal(signal.SIGHUP)
        manager.hears("READY=1")
        reloading = next(
            n for n, message in enumerate(manager.heard) if message.startswith("RELOADING=1\nMONOTONIC_USEC=")
        )
        assert "READY=1" in manager.heard[reloading:]
        assert daemon.stop() == 0
    assert manager.count("STOPPING=1") == 1


def test_a_blocked_loop_is_no_longer_fed_and_its_end_tells_where_it_stood(
    tmp_path: Path, server: WireServer, manager: Manager
) -> None:
    with watch(tmp_path / "home", server, manager) as daemon:
        manager.hears("WATCHDOG=1", 2)
        assert daemon.process
        daemon.process.send_signal(signal.SIGUSR1)
        manager.falls_silent("WATCHDOG=1", for_s=2 * WATCHDOG_S)
        assert daemon.process.poll() is None, "the process lives"
        assert daemon.ask("GET", "/api/tasks")[0] == 200, "the server has a loop of its own, and goes on"
        daemon.process.send_signal(signal.SIGABRT)  # as a service manager does when the watchdog's messages stop
        ended_by = -daemon.process.wait(90)
        assert "Fatal Python error: Aborted" in daemon.output()
        # Other threads keep running while Python walks over their frames, so Python may crash and cut off the rest of
        # the dump.
        assert ended_by in {signal.SIGABRT, signal.SIGSEGV}
        if ended_by == signal.SIGABRT:
            assert 'File "<string>", line 3 in <lambda>' in daemon.output(), "the call that blocked it"
        daemon.start()
        manager.hears("WATCHDOG=1", 2)
