"""Reads server-sent events over a plain socket."""

from __future__ import annotations

import json
import re
import socket
from typing import Any

Sent = tuple[str, int | None, Any]
"""Event type, id and data."""


class Listener:
    """A client of the live stream; the constructor returns when the head of the response has arrived.

    Args:
        port: the server's port.
        query: appended to the path.
        last_id: sent as `Last-Event-ID`.
        receive_buffer: bytes that the kernel buffers for a client that reads nothing.
        header: an additional header line.
    """

    def __init__(
        self,
        port: int,
        query: str = "",
        *,
        last_id: int | None = None,
        receive_buffer: int | None = None,
        header: str = "",
    ) -> None:
        self._socket = socket.socket()
        if receive_buffer:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self._socket.settimeout(10)
        self._socket.connect(("127.0.0.1", port))
        resume = f"Last-Event-ID: {last_id}\r\n" if last_id is not None else ""
        own = f"{header}\r\n" if header else ""
        head = f"GET /api/logs/stream{query} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{own}{resume}\r\n"
        self._socket.sendall(head.encode())
        self._file = self._socket.makefile("rb")
        self.head = "".join(line.decode() for line in iter(self._file.readline, b"\r\n"))
        self.status = int(self.head.split()[1])
        self.beats = 0
        self.retry_ms: int | None = None
        self._text = b""

    def close(self) -> None:
        """Close the connection without notice, as a browser does when its tab is closed."""
        self._file.close()
        self._socket.close()

    def _more(self) -> bool:
        """Read one chunk; return False at the end of the response."""
        size = int(self._file.readline().strip() or b"0", 16)
        self._text += self._file.read(size)
        self._file.readline()
        return size > 0

    def take(self, count: int) -> list[Sent]:
        """Return the next `count` events."""
        events: list[Sent] = []
        while len(events) < count:
            events += self._take_events(count - len(events))
            if len(events) < count and not self._more():
                break
        return events

    def ids(self, count: int) -> list[int | None]:
        """Return the ids of the next `count` events."""
        return [number for _, number, _ in self.take(count)]

    def rest(self) -> list[Sent]:
        """Return all events until the server ends the stream."""
        return self.take(1 << 30)

    def beat(self) -> None:
        """Wait for a heartbeat."""
        before = self.beats
        while self.beats == before and self._more():
            assert not self._take_events(1)

    def _take_events(self, most: int) -> list[Sent]:
        events: list[Sent] = []
        while b"\n\n" in self._text and len(events) < most:
            block, self._text = self._text.split(b"\n\n", 1)
            fields = dict(re.findall(r"^(\w+): (.*)$", block.decode(), re.MULTILINE))
            if fields.get("event") == "beat":
                self.beats += 1
                continue
            self.retry_ms = int(fields.get("retry", self.retry_ms or 0))
            if "data" in fields:
                number = int(fields["id"]) if "id" in fields else None
                events.append((fields.get("event", "message"), number, json.loads(fields["data"])))
        return events
