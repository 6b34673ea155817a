"""A git process that stays open and answers one question at a time.

Starting git for each question would often take longer than answering.
"""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from nightshift.core.errors import GitError, RepositoryUnready
from nightshift.git.commands import Git
from nightshift.git.processes import Output, write

T = TypeVar("T")
# Timeout of an answer in seconds. It is longer than git itself waits for a lock (git/protocol.py), and longer than a
# slow disk needs for a large object.
ANSWER_S = 60.0


class Session:
    """A git process that answers questions; thread-safe.

    If the process dies during a question, it is restarted, and the question is asked once more.

    Args:
        git: Runs commands in the repository.
        args: The command.
        answer_s: Timeout of a question, in seconds.
        stderr: The target of the command's errors; with `subprocess.STDOUT` they are part of the answers.
    """

    def __init__(self, git: Git, *args: str, answer_s: float = ANSWER_S, stderr: int = subprocess.DEVNULL) -> None:
        self._git, self._args, self._answer_s, self._stderr = git, args, answer_s, stderr
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._output: Output

    def ask(self, question: bytes, read: Callable[[Output], T]) -> T:
        """Write a question and let `read` read the whole answer; `read` raises EOFError if the answer is cut off.

        Raises:
            GitError: The question timed out, or the command ended and ended again after a restart.
            KeyError: `read` raised it for a complete negative answer.
        """
        with self._lock:
            return self._ask(question, read, again=True)

    def close(self) -> None:
        """End the process, unless a caller waits for its answer; the next question starts another process."""
        if self._lock.acquire(blocking=False):
            try:
                self._stop()
            finally:
                self._lock.release()

    def _ask(self, question: bytes, read: Callable[[Output], T], *, again: bool) -> T:
        name, folder = f"git {self._args[0]}", self._git.folder
        try:
            return self._ask_once(question, read)
        except TimeoutError:
            raise GitError(f"{name} in {folder} did not answer within {self._answer_s:g} s and was stopped") from None
        except (OSError, EOFError) as error:
            if again:
                return self._ask(question, read, again=False)
            words = self._git.ask(*self._args, timeout_s=self._answer_s).error  # the session's own errors are not read
            kind = RepositoryUnready if words else GitError  # git cannot even start there
            raise kind(f"{name} ended in {folder}: {words or error}") from error

    def _ask_once(self, question: bytes, read: Callable[[Output], T]) -> T:
        if self._process is None or self._process.poll() is not None:
            self._stop()
            self._process = self._git.start(*self._args, stderr=self._stderr)
            assert self._process.stdout
            self._output = Output(self._process.stdout)
        deadline = self._output.deadline = time.monotonic() + self._answer_s
        assert self._process.stdin
        try:
            write(self._process.stdin, question, deadline)
            return read(self._output)
        except KeyError:
            raise
        except BaseException:
            self._stop()  # The rest of this answer would be read as the next answer
            raise

    def _stop(self) -> None:
        if self._process is not None:
            process, self._process = self._process, None
            self._git.processes.end(process)
