"""A git command that stays open and is asked one question at a time; starting git anew costs more than most answers."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable
from typing import IO, TypeVar

from core.errors import GitError
from gitrepo.commands import Git

T = TypeVar("T")


class Session:
    """Thread-safe; a process that died is started again once.

    Args:
        git: where it runs.
        args: the command.
    """

    def __init__(self, git: Git, *args: str) -> None:
        self._git, self._args = git, args
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, question: bytes, read: Callable[[IO[bytes]], T]) -> T:
        """Write a question and let `read` take the whole answer; it raises EOFError for one that is cut off.

        Raises:
            GitError: the command ended, and once more when it was started again.
            KeyError: what `read` raises for a whole answer that says no.
        """
        with self._lock:
            try:
                return self._asked(question, read)
            except (OSError, EOFError):
                return self._asked_again(question, read)

    def close(self) -> None:
        """End the process; the next question starts another."""
        with self._lock:
            self._stop()

    def _asked_again(self, question: bytes, read: Callable[[IO[bytes]], T]) -> T:
        try:
            return self._asked(question, read)
        except (OSError, EOFError) as error:
            raise GitError(f"git {self._args[0]} ended in {self._git.folder}: {error}") from error

    def _asked(self, question: bytes, read: Callable[[IO[bytes]], T]) -> T:
        if self._process is None:
            self._process = self._git.start(*self._args, quiet=True)
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin
        assert stdout
        try:
            stdin.write(question)
            stdin.flush()
            return read(stdout)
        except KeyError:
            raise
        except BaseException:
            self._stop()  # what is left of the answer would be taken for the next one
            raise

    def _stop(self) -> None:
        if self._process is not None:
            process, self._process = self._process, None
            process.kill()
            process.communicate()
