"""Several daemons on one hub, a bare repository that their workspaces share, and small tasks for them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from nightshift.core.hub import HubTask
from nightshift.core.tasks.states import Status
from nightshift.remote.hub import control
from nightshift.remote.hub.connection import HubConnection
from nightshift.remote.hub.queue import HubQueue
from nightshift.remote.hub.worker import workflows_served
from tests.support.cut_proxy import CutProxy
from tests.support.daemon import Daemon, git, settings_for
from tests.support.temporal import TemporalServer
from tests.support.wire_server import WireServer

LEASE_S = 4


def answer(phase: str, messages: list[dict[str, str]]) -> str:
    """Return the model's reply to a request about `number_N`, such as a module that returns N."""
    text = "\n".join(message["content"] for message in messages)
    match = re.search(r"number_(\d+)", text)
    name = match[1] if match else "0"
    if phase == "PLANNING":
        return f"1. number_{name}.py with a function value"
    return f"Summary: Know the number {name}\n\n```python path=number_{name}.py\ndef value():\n    return {name}\n```"


def task(number: int, **more: object) -> dict[str, object]:
    """Return the API's request for a task that writes a module which returns this number."""
    tests = {f"test_number_{number}.py": (
        f"from number_{number} import value\n\n\ndef test_it_is_known():\n    assert value() == {number}\n"
    )}  # fmt: skip
    asked = f"Write number_{number}.py with a function value that returns {number}"
    return {"description": asked, "tests": tests, **more}


@dataclass
class Federation:
    """The hub, the shared repository, and daemons that may start and stop."""

    folder: Path
    models: WireServer
    server: TemporalServer
    connection: HubConnection
    remote: Path
    daemons: dict[str, Daemon] = field(default_factory=dict)
    ways: dict[str, CutProxy] = field(default_factory=dict)
    """The proxy through which each daemon reaches the hub, by the daemon's name."""

    def daemon(self, name: str, **more: str) -> Daemon:
        """Start the daemon with this name. A daemon that is started again gets the same home."""
        way = self.ways.setdefault(name, CutProxy(self.server.port))
        url = self.server.address("default", way.port)
        usual = {"HUB_URL": url, "NODE_NAME": name, "HUB_LEASE_S": str(LEASE_S), "PROMPT_TOKENS": "4000"}
        settings = settings_for(self.models, **usual | more)
        daemon = self.daemons.setdefault(name, Daemon(self.folder / name, settings))
        daemon.start()
        return daemon

    def tasks(self) -> list[HubTask]:
        return HubQueue(self.connection).find(limit=1000)

    def open_tasks(self) -> list[HubTask]:
        return [task for task in self.tasks() if task.status not in {Status.DONE, Status.FAILED, Status.CANCELLED}]

    def landed(self) -> list[str]:
        """List the `Task` trailers of the commits on the shared branch, oldest first.

        Commits without a task are left out.
        """
        shown = git(self.remote, "log", "--reverse", "--format=%(trailers:key=Task,valueonly)", "main")
        return [line for line in shown.splitlines() if line]


@contextmanager
def federation(folder: Path, *, latency_s: float = 0.0) -> Iterator[Federation]:
    """Open a hub with an empty shared repository; no daemon is running yet."""
    remote = folder / "shared.git"
    git(folder, "init", "-q", "--bare", "--initial-branch=main", str(remote))
    file = folder / "temporal.db"
    with TemporalServer(file, namespaces=0) as server, WireServer(answer, latency_s=latency_s) as models:
        connection = HubConnection(server.address("default"))
        with workflows_served(connection):
            control.follow(connection, str(remote))
        opened = Federation(folder, models, server, connection, remote)
        try:
            yield opened
        finally:
            for daemon in opened.daemons.values():
                if daemon.process and daemon.process.poll() is None:
                    daemon.stop()
            for way in opened.ways.values():
                way.close()
            connection.close()
