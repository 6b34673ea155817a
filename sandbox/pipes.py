"""The two ends of a job's pipes in the event loop: what comes out is capped, what goes in is written as it is read."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import IO

CHUNK = 1 << 16


class Output:
    """Keeps what comes out of a pipe, up to a limit; `ended` is done when all its writers have closed it."""

    def __init__(self, pipe: IO[bytes], loop: asyncio.AbstractEventLoop, most: int, full: Callable[[], None]) -> None:
        self.kept = bytearray()
        self.ended: asyncio.Future[None] = loop.create_future()
        self._pipe, self._loop, self._most, self._full = pipe, loop, most, full
        os.set_blocking(pipe.fileno(), False)
        loop.add_reader(pipe.fileno(), self._read)

    @property
    def is_full(self) -> bool:
        """Tell whether the limit was reached."""
        return len(self.kept) >= self._most

    def close(self) -> None:
        """Take what is there without waiting for more, and close."""
        while not self._pipe.closed and not self.is_full and self._read():
            pass
        self._close()

    def _read(self) -> bool:
        """Take what is there; false at the end, and when there is nothing yet."""
        try:
            data = os.read(self._pipe.fileno(), CHUNK)
        except BlockingIOError:
            return False
        self.kept += data[: self._most - len(self.kept)]
        if self.is_full:
            self._full()
        if not data and not self.ended.done():
            self.ended.set_result(None)
        if not data or self.is_full:
            self._close()
        return bool(data)

    def _close(self) -> None:
        if not self._pipe.closed:
            self._loop.remove_reader(self._pipe.fileno())
            self._pipe.close()


class Input:
    """Writes a text into a pipe as fast as it is read, and closes it."""

    def __init__(self, pipe: IO[bytes], loop: asyncio.AbstractEventLoop, text: bytes) -> None:
        self._pipe, self._loop, self._left = pipe, loop, memoryview(text)
        os.set_blocking(pipe.fileno(), False)
        loop.add_writer(pipe.fileno(), self._write)

    def _write(self) -> None:
        try:
            self._left = self._left[os.write(self._pipe.fileno(), self._left) :]
        except BlockingIOError:
            return
        except BrokenPipeError:
            self._left = self._left[:0]
        if not self._left:
            self.close()

    def close(self) -> None:
        """Close, written or not."""
        if not self._pipe.closed:
            self._loop.remove_writer(self._pipe.fileno())
            self._pipe.close()
