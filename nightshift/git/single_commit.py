"""Copies the files of one commit to an independent repository, without the history around the commit.

The single commit of the new repository has no parent, its objects are copies, and the repository refers to no other
repository. So later work cannot be reached from it. The nearest tag is copied too, because packages derive their
version from the tag.
"""

from __future__ import annotations

import re
from pathlib import Path

from nightshift.core.code.tree import format_of
from nightshift.git.commands import Git
from nightshift.git.repository import Repository

_BRANCH = "main"
_MESSAGE = b"The files of a benchmark's item\n"
_WHEN = "2000-01-01T00:00:00Z"
_DESCRIBED = re.compile(r"(.+)-[0-9]+-g[0-9a-f]+")


def copy(repository: Repository, commit: str, folder: Path, git: Git) -> str:
    """Create the repository; the same files always give the same commit.

    Args:
        repository: The repository of the commit.
        commit: The full id of the commit.
        folder: The folder of the new repository; empty, or missing.
        git: Git for the new repository's folder `.git`.

    Returns:
        The id of the single commit, which the branch `main` points to.
    """
    tree = repository.read_commit(commit).tree
    pack = repository.view("pack-objects", "--revs", "--stdout", "-q", stdin=f"{tree}\n".encode()).out
    folder.mkdir(parents=True, exist_ok=True)
    git("init", "--quiet", "--template=", f"--initial-branch={_BRANCH}", f"--object-format={format_of(commit)}")
    git("index-pack", "--stdin", stdin=pack)
    dated = git.over(folder, GIT_AUTHOR_DATE=_WHEN, GIT_COMMITTER_DATE=_WHEN)
    commit_id = dated("commit-tree", tree, stdin=_MESSAGE).text
    git("update-ref", f"refs/heads/{_BRANCH}", commit_id)
    if tag := _DESCRIBED.fullmatch(repository.tree(commit).describe()):
        git("update-ref", f"refs/tags/{tag[1]}", commit_id)
    return commit_id
