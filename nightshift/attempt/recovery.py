"""Records commits that exist in git but not in the database, after a daemon died or a backup was restored.

Git is changed before the database, so a daemon that dies in between leaves a commit without a record. The record is
completed at the next start, before tasks are requeued. Afterwards, the waiting task could be cancelled at once, and a
cancelled task has no commit.

After a restore, a task that was finished may be back in its state of hours ago. `find_landed` finds the task's commit,
so that no work is done twice. It only looks up tasks that the restore listed, and only accepts commits that were made
after the backup. It also looks up tasks of a hub, because another node may have landed a task's commit before that node
was lost.
"""

from __future__ import annotations

from asyncio import to_thread, wrap_future
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from nightshift.attempt.commit_record import Landing, commit_row, list_changed_files
from nightshift.attempt.opening import open_repository
from nightshift.attempt.services import AttemptServices
from nightshift.core.clock import Clock, from_text
from nightshift.core.errors import GitError
from nightshift.core.ports import Memory
from nightshift.core.tasks.attempt_state import AttemptState
from nightshift.core.tasks.commit_message import subject_of, trailers
from nightshift.core.tasks.repository_settings import RepositorySettings
from nightshift.core.tasks.revisions import Commit, Workspace
from nightshift.core.tasks.states import Ending, Phase
from nightshift.core.tasks.task import Task, TaskSpec
from nightshift.git.manager import GitManager
from nightshift.queue import store
from nightshift.queue.manager import QueueManager
from nightshift.storage.db.recovery import KEY
from nightshift.storage.db.state_store import Commit as LedgerEntry
from nightshift.storage.db.state_store import StateStore
from nightshift.storage.db.step_store import StepStore


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveryServices:
    """The services that recovery needs to complete records.

    `read_repository_settings` returns the owner's settings for a task's repository.
    """

    git: GitManager
    queue: QueueManager
    state: StateStore
    steps: StepStore
    memory: Memory
    clock: Clock
    mask: Callable[[str], str]
    read_repository_settings: Callable[[TaskSpec], RepositorySettings]


async def finish_landed(services: RecoveryServices) -> None:
    """Record the commits of tasks that a dead daemon left running; end a task if its target contains its commit.

    Must run under the lock of the home, before the tasks are requeued.
    """
    for entry in services.queue.read(store.running):
        state = await to_thread(services.steps.last_work, entry.task.id, entry.task.attempt)
        if state is not None and state.phase is Phase.COMMIT and not entry.task.hub_fence:
            await _finish(services, entry.task, state)


async def _finish(services: RecoveryServices, task: Task, state: AttemptState) -> None:
    try:
        target = services.read_repository_settings(task.spec).target
        repository = await to_thread(open_repository, services.git, task, target)
        workspace = replace(repository, scope=state.scope)
        commit = await to_thread(services.git.find_commit, workspace, task.id)
        if commit is None:
            return
        integrated = workspace.target is not None and await to_thread(services.git.contains, workspace, commit)
        if not integrated and commit.parent != state.base:
            return  # This is a commit of an earlier try, which the resumed attempt replaces.
        subject = subject_of((await to_thread(services.git.describe, workspace, commit.id)).message)
        files = await to_thread(list_changed_files, services.git, workspace, commit, task)
    except GitError:
        return  # The resumed attempt will get the same error and report it.
    landing = Landing(
        task=task, workspace=workspace, state=state, commit=commit, verdict=state.verdict, integrated=integrated
    )
    row = commit_row(landing, subject, files, services.clock(), services.mask)
    await wrap_future(services.state.record_commit(row))
    if integrated:
        await _end(services, task, state, commit)


async def _end(services: RecoveryServices, task: Task, state: AttemptState, commit: Commit) -> None:
    await services.memory.conclude(state, task.id, solved=True)
    why = state.verdict.labelled_reason if state.verdict else "tests passed"
    finished = services.queue.finish(
        task.id, task.fence, Ending.COMMITTED, reason=f"{why}; it had landed when its daemon died",
        commit=commit.id, branch=commit.branch, iterations=state.iteration,
    )  # fmt: skip
    await wrap_future(finished)


# Functions that find finished work after a restore.


async def find_landed(
    task: Task, services: AttemptServices, workspace: Workspace, *, held: bool = False
) -> Commit | None:
    """Return the commit that finished this task before the restore, and record it again; None if there is none.

    If the task is to be integrated, only a commit in its target counts, not one on its own branch. A `held` task is
    never integrated.

    Raises:
        GitError: git could not be read.
    """
    mark = await to_thread(services.state.get, KEY)
    restored = bool(mark) and task.id in mark["tasks"]
    if not (restored or task.hub_fence):
        return None
    restored_since = from_text(mark["since"]) if restored and mark["since"] else None
    looked = replace(workspace, since=max(filter(None, (workspace.since, restored_since)), default=None))
    moving = not held and await _moving(task, services, workspace)
    if moving:
        commit = await to_thread(services.git.find_landed, looked)
    else:
        commit = await to_thread(services.git.find_commit, looked, task.id)
    if commit is None:
        return None
    await _enter(task, services, workspace, commit, moving=moving)
    return commit


async def _enter(task: Task, services: AttemptServices, workspace: Workspace, commit: Commit, *, moving: bool) -> None:
    facts = await to_thread(services.git.describe, workspace, commit.id)
    trailer: Mapping[str, Any] = trailers(facts.message)
    iterations = trailer.get("Iterations", "")
    entry = LedgerEntry(
        task_id=task.id,
        attempt=task.attempt,
        repo=str(workspace.repo),
        branch=commit.branch,
        commit=commit.id,
        base=commit.parent,
        subject=subject_of(facts.message),
        label=trailer.get("Verdict", ""),
        model=trailer.get("Model", ""),
        iterations=int(iterations) if iterations.isdigit() else 0,
        integrated=moving,
        target=workspace.target or "",
        at=services.clock(),
    )
    await wrap_future(services.state.record_commit(entry))


async def _moving(task: Task, services: AttemptServices, workspace: Workspace) -> bool:
    """Check whether the task's commit moves the target, by the same rules as `Integration`."""
    asked = services.defaults.integrate if task.spec.integrate is None else task.spec.integrate
    return (workspace.is_own or asked) and await to_thread(services.git.find_obstacle, workspace) is None
