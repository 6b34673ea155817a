"""Lands the ready commits of several nodes together: the merged tree is judged, and bisected if it fails.

The commits are rebased on top of each other in the order in which they came, the last tree is judged once, and all of
them land with one move of the branch. If the tree fails, each half is tried, the second half on top of the commits of
the first half that passed. A commit that fails alone, or that conflicts, is left to its own node, which lands or
repairs it as it would without a queue. The idea is from bors and Zuul.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from nightshift.core.code.dependencies import is_suite
from nightshift.core.code.tree import Tree, text_of
from nightshift.core.errors import GitError, MergeConflict
from nightshift.core.tasks.revisions import Commit, Workspace
from nightshift.core.tasks.task import TaskSpec
from nightshift.git.manager import GitManager


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A commit that is ready to land. `key` identifies it among the candidates."""

    key: int
    commit: Commit
    spec: TaskSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """Candidates that were rebased onto a tip, each with its new commit, in order."""

    tip: str
    commits: tuple[tuple[Candidate, Commit], ...] = ()

    @property
    def last(self) -> str:
        """Id of the last commit, to which the branch is to be moved; the tip if there are no commits."""
        return self.commits[-1][1].id if self.commits else self.tip


@dataclass(frozen=True, slots=True, kw_only=True)
class JointWork:
    """The joint change of several candidates, as a suite judges it (see `core.tasks.verdicts.SuiteJob`).

    Attributes:
        base: the tree of the tip.
        change: the new texts of the changed files, by path, without tests; None for a removed file.
        given: the texts of the tests that came with the tasks, by path.
        own: the texts of the other tests that the candidates change, by path.
    """

    base: Tree
    change: dict[str, str | None]
    given: dict[str, str]
    own: dict[str, str]


Judge = Callable[[JointWork], Awaitable[bool]]


async def merge(
    git: GitManager, workspace: Workspace, tip: str, candidates: Sequence[Candidate], judge: Judge
) -> tuple[Merged, tuple[Candidate, ...]]:
    """Return the candidates that pass together on a tip, in order, and those that must be landed alone.

    Args:
        git: reads and rebases the commits.
        workspace: the repository.
        tip: full id of the branch's tip.
        candidates: the ready commits.
        judge: returns True if a merged tree passes.
    """
    return await _merge(git, workspace, Merged(tip=tip), candidates, judge)


async def _merge(
    git: GitManager, workspace: Workspace, done: Merged, candidates: Sequence[Candidate], judge: Judge
) -> tuple[Merged, tuple[Candidate, ...]]:
    tried, conflicted = await asyncio.to_thread(_on_top, git, workspace, done, candidates)
    added = [candidate for candidate, _ in tried.commits[len(done.commits) :]]
    if not added or await judge(await asyncio.to_thread(_work, git, workspace, tried)):
        return tried, conflicted
    if len(added) == 1:
        return done, (*conflicted, *added)
    half = len(added) // 2
    first, left_first = await _merge(git, workspace, done, added[:half], judge)
    both, left_second = await _merge(git, workspace, first, added[half:], judge)
    return both, (*conflicted, *left_first, *left_second)


def _on_top(
    git: GitManager, workspace: Workspace, done: Merged, candidates: Sequence[Candidate]
) -> tuple[Merged, tuple[Candidate, ...]]:
    """Return `done` extended by the candidates, rebased on top of it in order, and the candidates that conflict."""
    commits, conflicted = list(done.commits), list[Candidate]()
    for candidate in candidates:
        last = commits[-1][1].id if commits else done.tip
        try:
            commits.append(
                (
                    candidate,
                    candidate.commit
                    if candidate.commit.parent == last
                    else git.rebase(workspace, candidate.commit, last),
                )
            )
        except (MergeConflict, GitError):
            conflicted.append(candidate)
    return Merged(tip=done.tip, commits=tuple(commits)), tuple(conflicted)


def _work(git: GitManager, workspace: Workspace, merged: Merged) -> JointWork:
    base, last = (git.tree(workspace, commit) for commit in (merged.tip, merged.last))
    old, new = base.entries(), last.entries()
    paths = {path for path, _ in old.items() ^ new.items()}
    change = {path: text_of(last, path) if path in new else None for path in paths}
    wanted = {path for candidate, _ in merged.commits for path in candidate.spec.tests}
    given = {path: text for path in wanted if (text := text_of(last, path)) is not None}
    own = {path: text for path, text in change.items() if text is not None and path not in given and is_suite(path)}
    rest = {path: text for path, text in change.items() if path not in given and path not in own}
    return JointWork(base=base, change=rest, given=given, own=own)
