"""Messages to the service manager, against a real datagram socket."""

from __future__ import annotations

import secrets
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from nightshift.maintenance.service_manager import ServiceManagerLink


@contextmanager
def manager(address: str) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as heard:
        heard.bind("\0" + address[1:] if address.startswith("@") else address)
        heard.settimeout(10)
        yield heard


@pytest.mark.parametrize("kind", ["path", "abstract"])
def test_each_message_is_one_datagram(tmp_path: Path, kind: str) -> None:
    address = str(tmp_path / "notify") if kind == "path" else f"@nightshift-test-{secrets.token_hex(8)}"
    with manager(address) as heard:
        link = ServiceManagerLink(address)
        for tell in (link.ready, link.stopping, link.alive):
            tell()
        link.status("running,\n2 of 3 busy")
        assert link.listens
        messages = [heard.recv(4096).decode() for _ in range(4)]
        assert messages == ["READY=1", "STOPPING=1", "WATCHDOG=1", "STATUS=running, 2 of 3 busy"]


def test_a_reload_bears_its_time_so_that_the_manager_can_tell_it_from_an_earlier_one(tmp_path: Path) -> None:
    with manager(str(tmp_path / "notify")) as heard:
        before = time.monotonic_ns() // 1000
        ServiceManagerLink(str(tmp_path / "notify")).reloading()
        first, second = heard.recv(4096).decode().split("\n")
        assert first == "RELOADING=1"
        name, _, at = second.partition("=")
        assert name == "MONOTONIC_USEC"
        assert before <= int(at) <= time.monotonic_ns() // 1000


def test_a_manager_that_does_not_read_is_not_waited_for(tmp_path: Path) -> None:
    with manager(str(tmp_path / "notify")):
        link = ServiceManagerLink(str(tmp_path / "notify"))
        for _ in range(5000):  # far more messages than the socket's buffer can hold
            link.alive()
