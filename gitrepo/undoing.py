"""The verbs of `git_manager.GitManager` that take back what was integrated, and those that tell what was."""

from __future__ import annotations

from collections.abc import Collection

from core.clock import Clock
from core.commit_message import CommitMessage
from core.revisions import Author, Commit, LogLine, Workspace
from gitrepo import reverting
from gitrepo.history import contains
from gitrepo.objects import person
from gitrepo.registry import Repositories


class Undoing:
    """Blocking, and usable from any thread, like the rest of the manager."""

    _repositories: Repositories
    _clock: Clock

    def revert(self, workspace: Workspace, commit: str, tip: str, message: CommitMessage) -> Commit:
        """What `commit` (full id) changed, taken back on top of `tip`, as a new commit on no branch yet.

        Raises:
            MergeConflict: later commits changed the same lines; `paths` names the files.
            GitError: the commit is a merge, or the first of its history.
        """
        found = self._repositories.find(workspace)
        return reverting.taken_back(found, commit, tip, message.text().encode(), self._signature(found.author))

    def reworded(self, workspace: Workspace, commit: Commit, message: CommitMessage) -> Commit:
        """The same commit, which is on no branch yet, with another message."""
        return reverting.with_message(self._repositories.find(workspace), commit, message.text().encode())

    def holds(self, workspace: Workspace, commit: str, tip: str) -> bool:
        """Tell whether the history of `tip` holds a commit (full ids), which need not exist."""
        found = self._repositories.find(workspace)
        return found.resolve(commit)[0] is not None and contains(found, tip, commit)

    def reverted_by(self, workspace: Workspace, commit: str, tip: str) -> str | None:
        """The commit in the history of `tip` that takes `commit` back (full ids), and still does; None: it stands."""
        return reverting.reverted_by(self._repositories.find(workspace), commit, tip)

    def changed(self, workspace: Workspace, old: str, new: str) -> frozenset[str]:
        """The paths at which two commits (full ids) differ."""
        return reverting.changed_paths(self._repositories.find(workspace), old, new)

    def later(self, workspace: Workspace, commit: str, tip: str, paths: Collection[str]) -> tuple[LogLine, ...]:
        """The commits after `commit` up to `tip` (full ids) that touched one of the paths, newest first."""
        return reverting.later_commits(self._repositories.find(workspace), commit, tip, paths)

    def _signature(self, author: Author) -> bytes:
        return person(author.name or "", author.email or "", self._clock())
