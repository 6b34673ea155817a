"""A git process that stays open: each answer has a timeout, and closing it never waits."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nightshift.core.errors import GitError, GitStopped
from nightshift.git.commands import Git
from nightshift.git.processes import Output, Processes
from nightshift.git.session import Session
from tests.support.git_repo import make_repo

Opener = Callable[..., Session]


@pytest.fixture
def git(tmp_path: Path) -> Iterator[Git]:
    processes = Processes()
    yield Git(make_repo(tmp_path / "repo") / ".git", {"PATH": os.defpath}, processes=processes)
    processes.stop()


@pytest.fixture
def session(git: Git) -> Iterator[Opener]:
    sessions = list[Session]()

    def open_session(answer_s: float = 600.0) -> Session:
        sessions.append(Session(git, "cat-file", "--batch-check=%(objecttype)", answer_s=answer_s))
        return sessions[-1]

    yield open_session
    for each in sessions:
        each.close()


def ask(asked: Session) -> str:
    return asked.ask(b"HEAD\n", Output.readline).decode().strip()


def process_of(asked: Session) -> subprocess.Popen[bytes]:
    assert asked._process
    return asked._process


def test_a_git_that_does_not_answer_is_ended_and_the_next_question_starts_another(session: Opener) -> None:
    asked = session(answer_s=1.0)
    assert ask(asked) == "commit"
    hung = process_of(asked)
    os.kill(hung.pid, signal.SIGSTOP)
    with pytest.raises(GitError, match=r"git cat-file in .* did not answer within 1 s and was stopped"):
        ask(asked)
    assert hung.returncode is not None
    assert ask(asked) == "commit"


def test_a_git_that_died_is_started_again_once(session: Opener) -> None:
    asked = session()
    assert ask(asked) == "commit"
    process_of(asked).kill()
    process_of(asked).wait()
    assert ask(asked) == "commit"

    def die(_answer: Output) -> str:
        process_of(asked).kill()
        raise EOFError("cut off")

    with pytest.raises(GitError, match=r"git cat-file ended in .*: cut off"):
        asked.ask(b"HEAD\n", die)


def test_closing_does_not_wait_for_an_answer_and_stopping_ends_it(git: Git, session: Opener) -> None:
    asked, reading, faults = session(), threading.Event(), list[Exception]()

    def read(answer: Output) -> bytes:
        reading.set()
        if not (line := answer.readline()):
            raise EOFError
        return line

    def wait_for_an_answer() -> None:
        try:
            asked.ask(b"", read)
        except GitError as error:
            faults.append(error)

    waiting = threading.Thread(target=wait_for_an_answer)
    waiting.start()
    reading.wait()
    asked.close()
    assert waiting.is_alive()
    git.processes.stop()
    waiting.join()
    assert [type(error) for error in faults] == [GitStopped]
