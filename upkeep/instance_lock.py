"""One daemon for each home: a lock that dies with its process, so that no stale PID file can lie."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from types import TracebackType
from typing import IO

from core.errors import NightshiftError


class AlreadyRunning(NightshiftError):
    """Another daemon works on this home."""


class InstanceLock:
    """An exclusive `flock`; the file's text names the holder for people.

    Raises:
        AlreadyRunning: on entering, when another process holds the lock; says which.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[str] | None = None

    def __enter__(self) -> InstanceLock:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        file = self._path.open("a+", encoding="utf-8")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            holder = file.read().strip() or "unknown"
            file.close()
            raise AlreadyRunning(f"process {holder} already works on {self._path.parent.parent}") from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        self._file = file
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file:
            self._file.close()
            self._file = None


def is_held(path: Path) -> bool:
    """Tell whether a living process holds the lock."""
    try:
        with path.open("a+", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
