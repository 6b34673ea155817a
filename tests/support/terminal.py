"""A terminal for a program under test: a test can wait for output and type lines."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from typing import Self


class Terminal:
    """Runs a program on a pseudo terminal of 100 columns; the `with` block ends the program."""

    def __init__(self, argv: Sequence[str], environment: Mapping[str, str]) -> None:
        self._main, other = pty.openpty()
        env = {"TERM": "xterm-256color", "COLUMNS": "100", "LINES": "40", **environment}
        # A program that a shell starts in a terminal can be interrupted. Tests may run in the background with SIGINT
        # ignored, and their child processes would ignore it too.
        started = ["env", "--default-signal=INT", *argv]
        self._process = subprocess.Popen(
            started, env=env, stdin=other, stdout=other, stderr=other, start_new_session=True
        )
        os.close(other)
        self.seen = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait(10)
        os.close(self._main)

    def type(self, text: str) -> None:
        r"""Type text; a line needs its own `\n`, and `\x04` is Ctrl-D."""
        os.write(self._main, text.encode())

    def interrupt(self) -> None:
        """Send SIGINT, as Ctrl-C does."""
        self._process.send_signal(signal.SIGINT)

    def expect(self, text: str, within_s: float = 15) -> str:
        """Wait until the text is written. Return and forget the output up to the end of the text."""
        until = time.monotonic() + within_s
        while text not in self.seen:
            if not self._read(until - time.monotonic()):
                raise AssertionError(f"{text!r} was not written; this was: {self.seen!r}")
        before, match, self.seen = self.seen.partition(text)
        return before + match

    def rest(self) -> tuple[int, str]:
        """Wait for the end, and return the exit code and the remaining output."""
        while self._read(15):
            pass
        return self._process.wait(15), self.seen

    def _read(self, within_s: float) -> bool:
        if within_s <= 0 or not select.select([self._main], [], [], within_s)[0]:
            return False
        try:
            raw = os.read(self._main, 65536)
        except OSError:  # the program has ended
            return False
        self.seen += raw.decode("utf-8", "replace").replace("\r\n", "\n")
        return bool(raw)
