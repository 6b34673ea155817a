"""A service manager's side of `sd_notify`: a real datagram socket, and the messages that it received."""

from __future__ import annotations

import socket
import threading
import time
from pathlib import Path
from typing import Self


class Manager:
    """Receives the daemon's messages; `with Manager(path) as manager: …`."""

    def __init__(self, path: Path) -> None:
        self.address = str(path)
        self.heard: list[str] = []
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(self.address)
        self._thread = threading.Thread(target=self._hear)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as own:
            own.sendto(b"", self.address)
        self._thread.join()
        self._socket.close()

    def _hear(self) -> None:
        while chunk := self._socket.recv(4096):
            self.heard.append(chunk.decode())

    def count(self, word: str) -> int:
        """Return how many messages that begin with `word` were received."""
        return sum(line.startswith(word) for line in tuple(self.heard))

    def hears(self, word: str, times: int = 1, within_s: float = 90.0) -> None:
        """Wait until `times` further messages that begin with `word` have come; fail after `within_s` seconds."""
        wanted, end = self.count(word) + times, time.monotonic() + within_s
        while self.count(word) < wanted:
            assert time.monotonic() < end, f"{word} did not come; heard: {self.heard}"
            time.sleep(0.02)

    def falls_silent(self, word: str, for_s: float, within_s: float = 90.0) -> None:
        """Wait until no message that begins with `word` has come for `for_s` seconds."""
        end = time.monotonic() + within_s
        count, since = self.count(word), time.monotonic()
        while time.monotonic() - since < for_s:
            assert time.monotonic() < end, f"{word} goes on coming"
            time.sleep(0.05)
            if (now := self.count(word)) != count:
                count, since = now, time.monotonic()
