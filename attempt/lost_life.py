"""Finds what a task did in a life of the database that is lost, so that it is not done twice.

After a restore from a backup, a task may stand as it was hours ago, although it was finished since: git comes first, so
its commit is there. Only tasks that the restore named are looked up, and only commits younger than the backup count.
"""

from __future__ import annotations

from asyncio import to_thread, wrap_future
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from attempt.services import Parts
from core.clock import from_text
from core.commit_message import trailers
from core.revisions import Commit, Workspace
from core.tasks import Task
from db.restore import KEY
from db.state_store import Commit as LedgerEntry


async def landed_before(task: Task, parts: Parts, workspace: Workspace) -> Commit | None:
    """The commit that ended this task in the lost life, entered into the ledger again; None when there is none.

    A commit on the task's branch alone has not ended a task that is to be integrated.

    Raises:
        GitError: git could not look.
    """
    mark = await to_thread(parts.state.get, KEY)
    if not mark or task.id not in mark["tasks"]:
        return None
    since = max(filter(None, (workspace.since, from_text(mark["since"]) if mark["since"] else None)), default=None)
    looked, moving = replace(workspace, since=since), await _moving(task, parts, workspace)
    found = await to_thread(parts.git.find_commit, looked, task.id)
    if found is None or (moving and not await to_thread(parts.git.contains, looked, found)):
        return None
    await _enter(task, parts, workspace, found, moving=moving)
    return found


async def _enter(task: Task, parts: Parts, workspace: Workspace, found: Commit, *, moving: bool) -> None:
    facts = await to_thread(parts.git.describe, workspace, found.id)
    said: Mapping[str, Any] = trailers(facts.message)
    iterations = said.get("Iterations", "")
    entry = LedgerEntry(
        task_id=task.id,
        attempt=task.attempt,
        repo=str(workspace.repo),
        branch=found.branch,
        commit=found.id,
        base=found.parent,
        subject=facts.message.partition("\n")[0],
        label=said.get("Verdict", ""),
        model=said.get("Model", ""),
        iterations=int(iterations) if iterations.isdigit() else 0,
        integrated=moving,
        target=workspace.target or "" if moving else "",
        at=parts.clock(),
    )
    await wrap_future(parts.state.record_commit(entry))


async def _moving(task: Task, parts: Parts, workspace: Workspace) -> bool:
    """Whether the task's commit moves the target, as `Integration` decides it."""
    asked = parts.defaults.integrate if task.spec.integrate is None else task.spec.integrate
    return (workspace.is_own or asked) and await to_thread(parts.git.blocked, workspace) is None
