"""The small JSON request, and responses that do not end."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from nightshift.models.http_access import fetch_json


@contextmanager
def served(*parts: bytes, drip: bytes = b"") -> Iterator[str]:
    """A server that says this to whoever comes, then `drip` for ever, then hangs up when the block ends."""
    over = threading.Event()
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        client, _ = listener.accept()
        with client:
            client.recv(65536)
            try:
                for part in parts:
                    client.sendall(part)
                while not over.wait(0.02) and drip:
                    client.sendall(drip)
            except OSError:
                return

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1/models"
    finally:
        over.set()
        thread.join(10)
        listener.close()


@pytest.mark.parametrize(
    ("said", "status", "fault"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n<html>hello!", 200, "not JSON"),
        (b"HTTP/1.1 302 Found\r\nLocation: http://login.example/\r\nContent-Length: 0\r\n\r\n", 302, "302"),
        (b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n", 503, "503"),
        (b"nonsense\r\n\r\n", 0, "does not answer"),
        (b"", 0, "does not answer"),
    ],
)
def test_what_is_no_api_is_said_to_be_none(said: bytes, status: int, fault: str) -> None:
    with served(said, drip=b"") as url:
        probe = fetch_json(url, {}, timeout_s=0.3)
    assert (probe.status, probe.is_unusable) == (status, True)
    assert fault in probe.fault


@pytest.mark.parametrize("head", [b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.1 200 OK\r\nX: "])
def test_a_server_that_drips_for_ever_is_cut_off(head: bytes) -> None:
    with served(head, drip=b"x") as url:
        probe = fetch_json(url, {}, timeout_s=5, whole_s=0.4)
    assert probe.is_unusable
    assert probe.fault


def test_a_sound_list_is_read() -> None:
    body = b'{"data": [{"id": "m"}, 7]}'
    with served(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body), body) as url:
        probe = fetch_json(url, {})
    assert not probe.is_unusable
    assert [row["id"] for row in probe.rows("data")] == ["m"]
    assert fetch_json("ftp://example", {}).is_unusable
