"""HTTP written by hand, for requests that no client library would send."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable, Sequence


def ask(port: int, head: Sequence[str], body: Iterable[bytes] = (), *, host: str | None = None) -> tuple[int, bytes]:
    """Send the lines of a request's head, then its body; return the status and everything that came back.

    `Host` (the server's own, unless given as `host`; "" for none) and `Connection: close` are added.
    """
    own = f"127.0.0.1:{port}" if host is None else host
    lines = [head[0], *([f"Host: {own}"] if own else []), "Connection: close", *head[1:], "", ""]
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall("\r\n".join(lines).encode("latin-1"))
        for part in body:
            connection.sendall(part)
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    match = re.match(rb"HTTP/1\.1 (\d+)", answer)
    assert match, answer
    return int(match[1]), answer


def chunk(data: bytes) -> bytes:
    """Return one part of a chunked body; the empty part ends the body."""
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"
