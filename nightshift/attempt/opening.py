"""Opens the workspace of a task: at its base, on top of the work of its dependencies, or where it stopped."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from nightshift.core.code.paths import at_or_below
from nightshift.core.errors import GitError, MergeConflict
from nightshift.core.program import format_command
from nightshift.core.tasks.attempt_state import AttemptState
from nightshift.core.tasks.projects import WHOLE, Scope, beginning
from nightshift.core.tasks.revisions import Workspace
from nightshift.core.tasks.task import Task
from nightshift.core.text.faults import name_first
from nightshift.git.manager import GitManager
from nightshift.storage.db.state_store import Commit as LedgerEntry

_CLOCKS_APART = timedelta(days=1)
"""Tolerated difference between the clocks of nodes. A commit that has the task's number on the hub, but is older than
the task by more than this, belongs to a task of another hub.
"""


def open_workspace(
    git: GitManager, task: Task, target: str | None, stored: AttemptState | None, waiting: Iterable[LedgerEntry]
) -> Workspace:
    """Open a task's workspace: at a stored state's base and project, else at the task's starting point.

    Args:
        git: the repositories.
        task: the task.
        target: the branch that the owner's settings name as the target of tasks in this repository.
        stored: the state of the attempt that continues; None if a new one begins.
        waiting: the commits of the task's dependencies that wait on their branches.

    Raises:
        GitError: the task cannot begin there; the message names the field and the fix.
    """
    spec, repository = task.spec, open_repository(git, task, target)
    if repository.target and target:
        try:
            git.tip(repository)
        except GitError as error:
            raise GitError(f"target: {error}; see {format_command(f'repo-settings {repository.repo}')}") from error
    repository = git.follow_workspace(repository) if task.hub_fence else repository
    for entry in waiting:
        repository = _build_on(git, repository, entry) if Path(entry.repo) == repository.repo else repository
    scope = scope_of(task, stored)
    scope = scope if stored else replace(scope, project=beginning(spec) if repository.is_own else None)
    if why := scope.fault(repository.tree):
        raise GitError(f"project: {why}")
    workspace = git.within(repository, scope)
    if obstacle := at_or_below((*spec.files, *spec.tests), workspace.tree.unwritable()):
        where = spec.repo or repository.repo
        raise GitError(f"files: {obstacle[0]!r} lies at or below {obstacle[1]!r}, a link or a submodule of {where}")
    return git.at(workspace, stored.base) if stored else workspace


def open_repository(git: GitManager, task: Task, target: str | None) -> Workspace:
    """Open the complete repository of a task at its base; the owner's target counts if the task names no base."""
    spec = task.spec
    since = task.created_at - _CLOCKS_APART if task.hub_id else task.created_at
    workspace = git.open(spec.repo, spec.base, task.id, spec.description, since, mark=task.mark)
    return workspace.aim_at(target) if target and not (spec.base or workspace.is_own) else workspace


def scope_of(task: Task, state: AttemptState | None) -> Scope:
    """Return the part of the repository that a state works on; the complete repository if there is no state."""
    return replace(state.scope if state else WHOLE, given=(*task.spec.files, *task.spec.tests))


def _build_on(git: GitManager, workspace: Workspace, entry: LedgerEntry) -> Workspace:
    try:
        return git.build_on(workspace, entry.branch)
    except MergeConflict as error:
        raise GitError(
            f"depends_on: {entry.branch} changed the same lines in {name_first(error.paths)} as the work that it is "
            "added to; merge the branches, and name the result as base"
        ) from error
