"""Git under crash injection: the daemon can die at each git command that may write and at each move of references.

The daemon can also die in the middle of such a command: git then has its input, but its parent process is dead.
"""

from __future__ import annotations

import functools
import os
import re
import signal
import subprocess
from collections.abc import Callable, Sequence
from typing import Any, Protocol

READS = frozenset(
    {
        *("cat-file", "for-each-ref", "rev-parse", "merge-base", "log", "diff-tree", "config", "--version", "version"),
        *("check-ref-format", "show-ref", "ls-files", "ls-tree", "rev-list", "symbolic-ref", "count-objects", "fsck"),
    }
)
"""Git commands that write nothing; every other command is a point."""


class CrashInjector(Protocol):
    def arrive(self, names: Sequence[str]) -> set[str]: ...


def die() -> None:
    """Kill this process with SIGKILL."""
    os.kill(os.getpid(), signal.SIGKILL)
    signal.pause()


def git_words(args: Sequence[str]) -> list[str]:
    """Return the git command and its arguments, without `-c` settings."""
    rest = list(args[1:])
    while rest and rest[0] == "-c":
        rest = rest[2:]
    return rest


def generic(text: str) -> str:
    """Replace those numbers, ids and folders in a point's name that differ between runs; return the name."""
    text = re.sub(r"\b[0-9a-f]{40}\b|\b[0-9a-f]{2}/[0-9a-f]{38}\b", "ID", text)
    text = re.sub(r"agent/\d+-[\w.-]+", "agent/TASK", text)
    return re.sub(r"\d+", "N", re.sub(r"/\S*/", ".../", text) if not text.startswith("ref:") else text)


class Pipes:
    """Watches the pipes of git processes that write, and finds a process by the daemon's end of its pipe.

    A session is a long-running `git update-ref --stdin`. Each request to a session that moves references is a point.
    Any other command that writes is a point when it starts.
    """

    def __init__(self, injector: CrashInjector) -> None:
        self._injector = injector
        self._running: list[Watched] = []

    def add(self, process: Watched) -> None:
        """Watch the pipes of a process."""
        self._running = [*(p for p in self._running if p.poll() is None), process]

    def write(self, real: Callable[[int, Any], int], descriptor: int, data: Any) -> int:
        """Write as `os.write` does; if ordered, die before or after the write."""
        process = self._find("stdin", descriptor)
        if process is None:
            return real(descriptor, data)
        if process.is_session:
            names = re.findall(rb"^(?:update|create|delete) (\S+)", bytes(data), re.MULTILINE)
            point = generic("ref: " + " ".join(name.decode() for name in names))
            process.moments = self._injector.arrive([point]) if names else set()
            if "before" in process.moments:
                die()
        count = real(descriptor, data)
        if "sent" in process.moments:
            die()
        return count

    def read(self, real: Callable[[int, int], bytes], descriptor: int, size: int) -> bytes:
        """Read as `os.read` does; die, if ordered, when a session confirms that the references moved."""
        data = real(descriptor, size)
        process = self._find("stdout", descriptor)
        if process and process.is_session and "after" in process.moments and b"commit: ok" in data:
            die()
        return data

    def _find(self, pipe: str, descriptor: int) -> Watched | None:
        for process in self._running:
            end = getattr(process, pipe)
            if process.poll() is None and end and not end.closed and end.fileno() == descriptor:
                return process
        return None


class Watched(subprocess.Popen):  # type: ignore[type-arg]  # the class is generic in stubs only
    """A Popen that tells the injector of each git command that may write, and dies if ordered."""

    injector: CrashInjector
    pipes: Pipes
    is_session = False
    moments: set[str] = set()  # noqa: RUF012  replaced, never changed

    def __init__(self, args: Any, *rest: Any, **named: Any) -> None:
        words = git_words(args) if isinstance(args, list) and args[0] == "git" else []
        self.is_session = "--stdin" in words and words[0] == "update-ref"
        if words and words[0] not in READS and not self.is_session:
            self.moments = self.injector.arrive([generic("git: " + " ".join(words[:3]))])
        if "before" in self.moments:
            die()
        super().__init__(args, *rest, **named)
        if self.is_session or self.moments:
            self.pipes.add(self)

    def wait(self, timeout: float | None = None) -> int:
        """Wait as Popen does; die, if ordered, after the command has ended."""
        code = super().wait(timeout)
        if "after" in self.moments and not self.is_session:
            die()
        return code


def watch_git(injector: CrashInjector) -> None:
    """Watch every start of git, and every request to and response from a `git update-ref --stdin` session."""
    Watched.injector, Watched.pipes = injector, Pipes(injector)
    subprocess.Popen = Watched  # type: ignore[misc]  # that is the point
    for name, watched in (("write", Watched.pipes.write), ("read", Watched.pipes.read)):
        setattr(os, name, functools.partial(watched, getattr(os, name)))
