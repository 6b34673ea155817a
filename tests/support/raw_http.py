"""HTTP written by hand, for requests that no client library would send."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable, Sequence


def ask(port: int, head: Sequence[str], body: Iterable[bytes] = (), *, host: str | None = None) -> tuple[int, bytes]:
    """Send the lines of a request's head and then its body. Return the status and the whole response.

    The function adds `Connection: close` and the header `Host`. Its value is the server's own address, or `host` if
    given; with "" the header is left out.
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
    """Return one chunk of a body in chunked transfer encoding. An empty chunk ends the body."""
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"
