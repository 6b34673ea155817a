"""A container's three streams over the engine's one connection, in the event loop.

The engine sends frames: a byte that names the stream, three of zero, four with the length, then the text
(<https://docs.docker.com/reference/api/engine/>, "attach to a container"). What goes in is sent as it is.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator

CHUNK = 1 << 16
_HEADER = 8
_STDERR = 2
_PREFACE = 1 << 14  # what may be said before the job starts


class Streams:
    """Both outputs, each up to a limit, and the input.

    `started` is done when the marker stood on standard error, and tells whether it did; `over` when there is nothing
    more to read, and tells whether a limit was reached.

    Args:
        connection: to the container, not blocking.
        marker: the line that says that the job starts; what comes before it is `preface`.
        most: bytes that are kept of each output.
    """

    def __init__(self, connection: socket.socket, marker: bytes, most: int) -> None:
        self._connection, self._marker, self._most = connection, marker + b"\n", most
        self._loop = asyncio.get_running_loop()
        self.started: asyncio.Future[bool] = self._loop.create_future()
        self.over: asyncio.Future[bool] = self._loop.create_future()
        self.stdout, self.stderr, self.preface = bytearray(), bytearray(), bytearray()
        self._raw = bytearray()
        self._left = memoryview(b"")
        self._loop.add_reader(connection, self._read)

    def send(self, text: bytes) -> None:
        """Write the input as fast as it is taken, then close it."""
        self._left = memoryview(text)
        if not self._closed:
            self._loop.add_writer(self._connection, self._write)

    def close(self) -> None:
        """Take nothing more."""
        self._settle(flooded=False)
        if not self._closed:
            self._loop.remove_writer(self._connection)
            self._connection.close()

    @property
    def _closed(self) -> bool:
        return self._connection.fileno() < 0

    def _write(self) -> None:
        try:
            self._left = self._left[self._connection.send(self._left) :]
        except BlockingIOError:
            return
        except OSError:  # it has ended and takes no more
            self._left = self._left[:0]
        if not self._left:
            self._loop.remove_writer(self._connection)
            try:
                self._connection.shutdown(socket.SHUT_WR)
            except OSError:
                self._settle(flooded=False)

    def _read(self) -> None:
        try:
            data = self._connection.recv(CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self._raw += data
        for stream, text in self._frames():
            self._keep(stream, text)
        if not data or self._is_full:
            self._settle(flooded=self._is_full)

    def _frames(self) -> Iterator[tuple[int, bytes]]:
        while len(self._raw) >= _HEADER:
            end = _HEADER + int.from_bytes(self._raw[4:_HEADER], "big")
            if len(self._raw) < end:
                return
            yield self._raw[0], bytes(self._raw[_HEADER:end])
            del self._raw[:end]

    def _keep(self, stream: int, text: bytes) -> None:
        if stream == _STDERR and not self.started.done():
            self.preface += text
            before, found, after = self.preface.partition(self._marker)
            if not found:
                return
            self.preface, text = before, bytes(after)
            self.started.set_result(True)
        kept = self.stderr if stream == _STDERR else self.stdout
        kept += text[: self._most - len(kept)]

    @property
    def _is_full(self) -> bool:
        """The engine copies the two outputs apart, so that much of one may come before the marker on the other."""
        flooded = self.started.done() and max(len(self.stdout), len(self.stderr)) >= self._most
        return flooded or len(self.preface) > _PREFACE

    def _settle(self, *, flooded: bool) -> None:
        if self.over.done():
            return
        self._loop.remove_reader(self._connection)
        self.over.set_result(flooded)
        if not self.started.done():
            self.started.set_result(False)
