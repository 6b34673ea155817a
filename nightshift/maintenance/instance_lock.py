"""Ensures that only one daemon works on a home, with locks that end with their process, unlike a PID file.

One lock covers the folder of the home. A second lock is beside the database, because two homes may use the same
database file (by a link, a mount, or another layout). A lock file names its holder for people to read; only the lock
itself counts.
"""

from __future__ import annotations

import fcntl
import json
import os
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import IO

from nightshift.core.clock import Clock, from_text, to_text, utc_now
from nightshift.core.errors import NightshiftError
from nightshift.core.text.masking import printable

_PROC = Path("/proc")


class AlreadyRunning(NightshiftError):
    """Another daemon works on this home."""


class InstanceLock:
    """An exclusive `flock` on each of the files. The locks are acquired in order, and either all or none are held.

    Raises:
        AlreadyRunning: on entering, if another process holds a lock; the message names the process and its start.
        NightshiftError: a lock file cannot be created.
    """

    def __init__(self, *paths: Path, clock: Clock = utc_now) -> None:
        self._paths, self._clock = paths, clock
        self._held = ExitStack()

    def __enter__(self) -> InstanceLock:
        with ExitStack() as held:
            for path in dict.fromkeys(self._paths):
                held.enter_context(_take(path, self._text()))
            self._held = held.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._held.close()

    def _text(self) -> str:
        about = {"pid": os.getpid(), "since": to_text(self._clock()), "command": _command_of(os.getpid())}
        return json.dumps(about) + "\n"


def _take(path: Path, text: str) -> IO[str]:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("a+", encoding="utf-8")
    except OSError as error:
        raise NightshiftError(f"the lock {path} cannot be made: {error.strerror}") from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.seek(0)
        note_text = file.read()
        file.close()
        raise AlreadyRunning(_who_holds(path, note_text)) from None
    except BaseException:
        file.close()
        raise
    file.truncate(0)
    file.write(text)
    file.flush()
    return file


def _who_holds(path: Path, note_text: str) -> str:
    """Return a sentence about the holder of a lock.

    The lock file may be out of date, so its content is compared with the process that has its id now.
    """
    try:
        note = json.loads(note_text)
        pid, since = int(note["pid"]), f"{from_text(note['since']):%Y-%m-%d %H:%M:%S} UTC"
    except (ValueError, KeyError, TypeError, OverflowError):
        return f"another process already works here: {path} is locked; `fuser {path}` names it"
    command = _command_of(pid)
    if not command or command != note.get("command"):  # the process is dead, or its id was reused
        return (
            f"process {pid}, which worked here since {since}, is gone, but a process that it started still holds "
            f"{path}; `fuser {path}` names it"
        )
    shown = printable(" ".join(command.split()), max_chars=300)
    return f"process {pid} ({shown}) already works here since {since}: it holds {path}"


def _command_of(pid: int) -> str:
    """Return the command line of a live process; empty if there is none."""
    try:
        return (_PROC / str(pid) / "cmdline").read_bytes().decode("utf-8", "replace").replace("\0", " ").strip()
    except OSError:
        return ""
