"""Provides a git manager on real repositories, with a clock that the test sets."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from nightshift.core.events import Event
from nightshift.core.tasks.commit_message import CommitMessage
from nightshift.core.tasks.revisions import Author, Commit, Workspace
from nightshift.core.tasks.task import Change
from nightshift.git.manager import GitManager
from tests.support.git_repo import make_repo


@dataclass
class Bench:
    """The objects that tests of the git manager work with."""

    root: Path
    now: datetime = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
    events: list[Event] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.workspace = self.root / "workspace"
        self.managers: list[GitManager] = []
        self.git = self.another()

    def another(
        self,
        *,
        auto_push: bool = True,
        author: Author | None = None,
        home: str = "",
        workspace: Path | None = None,
        path: str = os.environ["PATH"],
    ) -> GitManager:
        manager = GitManager(
            workspace=workspace or self.workspace,
            author=author or Author(name="Night", email="night@example.org"),
            auto_push=auto_push,
            emit=self.events.append,
            clock=lambda: self.now,
            environ={"PATH": path, "HOME": str(self.root / "home")},
            home=home,
        )
        self.managers.append(manager)
        return manager

    def later(self, **delta: float) -> None:
        self.now += timedelta(**delta)


def message(task_id: int | str = 7, subject: str = "Do it") -> CommitMessage:
    return CommitMessage(subject=subject, trailers={"Task": str(task_id), "Model": "m", "Iterations": "1"})


def make_commit(manager: GitManager, where: Workspace, change: Change, task_id: int | str = 7) -> Commit:
    """Commit a change on the base of a workspace; the change must change something."""
    commit = manager.commit(where, where.base, change, message(task_id))
    assert commit is not None
    return commit


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    for manager in bench.managers:
        manager.close()


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return make_repo(tmp_path / "repo", {"a.py": "a = 1\n", "pkg/b.py": "b = 1\n", "run.sh": "echo hi\n"})
