"""Reverts a commit by a three-way merge that needs no checkout, and finds reverts in the history."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from nightshift.core.errors import GitError, MergeConflict
from nightshift.core.tasks.commit_message import undoes
from nightshift.core.tasks.revisions import Commit, LogLine
from nightshift.git import protocol
from nightshift.git.merging import three_way
from nightshift.git.objects import differing, find_planted
from nightshift.git.repository import Repository

_FORM = "--format=%H%x1f%ct%x1f%an%x1f%B"


def take_back(repository: Repository, commit: str, tip: str, message: bytes, committer: bytes) -> Commit:
    """Return a new commit on top of `tip` that undoes the changes of `commit`; no branch is moved.

    The new tree may equal the tip's. The files come from a three-way merge of the tip and the parent of `commit`, with
    `commit` as the base. Both sides are passed to git as stand-in commits whose only parent is `commit`, so that git
    finds this merge base at once.

    Raises:
        MergeConflict: Later commits changed the same lines; only the paths are known.
        GitError: The commit is a merge or the first of its history, or git would treat a resulting folder as a
            repository.
    """
    taken, newest = repository.read_commit(commit), repository.read_commit(tip)
    if len(taken.parents) != 1:
        raise GitError(f"{commit[:10]} has {len(taken.parents)} parents; only a commit with one can be reverted")
    before = repository.read_commit(taken.parents[0])
    ours, theirs = (repository.write_commit(replace(each, parents=(commit,))) for each in (newest, before))
    merged, clean = three_way(repository, ours, theirs)
    if not clean:
        raise MergeConflict(merged.conflicts)
    if (folder := find_planted(newest.tree, merged.tree, repository.reader.tree)) is not None:
        raise GitError(f"without this commit git would take the folder {folder or '.'!r} for a repository")
    raw_commit = replace(
        newest, tree=merged.tree, parents=(tip,), author=committer, committer=committer, message=message
    )  # fmt: skip
    return Commit(id=repository.write_commit(raw_commit), tree=merged.tree, branch="", parent=tip)


def with_message(repository: Repository, commit: Commit, message: bytes) -> Commit:
    """Return the commit with another message; no branch is moved."""
    return replace(commit, id=repository.write_commit(replace(repository.read_commit(commit.id), message=message)))


def find_revert(repository: Repository, commit: str, tip: str) -> str | None:
    """Return the commit in the history of `tip` that reverts `commit` and was not itself reverted, or None."""
    grep = ("log", "-z", _FORM, "--fixed-strings", f"--grep={commit}", f"{commit}..{tip}")
    for entry in repository.view(*grep).out.decode("utf-8", "replace").split("\0"):
        id_, _, rest = entry.partition("\x1f")
        if rest and undoes(rest.split("\x1f", 2)[2]) == commit and find_revert(repository, id_, tip) is None:
            return id_
    return None


def list_changed_paths(repository: Repository, old: str, new: str) -> frozenset[str]:
    """Return the paths at which two commits differ."""
    before, after = (repository.read_commit(each).tree for each in (old, new))
    return frozenset(differing(before, after, repository.reader.tree))


def later_commits(repository: Repository, commit: str, tip: str, paths: Collection[str]) -> tuple[LogLine, ...]:
    """Return the commits after `commit` up to `tip` that touched one of the paths, newest first; at most a hundred."""
    if not paths:
        return ()
    asked = ("log", "-z", "--max-count=100", "--no-renames", _FORM, f"{commit}..{tip}", "--", *sorted(paths))
    text = repository.view(*asked).out.decode("utf-8", "replace")
    return tuple(protocol.log_line(entry, repository.home) for entry in text.split("\0") if entry)
