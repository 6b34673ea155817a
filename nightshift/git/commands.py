"""Runs git commands, each in its own session and environment."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nightshift.core.errors import GitError, GitKilled, ReferenceLocked, RepositoryUnready
from nightshift.core.text.formats import duration
from nightshift.core.text.masking import printable
from nightshift.git import protocol
from nightshift.git.processes import Processes, communicate
from nightshift.git.shared_lock import SharedLock


@dataclass(frozen=True, slots=True)
class Answer:
    """Result of a command: its exit code, its output, and its standard error with unsafe characters escaped."""

    code: int
    out: bytes
    error: str

    @property
    def text(self) -> str:
        """The output as text, without leading and trailing whitespace."""
        return self.out.decode("utf-8", "replace").strip()


class Git:
    """Runs git commands with one folder as the repository, independent of the daemon's working directory.

    Commands that store objects share a lock, so that no object is deleted meanwhile (see git/maintenance.py). If the
    folder is gone, commands run in `common` instead, because a linked worktree can be removed during its task, while
    the branches remain.
    """

    def __init__(
        self,
        folder: Path,
        env: Mapping[str, str],
        settings: Sequence[str] = protocol.SETTINGS,
        cwd: Path | None = None,
        store_lock: SharedLock | None = None,
        processes: Processes | None = None,
        common: Path | None = None,
    ) -> None:
        self.folder, self._common, self._store_lock = folder, common or folder, store_lock
        self.processes = processes or Processes()
        self._env, self._settings, self._cwd = env, settings, cwd

    def over(self, cwd: Path, **env: str) -> Git:
        """Return a copy that runs in another folder, with more environment variables."""
        return Git(
            self.folder, {**self._env, **env}, self._settings, cwd, self._store_lock, self.processes, self._common
        )

    def __call__(self, *args: str, stdin: bytes = b"", timeout_s: float = 120.0) -> Answer:
        """Run a command that must succeed.

        Raises:
            ReferenceLocked: A reference is locked.
            GitError: The command failed, or timed out.
        """
        answer = self.ask(*args, stdin=stdin, timeout_s=timeout_s)
        if answer.code:
            refuse_locked(answer.error)
            kind = RepositoryUnready if protocol.is_unreadable(answer.error) else GitError
            raise kind(f"git {args[0]} failed: {answer.error or f'exit code {answer.code}'}")
        return answer

    def ask(self, *args: str, stdin: bytes = b"", timeout_s: float = 120.0) -> Answer:
        """Run a command whose failure is a valid answer. Commands that store objects may run at the same time."""
        with self._store_lock.share() if self._store_lock else contextlib.nullcontext():
            process = self.start(*args)
            try:
                out, error = communicate(process, stdin, timeout_s)
            except TimeoutError:
                raise GitError(f"git {args[0]} did not end within {timeout_s:g} s and was stopped") from None
            finally:
                self.processes.end(process)
        self.processes.refuse_when_stopped()
        if process.returncode < 0:
            raise GitKilled(f"git {args[0]}, which was ended by {signal.Signals(-process.returncode).name}")
        return Answer(process.returncode, out, readable(error))

    def start(self, *args: str, stderr: int = subprocess.PIPE) -> subprocess.Popen[bytes]:
        """Start git; the caller must end the process with `processes.end`.

        Raises:
            GitError: Git could not be started.
        """
        folder = self.folder if self.folder.exists() else self._common
        try:
            return self.processes.start(
                ["git", *self._settings, *args],
                cwd=self._cwd or folder,
                env={**self._env, "GIT_DIR": str(folder)},
                stderr=stderr,
            )
        except OSError as error:
            raise GitError(f"git could not be started in {self.folder}: {error.strerror}") from None


def readable(error: bytes) -> str:
    """Return git's error message as text that is safe to show.

    If the error is about a lock, the lock's age replaces git's advice to delete it.
    """
    message = protocol.without_password(printable(error[-2000:]).strip())
    return protocol.without_advice(message) + _age_of_lock(message)


def refuse_locked(error: str) -> None:
    """Raise ReferenceLocked if the error is about a lock."""
    if protocol.lock_in(error):
        raise ReferenceLocked(error.removeprefix("fatal: ").removeprefix("prepare: "))


def _age_of_lock(error: str) -> str:
    """Describe the lock that an error names, with its age, because another git process may still use it.

    Returns an empty text if the error names no lock.
    """
    lock = protocol.lock_in(error)
    try:
        age_s = time.time() - Path(lock).stat().st_mtime if lock else None
    except OSError:
        return ""
    if age_s is None:
        return ""
    return f" (the lock {lock} is {duration(age_s)} old; if no git is at work there, remove it)"
