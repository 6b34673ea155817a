"""A repository keeps the trees that were read last, and no more of them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from nightshift.core.errors import GitError
from nightshift.core.tasks.projects import Scope
from nightshift.core.tasks.revisions import Author
from nightshift.git.objects import RawCommit
from nightshift.git.registry import Repositories
from nightshift.git.repository import TREES, Repository

BY = b"A <a@b> 1700000000 +0000"


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Repository]:
    author, environ = Author(name="A", email="a@b"), {"PATH": os.defpath, "HOME": str(tmp_path)}
    repositories = Repositories(tmp_path / "workspace", author, lambda _author: BY, environ)
    yield repositories.find(None)
    repositories.close()


def test_a_tree_is_read_once_and_only_the_last_few_are_kept(own: Repository) -> None:
    commits = [
        own.write_commit(RawCommit(tree="", parents=(), author=BY, committer=BY, message=b"%d\n" % number))
        for number in range(TREES + 1)
    ]
    below = Scope(project="a")
    first, part = own.tree(commits[0]), own.part(commits[0], below)
    objects, away = own.common / "objects", own.common / "away"
    objects.rename(away)
    assert own.tree(commits[0]) is first, "nothing is read for it"
    assert own.part(commits[0], below) is part
    away.rename(objects)
    for commit in commits:
        assert own.tree(commit).commit == commit
        own.part(commit, below)
        assert max(len(own.trees), len(own.parts)) <= TREES
    assert own.tree(commits[0]) is not first
    assert own.part(commits[0], below) is not part


def test_a_commit_that_is_not_there_is_an_error_and_not_kept(own: Repository) -> None:
    for _ in range(2):
        with pytest.raises(GitError, match="is not in"):
            own.tree("0" * 40)
    assert not own.trees
