"""Git for the rest of the program: reads trees without a checkout, makes commits, and moves branches atomically.

The owner's checkout, index, stash, configuration and branches are never changed. Content is read and written in a view
of the repository (git/repository.py), and a reference moves only if it still points to the expected commit. A commit
writes only the objects that differ from its parent's, and needs one update-ref, so its cost does not grow with the
history.

Every method blocks and may be called from any thread; coroutines use `asyncio.to_thread`.
"""

from __future__ import annotations

import os
import threading
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import MappingProxyType

from nightshift.core.clock import Clock, utc_now
from nightshift.core.code.tree import Tree
from nightshift.core.errors import GitError, UnknownCommit
from nightshift.core.events import Emitter, Kind, Level
from nightshift.core.ports import Sink
from nightshift.core.tasks.commit_message import CommitMessage, slug
from nightshift.core.tasks.projects import Scope
from nightshift.core.tasks.revisions import Author, ChangingCommit, Commit, CommitFacts, LogLine, PushResult, Workspace
from nightshift.core.tasks.task import Change
from nightshift.git import history, naming, protocol, reverting, sharing
from nightshift.git.branches import TRIES, attach, may_move
from nightshift.git.changed_files import walk
from nightshift.git.checkout import show_tip
from nightshift.git.commands import Git
from nightshift.git.discovery import MAIN, base_of, explain_no_commit, refuse_submodule_folder
from nightshift.git.maintenance import RepositoryMaintenance
from nightshift.git.merging import merge, rebase
from nightshift.git.objects import RawCommit, edits_for, person
from nightshift.git.processes import Processes
from nightshift.git.pushing import push
from nightshift.git.registry import Repositories, Where
from nightshift.git.remotes import FETCHED, Remote
from nightshift.git.repository import Repository, find_checkout
from nightshift.git.single_commit import copy
from nightshift.git.status import StatusReader

NO_ENVIRONMENT: Mapping[str, str] = MappingProxyType({"PATH": os.defpath})


class GitManager:
    """Gives access to repositories, with the few operations that an attempt needs.

    Args:
        workspace: The daemon's own repository, created on first use.
        author: The author of commits; missing fields come from git's configuration.
        auto_push: Whether `push` does anything.
        remove_branches: Whether a task's branch is removed when its commit is integrated into the target.
        emit: Receives events about pushing and about the workspace's files.
        clock: Gives the dates of commits.
        environ: The daemon's environment. Git gets PATH, and a push also gets the variables that give the location of
            the owner's credentials.
        home: The id of the home that has the tasks; if it is empty, commits name no home.
    """

    def __init__(
        self,
        *,
        workspace: Path,
        author: Author,
        auto_push: bool,
        emit: Sink,
        clock: Clock = utc_now,
        environ: Mapping[str, str] = NO_ENVIRONMENT,
        home: str = "",
        remove_branches: bool = False,
    ) -> None:
        self._workspace = workspace
        self._auto_push, self._remove_branches = auto_push, remove_branches
        self._events, self._clock = Emitter(emit), clock
        self._push_env = protocol.push_environment(environ)
        self._env = protocol.private_environment(environ)
        self._processes = Processes()
        self._repositories = Repositories(workspace, author, self._signature, environ, home, self._processes)
        self.maintenance, self.statuses = RepositoryMaintenance(self._repositories), StatusReader(self._repositories)
        self._following, self._behind = threading.Lock(), threading.Event()
        self._left: str | None = None
        self._follows: defaultdict[Path, threading.Lock] = defaultdict(threading.Lock)

    def doctor(self) -> str:
        """Return the version of git.

        Raises:
            GitError: There is no git, or it is too old.
        """
        return self._repositories.version()

    def renew(self, author: Author, *, auto_push: bool, remove_branches: bool) -> None:
        """Apply changed settings; see the class's arguments."""
        self._auto_push, self._remove_branches = auto_push, remove_branches
        self._repositories.renew(author)

    def close(self) -> None:
        """End every git process, including pushes and fetches; current and later callers get GitStopped."""
        self._repositories.close()

    # The following methods find the workspace of a task.

    def open(
        self,
        repo: str | None,
        base: str | None,
        task_id: int,
        description: str,
        created_at: datetime | None = None,
        *,
        mark: str = "",
    ) -> Workspace:
        """Find the workspace of a task.

        Nothing is written, except that the first use creates the daemon's own repository.

        Args:
            repo: A checkout, a linked worktree, or a folder in one of these; None is the daemon's own repository.
            base: The branch, tag or commit to start from; None is the commit that is checked out.
            task_id: The number in the branch's name.
            description: The text from which the rest of the branch's name is derived.
            created_at: The task's creation time, which distinguishes its commits from those of a task with the same
                number in an older database.
            mark: The name of the task in its commits; if empty, its number.

        Raises:
            GitError: An argument cannot be used; the message names the field and the fix.
        """
        repository = self._repositories.find(repo)
        commit, target = base_of(repository, base)
        tree = repository.tree(commit)
        if repo is not None:
            refuse_submodule_folder(Path(repo).expanduser().resolve(), repository.root, tree)
        return Workspace(
            repo=repository.root,
            git_dir=repository.git.folder,
            is_own=repository.is_own,
            task_id=task_id,
            base=commit,
            target=target,
            branch=f"agent/{mark or task_id}-{slug(description)}",
            tree=tree,
            since=created_at,
            mark=mark,
        )

    def place_of(self, repo: str | None) -> Path:
        """Return the folder in which tasks of a repository work; without a repository, that is the workspace."""
        return Path(repo).expanduser() if repo else self._workspace

    def at(self, workspace: Workspace, commit: str) -> Workspace:
        """Return the workspace with another base commit (full id)."""
        return replace(workspace, base=commit, tree=self.tree(workspace, commit))

    def within(self, workspace: Workspace, scope: Scope) -> Workspace:
        """Return the workspace limited to the part that `scope` describes."""
        return workspace if scope == workspace.scope else self.at(replace(workspace, scope=scope), workspace.base)

    def tree(self, where: Where, commit: str) -> Tree:
        """Return the files of a commit (full id); for a workspace, only those in its scope."""
        repository = self._repositories.find(where)
        return repository.part(commit, where.scope) if isinstance(where, Workspace) else repository.tree(commit)

    def resolve(self, where: Where, name: str) -> str:
        """Return the full id of the commit that a branch, a tag or a shortened id names.

        Raises:
            UnknownCommit: There is no such commit, or several match a shortened id.
        """
        repository = self._repositories.find(where)
        if "\n" not in name and (commit := repository.resolve(name)[0]):
            return commit
        if name == "HEAD":
            raise UnknownCommit(str(explain_no_commit(repository.git, repository.root)))
        raise UnknownCommit(f"there is no commit {name!r}, or several begin like it")

    def fitting(self, where: Where, name: str) -> dict[str, str]:
        """Find the commits that a name or a prefix matches; return their full ids, by a description of each."""
        return naming.fitting(self._repositories.find(where), name)

    def commits_beginning(self, where: Where, start: str) -> dict[str, str]:
        """Find the commits whose ids begin with `start`; return their full ids, by a description of each."""
        return naming.commits_beginning(self._repositories.find(where), start)

    def describe(self, where: Where, commit: str) -> CommitFacts:
        """Read the stored data of a commit (full id)."""
        return history.facts(self._repositories.find(where), commit)

    # The following methods make a commit from a change and integrate it.

    def commit(self, workspace: Workspace, parent: str, change: Change, message: CommitMessage) -> Commit | None:
        """Commit a change on top of `parent`, on the task's branch; return None if nothing differs from the parent.

        The change's paths are relative to the workspace's scope; all other files are taken from the parent. The branch
        has the task's name. If a branch with that name belongs to someone else or is checked out, that branch is left
        alone, and the home's id or a number is appended to the name of the new one. The branch that the task will be
        merged into is not read, because it may no longer exist. The home's trailer is added to the message.

        Raises:
            BaseGone: The parent is not in the repository any more.
            ReferenceLocked: The branch is locked.
            GitError: A path may not be written, or git failed.
        """
        repository = self._repositories.find(workspace)
        repository.refuse_gone(parent)
        tree, full = repository.tree(parent), workspace.scope.all_full(change)
        edits = edits_for(full, tree.records)
        if not edits:
            return None
        by = self._signature(repository.author)
        text = message.from_home(repository.home).text()
        commit = RawCommit(tree=tree.id, parents=(parent,), author=by, committer=by, message=text.encode())
        commit_id = repository.write_commit(commit, edits)
        branch = attach(repository, workspace, commit_id)
        return Commit(id=commit_id, tree=repository.read_commit(commit_id).tree, branch=branch, parent=parent)

    def tip(self, workspace: Workspace) -> str:
        """Return the commit that the target points to now.

        Raises:
            GitError: The base was not a branch, or the branch no longer exists.
        """
        name = workspace.target
        if name and (tip := self._repositories.find(workspace).resolve(name)[0]):
            return tip
        raise GitError(
            f"{name} is gone from {workspace.repo}" if name else "the base is not a branch that could be moved"
        )

    def rebase(self, workspace: Workspace, commit: Commit, tip: str) -> Commit:
        """Return a new commit, on no branch yet, with the same change and message on top of `tip`.

        Raises:
            MergeConflict: The commit and the tip changed the same lines, which the message shows. The paths in the
                error are relative to the repository.
        """
        repository = self._repositories.find(workspace)
        return rebase(repository, commit, tip, self._signature(repository.author))

    def build_on(self, workspace: Workspace, branch: str) -> Workspace:
        """Return the workspace whose base also contains a branch (short name); its target is None if that adds work.

        Integrating the task's commit would also integrate the work of the branch, so there must be no target.

        Raises:
            MergeConflict: The base and the branch changed the same lines.
        """
        repository, ours, tip = self._repositories.find(workspace), workspace.base, self.branch_at(workspace, branch)
        if tip is None or history.contains(repository, ours, tip):
            return workspace
        if not history.contains(repository, tip, ours):
            tip = merge(repository, ours, tip, self._signature(repository.author))
        return replace(self.at(workspace, tip), target=None)

    def find_obstacle(self, workspace: Workspace) -> str | None:
        """Return why the target may not be moved, or None if it may.

        A branch that the owner has checked out is never moved, because the owner's files and index would look as if
        they undid the commit. The daemon's own repository is the exception, because its files are updated too.
        """
        if workspace.target is None:
            return "the base is not a branch that could be moved"
        if workspace.is_own:
            return None
        repository, name = self._repositories.find(workspace), workspace.target.removeprefix("refs/heads/")
        if not repository.resolve(workspace.target)[0]:
            return f"{name} is gone from {workspace.repo}"
        checkout = find_checkout(repository, workspace.target)
        return checkout and f"{name} is checked out in {checkout}; it was left alone, take the work with `git merge`"

    def advance(self, workspace: Workspace, candidate: Commit, expected_tip: str) -> bool:
        """Move the target from `expected_tip` to the candidate, and the task's branch too.

        Returns False if the target has moved meanwhile. With `remove_branches`, the task's branch is removed in the
        same transaction, unless it is checked out. A candidate on no branch, such as a revert, moves only the target.

        Raises:
            BaseGone: The candidate or its parent is not in the repository any more.
            ReferenceLocked: The target or the task's branch is locked. Do not retry: git has already waited for the
                lock.
            GitError: The target may not be moved (see `find_obstacle`), or git failed.
        """
        if why := self.find_obstacle(workspace):
            raise GitError(why)
        repository, target = self._repositories.find(workspace), workspace.target or ""
        branch, refused = f"refs/heads/{candidate.branch}", ""
        seen = repository.resolve(target, branch)
        for _ in range(TRIES):
            tip, held = seen
            if tip != expected_tip:
                return False
            if held != candidate.id:  # A commit on a branch cannot be gone
                repository.refuse_gone(candidate.id, candidate.parent)
            moves = [(target, candidate.id, expected_tip)]
            wanted = "0" * len(candidate.id) if self._remove_branches else candidate.id
            if held and held != wanted and may_move(repository, branch, held, workspace):
                moves.append((branch, wanted, held))
            if not (refused := repository.move(*moves)):
                self._follow(repository, target, expected_tip)
                return True
            before, seen = seen, repository.resolve(target, branch)
            if seen == before:
                break
        raise GitError(f"{target} could not be moved: {refused}")

    def remove_branch(self, where: Where, branch: str, commit: str) -> bool:
        """Remove a branch (short name) that still points to a commit (full id).

        Returns False if the branch has moved or is checked out.

        Raises:
            GitError: Git failed.
        """
        repository, name = self._repositories.find(where), f"refs/heads/{branch}"
        return not find_checkout(repository, name) and not repository.move((name, "0" * len(commit), commit))

    def branch_at(self, where: Where, branch: str) -> str | None:
        """Return the commit (full id) that a branch (short name) points to; None if there is no such branch."""
        return self._repositories.find(where).resolve(f"refs/heads/{branch}")[0]

    def find_commit(self, workspace: Workspace, task_id: int) -> Commit | None:
        """Return the commit that an earlier attempt or daemon made for the task; None if there is none.

        The commit may be only on the task's branch; `contains` checks whether it was integrated.
        """
        return history.commit_of(self._repositories.find(workspace), replace(workspace, task_id=task_id))

    def find_landed(self, workspace: Workspace) -> Commit | None:
        """Return the task's commit in the target's history, whichever node put it there; None if there is none."""
        return history.find_landed(self._repositories.find(workspace), workspace)

    def contains(self, workspace: Workspace, commit: Commit) -> bool:
        """Return True if the target contains the commit."""
        return history.contains(self._repositories.find(workspace), self.tip(workspace), commit.id)

    def push(self, workspace: Workspace, branch: str, timeout_s: float = 60.0) -> PushResult:
        """Push a branch (short name) if pushing is switched on and there is a remote.

        Never forces, and never raises GitError.
        """
        if not self._auto_push:
            return PushResult(pushed=False, tried=False, detail="pushing is switched off", is_wanted=False)
        return self.push_branch(workspace, branch, workspace.task_id, timeout_s)

    def push_branch(self, where: Where, branch: str, task_id: int, timeout_s: float = 60.0) -> PushResult:
        """Push a branch at the request of a task's owner, even if pushing is switched off; otherwise like `push`."""
        base = (where.target or "") if isinstance(where, Workspace) else ""
        try:
            result = push(self._remote(where, base.removeprefix("refs/heads/")), branch, timeout_s)
        except GitError as error:
            result = PushResult(pushed=False, tried=True, detail=str(error))
        if result.tried:
            kind, level = (Kind.PUSHED, Level.INFO) if result.pushed else (Kind.PUSH_FAILED, Level.WARNING)
            self._events.bind(task_id=task_id).emit(kind, result.detail, level=level)
        return result

    def fetch_branch(self, where: Where, branch: str) -> str:
        """Fetch a branch at the request of a task's owner; return the name from which a task may start, or "".

        Raises:
            GitError: The remote could not be reached, or timed out.
        """
        return self._remote(where).fetch_branch(branch)

    # The following methods deal with branches that several nodes move.

    def remote(self, where: Where) -> str:
        """Return the address that a push goes to, without a password; empty if there is no remote."""
        return self._remote(where).shown

    def _remote(self, where: Where, base: str = "") -> Remote:
        """Return the remote that git would choose for work on the branch `base` (short name)."""
        repository = self._repositories.find(where)
        return Remote(repository, repository.configuration().push_url(base) or "", self._push_env)

    def branch(self, where: Where) -> str:
        """Return the short name of the branch that is checked out; empty if there is none.

        Raises:
            GitError: There is no commit yet.
        """
        return (base_of(self._repositories.find(where), None)[1] or "").removeprefix("refs/heads/")

    def set_remote(self, url: str) -> None:
        """Add a remote to the daemon's own repository, unless the repository has a remote already."""
        own = self._repositories.find(None)
        if not own.configuration().remote_url:
            own.git("config", "remote.origin.url", url)

    def clone(self, url: str, folder: Path) -> None:
        """Create a repository that follows a remote; see `git.sharing.clone`."""
        sharing.clone(url, folder, self._push_env, self._processes)

    def follow_workspace(self, workspace: Workspace) -> Workspace:
        """Return the workspace with a target that other nodes move too.

        The base is the branch's tip as this node knows it. In an owner's repository, the target is a reference of ours
        that follows the remote's branch; the owner's branch is unchanged.

        Raises:
            GitError: The workspace's base is not a branch, or the branch was not fetched yet.
        """
        if workspace.is_own or workspace.target is None:
            return workspace
        target = f"{FETCHED}{sharing.short(workspace.target)}"
        tip = self._repositories.find(workspace).resolve(target)[0]
        if tip is None:
            raise GitError(f"base: {sharing.short(workspace.target)} is not at the remote of {workspace.repo}")
        return replace(self.at(workspace, tip), target=target)

    def follow(self, where: Where, branch: str | None) -> str | None:
        """Move the local reference that follows a remote's branch to the branch's tip.

        Returns the tip, or None if the remote has no such branch.

        Args:
            where: The repository.
            branch: The short name of the branch, or the full name of the reference that follows it; None is the branch
                that is checked out.

        Raises:
            GitError: The remote could not be reached, or the workspace has diverged.
        """
        repository = self._repositories.find(where)
        name = branch or (base_of(repository, None)[1] or "")
        with self._follows[repository.common]:  # Serialise: concurrent fetches conflict
            before = repository.resolve(MAIN)[0] if repository.is_own else None
            tip = sharing.follow(self._remote(where), sharing.short(name))
        if before and tip != before:
            self._follow(repository, MAIN, before)
        return tip

    def publish(self, workspace: Workspace, commit: str, expected: str | None) -> bool:
        """Move the target at the remote from `expected` to a commit (full ids).

        Returns False if the target has moved meanwhile.

        Raises:
            GitError: The commit could not be pushed.
        """
        return sharing.publish(self._remote(workspace), commit, sharing.short(workspace.target or ""), expected)

    def publish_branch(self, workspace: Workspace, commit: Commit) -> str:
        """Push a task's commit to a separate branch at the remote; return the branch's short name there.

        Raises:
            GitError: The commit could not be pushed.
        """
        remote = self._remote(workspace)
        for number in range(1, TRIES):
            name = commit.branch if number == 1 else f"{commit.branch}-{number}"
            if sharing.publish(remote, commit.id, name, None):
                return name
        raise GitError(f"{commit.branch} and {TRIES} names like it are taken at the remote")

    def fetch_commit(self, workspace: Workspace, branch: str, commit: str) -> Commit | None:
        """Fetch another node's commit (full id) from a remote's branch; None if the branch's tip is another commit.

        Raises:
            RemoteAway: The remote could not be reached.
        """
        if sharing.fetch_tip(self._remote(workspace), branch) != commit:
            return None
        facts = self.describe(workspace, commit)
        return Commit(id=commit, tree=facts.tree, branch=branch, parent=facts.parents[0] if facts.parents else "")

    def unpublish(self, workspace: Workspace, branch: str, commit: str) -> None:
        """Remove a branch of ours from the remote, if it still points to this commit.

        Raises:
            RemoteAway: The remote could not be reached.
        """
        sharing.publish(self._remote(workspace), "", branch, commit)

    def publish_text(self, where: Where, text: str) -> str:
        """Store a text at the remote; see `git.sharing.publish_text`."""
        return sharing.publish_text(self._remote(where), text)

    def read_published(self, where: Where, blob: str) -> str:
        """Read a text that any node has stored at the remote; see `git.sharing.read_published`."""
        return sharing.read_published(self._remote(where), blob)

    # The following methods deal with committed work.

    def note(self, where: Where, commit: str, text: str) -> None:
        """Store a note on a commit (full id) and replace an earlier note.

        `git log --notes=nightshift` shows the note. Notes are spread over 256 folders from the start, so that the
        thousandth note costs as much as the first.
        """
        repository = self._repositories.find(where)
        history.write_note(repository, commit, text, self._signature(repository.author))

    def read_note(self, where: Where, commit: str) -> str | None:
        """Read the note that `note` stored on a commit (full id)."""
        return history.read_note(self._repositories.find(where), commit)

    def recent_commits(self, where: Where, limit: int, name: str = "HEAD") -> tuple[LogLine, ...]:
        """Return the newest commits that can be reached from a branch or commit, newest first."""
        return history.newest(self._repositories.find(where), self.resolve(where, name), limit)

    def changing_commits(self, where: Where, most: int, name: str = "HEAD") -> Iterator[ChangingCommit]:
        """Yield the newest commits that can be reached from a branch or commit, newest first.

        Each commit has the files that it changed.
        """
        return walk(self._repositories.find(where), self.resolve(where, name), most)

    def copy_of(self, where: Where, commit: str, folder: Path) -> str:
        """Create a repository with only a commit's files, on its branch `main`; return the id of its single commit.

        Args:
            where: The commit's repository, which cannot be reached from the new repository.
            commit: The full id of the commit.
            folder: The folder of the new repository; empty or missing.
        """
        folder = folder.resolve()
        git = Git(folder / ".git", self._env, cwd=folder, processes=self._processes)
        return copy(self._repositories.find(where), commit, folder, git)

    # The following methods revert integrated work.

    def revert(self, workspace: Workspace, commit: str, tip: str, message: CommitMessage) -> Commit:
        """Revert the changes of `commit` (full id) on top of `tip`, as a new commit on no branch yet.

        Raises:
            MergeConflict: Later commits changed the same lines; `paths` names the files.
            GitError: The commit is a merge, or the first of its history.
        """
        repository = self._repositories.find(workspace)
        return reverting.take_back(repository, commit, tip, message.text().encode(), self._signature(repository.author))

    def reword(self, workspace: Workspace, commit: Commit, message: CommitMessage) -> Commit:
        """Write a copy of the commit with another message, and return it; no branch is moved."""
        return reverting.with_message(self._repositories.find(workspace), commit, message.text().encode())

    def holds(self, workspace: Workspace, commit: str, tip: str) -> bool:
        """Return True if the history of `tip` contains a commit (full ids); False also if there is no such commit."""
        repository = self._repositories.find(workspace)
        return repository.resolve(commit)[0] is not None and history.contains(repository, tip, commit)

    def find_revert(self, workspace: Workspace, commit: str, tip: str) -> str | None:
        """Return the commit in the history of `tip` that reverts `commit` (full ids); None if none does."""
        return reverting.find_revert(self._repositories.find(workspace), commit, tip)

    def list_changed_paths(self, workspace: Workspace, old: str, new: str) -> frozenset[str]:
        """Return the paths at which two commits (full ids) differ."""
        return reverting.list_changed_paths(self._repositories.find(workspace), old, new)

    def touching(self, workspace: Workspace, path: str) -> frozenset[str]:
        """Return the commits (full ids) in the history of the workspace's base that changed a path.

        The path is relative to the repository.
        """
        return history.touching(self._repositories.find(workspace), workspace.base, path)

    def later(self, workspace: Workspace, commit: str, tip: str, paths: Collection[str]) -> tuple[LogLine, ...]:
        """Return the commits after `commit` up to `tip` (full ids) that touched one of the paths, newest first."""
        return reverting.later_commits(self._repositories.find(workspace), commit, tip, paths)

    def _signature(self, author: Author) -> bytes:
        return person(author.name or "", author.email or "", self._clock())

    def _follow(self, repository: Repository, target: str, before: str) -> None:
        """Update the files of the daemon's own repository to the tip, for people who look at the files.

        If another thread is already updating the files, this call returns at once, because that thread looks for a
        newer tip before it ends.
        """
        if not repository.is_own or target != MAIN:
            return
        self._behind.set()
        while self._behind.is_set() and self._following.acquire(blocking=False):
            try:
                self._behind.clear()
                why = show_tip(repository, before)
            except (GitError, OSError) as error:
                why = str(error)
            finally:
                self._following.release()
            if why and why != self._left:
                text = f"the files in {repository.root} stay as they are: {why}"
                self._events.emit(Kind.CHECKOUT_LEFT, text, level=Level.WARNING)
            self._left = why
