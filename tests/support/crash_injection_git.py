"""Git under crash injection: each command that may write, and each move of references, is a place to die.

In the middle of such a command is a place of its own: git has its input, its user is dead.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Sequence
from typing import Any, Protocol

READS = frozenset(
    {
        *("cat-file", "for-each-ref", "rev-parse", "merge-base", "log", "diff-tree", "config", "--version", "version"),
        *("check-ref-format", "show-ref", "ls-files", "ls-tree", "rev-list", "symbolic-ref", "count-objects", "fsck"),
    }
)
"""Git commands that leave nothing behind; one that is not here is a point."""


class CrashInjector(Protocol):
    def arrive(self, names: Sequence[str]) -> set[str]: ...


def die() -> None:
    """The end, without a word to anybody."""
    os.kill(os.getpid(), signal.SIGKILL)
    signal.pause()


def git_words(args: Sequence[str]) -> list[str]:
    """The command and its words, without settings and without what differs from task to task."""
    rest = list(args[1:])
    while rest and rest[0] == "-c":
        rest = rest[2:]
    return rest


def generic(text: str) -> str:
    """A name without numbers, ids and folders of one run."""
    text = re.sub(r"\b[0-9a-f]{40}\b|\b[0-9a-f]{2}/[0-9a-f]{38}\b", "ID", text)
    text = re.sub(r"agent/\d+-[\w.-]+", "agent/TASK", text)
    return re.sub(r"\d+", "N", re.sub(r"/\S*/", ".../", text) if not text.startswith("ref:") else text)


class _Pipe:
    """Standard input of a git session: each flush of a question that moves references is a point."""

    def __init__(self, real: Any, process: Any, injector: CrashInjector) -> None:
        self._real, self._process, self._injector = real, process, injector
        self._said = b""

    def write(self, data: bytes) -> int:
        self._said += data
        return len(data)

    def flush(self) -> None:
        names = re.findall(rb"^(?:update|create|delete) (\S+)", self._said, re.MULTILINE)
        doomed = self._injector.arrive([generic("ref: " + " ".join(n.decode() for n in names))]) if names else set()
        if "before" in doomed:
            die()
        said, self._said = self._said, b""
        self._real.write(said)
        self._real.flush()
        if "sent" in doomed:
            die()
        self._process.doomed = "after" in doomed

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


class _Answer:
    """Standard output of a git session: the line that says that the references moved is the end of the point."""

    def __init__(self, real: Any, process: Any) -> None:
        self._real, self._process = real, process

    def readline(self, *args: int) -> bytes:
        line: bytes = self._real.readline(*args)
        if self._process.doomed and line.startswith(b"commit"):
            die()
        return line

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


def watched_popen(injector: CrashInjector) -> type[subprocess.Popen[bytes]]:
    """A Popen that announces the git commands that may write."""

    class Watched(subprocess.Popen):  # type: ignore[type-arg]  # the class is generic in stubs only
        doomed = False
        moments: frozenset[str] = frozenset()

        def __init__(self, args: Any, *rest: Any, **named: Any) -> None:
            words = git_words(args) if isinstance(args, list) and args[0] == "git" else []
            session = "--stdin" in words and words[0] == "update-ref"
            writes = bool(words) and words[0] not in READS and not session
            self.moments = frozenset(injector.arrive([generic("git: " + " ".join(words[:3]))]) if writes else ())
            if "before" in self.moments:
                die()
            super().__init__(args, *rest, **named)
            if session:
                self.stdin, self.stdout = _Pipe(self.stdin, self, injector), _Answer(self.stdout, self)  # type: ignore[assignment]

        def communicate(self, input: Any = None, timeout: float | None = None) -> Any:  # noqa: A002  its name in the library
            if "sent" in self.moments:
                assert self.stdin
                self.stdin.write(input or b"")
                self.stdin.close()
                die()
            answer = super().communicate(input, timeout)
            if "after" in self.moments:
                die()
            return answer

    return Watched
