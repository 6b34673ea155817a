"""A draft: the best change of an attempt that ended without a commit, left on its task's branch for the owner.

Its trailer is `Draft-Of` instead of `Task`, so that recovery, `verify` and `revert` do not mistake the draft for a
finished commit. A draft is never pushed, and is integrated only on request. Its note and its row in the ledger say
which tests fail, and why the draft did not pass.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

from nightshift.attempt.commit_record import Landing, change_to_commit, commit_row, list_changed_files
from nightshift.attempt.evidence import to_note
from nightshift.attempt.services import AttemptServices
from nightshift.attempt.uninterrupted import run_to_end
from nightshift.core.errors import UnknownCommit
from nightshift.core.events import CommitData, Emitter, Kind
from nightshift.core.tasks.attempt_state import AttemptState, holds_work
from nightshift.core.tasks.commit_message import message_for, subject_of
from nightshift.core.tasks.held_out import HeldOut
from nightshift.core.tasks.revisions import Workspace
from nightshift.core.tasks.states import Ending
from nightshift.core.tasks.task import Task, digest
from nightshift.core.tasks.verdicts import Evidence, Label, Result, Verdict
from nightshift.storage.db.state_store import Commit as LedgerEntry
from nightshift.storage.db.state_store import describe_draft

LEAVES_DRAFT = frozenset({Ending.GAVE_UP, Ending.STUCK, Ending.TIMEOUT, Ending.BUDGET})
"""Endings after which an attempt leaves a draft."""


async def leave_draft(
    task: Task,
    services: AttemptServices,
    events: Emitter,
    workspace: Workspace,
    state: AttemptState,
    held: HeldOut | None = None,
) -> LedgerEntry | None:
    """Commit an attempt's best change on its task's branch and record the draft in the ledger, without interruption.

    If an earlier attempt left a draft of which more tests pass, that draft stays instead.

    Args:
        task: the task, as its attempt knows it.
        services: the services of an attempt.
        events: receives the attempt's events.
        workspace: the task's workspace, at the state's base and in its scope.
        state: the last state of the attempt.
        held: the held-out part of the task's tests, which no prompt showed.

    Returns:
        The draft's row in the ledger; None if the attempt changed nothing.

    Raises:
        GitError: git could not commit the draft.
        StoreError: the draft could not be recorded.
    """
    state = state.at_best()
    in_project = bool(state.project)
    if not await asyncio.to_thread(holds_work, state.change, task.spec.files, workspace.tree, in_project=in_project):
        return None
    verdict = _judge_as_draft(state)
    if earlier := await asyncio.to_thread(_find_better, task, services, workspace, verdict.count(Result.PASSED)):
        events.emit(Kind.DRAFT_LEFT, f"the draft of attempt {earlier.attempt} stays: {describe_draft(earlier)}")
        return earlier
    entry = await run_to_end(_record(task, services, workspace, replace(state, verdict=verdict), verdict, held))
    if entry:
        data = CommitData(commit=entry.commit, branch=entry.branch)
        events.emit(Kind.DRAFT_LEFT, describe_draft(entry), **data)
    return entry


async def _record(
    task: Task,
    services: AttemptServices,
    workspace: Workspace,
    state: AttemptState,
    verdict: Verdict,
    held: HeldOut | None,
) -> LedgerEntry | None:
    git, message = services.git, message_for(task, state, services.mask)
    change = change_to_commit(task, state)
    commit = await asyncio.to_thread(git.commit, workspace, state.base, change, message)
    if commit is None:
        return None
    limits = task.spec.limits.over(services.defaults.limits).of_run()
    note = to_note(task, state, commit, verdict, limits, held, key=services.seal_key, mask=services.mask)
    await asyncio.to_thread(git.note, workspace, commit.id, note)
    files = await asyncio.to_thread(list_changed_files, git, workspace, commit, task)
    landing = Landing(task=task, workspace=workspace, state=state, commit=commit, verdict=verdict, integrated=False)
    entry = commit_row(landing, subject_of(message.text()), files, services.clock(), services.mask)
    await asyncio.wrap_future(services.state.record_commit(entry))
    return entry


def _judge_as_draft(state: AttemptState) -> Verdict:
    """Return the verdict on the change with the label DRAFT, which replaces any better label."""
    if state.verdict is None:
        tree = digest(state.change, state.own_tests)
        evidence = Evidence(tree=tree, sandbox="none", label=Label.DRAFT, notes=("nothing was run",))
        return Verdict(passed=False, reason="its tests were not run", evidence=evidence)
    evidence = replace(state.verdict.evidence, label=Label.DRAFT)
    reason = "; ".join(state.unmet) or state.verdict.reason
    if state.verdict.holds:
        reason = "its task ended before it landed"
    return replace(state.verdict, passed=False, reason=reason, evidence=evidence)


def _find_better(task: Task, services: AttemptServices, workspace: Workspace, passed: int) -> LedgerEntry | None:
    """Return an earlier attempt's draft if it is still on its branch and more than `passed` of its tests pass."""
    entry = services.state.draft(task.id)
    if entry is None or entry.attempt == task.attempt or not entry.signs or entry.signs.tests_passed <= passed:
        return None
    try:
        return entry if services.git.resolve(workspace, f"refs/heads/{entry.branch}") == entry.commit else None
    except UnknownCommit:
        return None
