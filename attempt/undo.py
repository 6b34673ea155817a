"""Takes back what a task integrated, by a commit on top: history is never rewritten.

The order is that of integration. Under the lock of the repository the change is undone on the tip, the tree is judged,
the target is moved by compare-and-swap, and then the ledger is told. Git comes first: the revert is noted before the
branch is moved, so that `recover` can tell after a crash whether it was made. What git says counts, whatever the ledger
has: a ledger that was restored from a backup is mended on the way.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from attempt import evidence, landed_packages, undo_words
from attempt.undo_judging import RevertJudge, Trees
from attempt.verification import Opened
from core.commit_message import CommitMessage
from core.dependencies import ImportCache
from core.errors import GitError, MergeConflict, SandboxError
from core.events import Event, Kind, Level
from core.isolation import RunLimits
from core.revisions import Commit, Workspace
from core.tasks import Limits
from core.undo import Reverted, revert_message
from db.commit_ledger import CommitLedger, Pending
from db.event_log import EventLog
from db.state_store import Commit as Entry
from db.state_store import StateStore
from db.step_store import StepStore
from git_manager import GitManager
from queue_manager import QueueManager

FORCED = "Not judged: its owner wanted it all the same."


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoParts:
    """The rooms that this takes. `open_suite` is called only where tests are to be run."""

    git: GitManager
    queue: QueueManager
    state: StateStore
    steps: StepStore
    events: EventLog
    ledger: CommitLedger
    limits: Limits
    open_suite: Callable[[], Awaitable[Opened]]
    merge_locks: defaultdict[Path, asyncio.Lock]
    imports: ImportCache = field(default_factory=ImportCache)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    """One entry of the ledger to take back, or with `reapply` to bring back, on the branch of its workspace."""

    entry: Entry
    workspace: Workspace
    force: bool
    reapply: bool

    @property
    def branch(self) -> str:
        return (self.workspace.target or "").removeprefix("refs/heads/")


class Undo:
    """Takes back and brings back, one thing at a time; on the loop of the workers."""

    def __init__(self, parts: UndoParts) -> None:
        self._parts = parts
        self._alone = asyncio.Lock()

    async def revert(self, task_id: int, *, force: bool = False, reapply: bool = False) -> Reverted:
        """Take back what a task integrated last, or with `reapply` bring back what was taken back.

        Raises:
            UnknownTask: there is none.
            NotReverted: it cannot, need not or should not be; says why. `force` overrules only failing tests.
            GitError: the repository cannot be used.
        """
        async with self._alone:
            await self._recover()
            entry = await asyncio.to_thread(self._entry, task_id, reapply)
            workspace = await asyncio.to_thread(self._workspace, entry)
            if why := await asyncio.to_thread(self._parts.git.blocked, workspace):
                raise undo_words.left_alone(entry, why)
            async with self._parts.merge_locks[workspace.git_dir]:
                return await self._done(_Case(entry=entry, workspace=workspace, force=force, reapply=reapply))

    async def recover(self) -> None:
        """Finish the revert that was under way when its process died, or forget it if its branch was not moved."""
        async with self._alone:
            await self._recover()

    async def _recover(self) -> None:
        ledger = self._parts.ledger
        pending = await asyncio.to_thread(ledger.pending)
        entry = await asyncio.to_thread(ledger.entry, pending.entry) if pending else None
        if pending is None:
            return
        try:
            made = entry is not None and await asyncio.to_thread(self._was_made, entry, pending.by)
        except GitError as error:
            text = f"whether {pending.by[:10]} was made before a crash cannot be told: {error}"
            self._parts.events.emit(Event(kind=Kind.WORKER_ERROR, level=Level.WARNING, message=text))
            return
        if made and entry:
            await asyncio.wrap_future(ledger.settle(pending, _event(entry, pending, "it was made before a crash")))
        else:
            await asyncio.wrap_future(ledger.begin(None))

    def _was_made(self, entry: Entry, by: str) -> bool:
        workspace = self._workspace(entry)
        return self._parts.git.holds(workspace, by, self._parts.git.tip(workspace))

    def _entry(self, task_id: int, reapply: bool) -> Entry:
        """The newest commit of the task that stands, or with `reapply` that was taken back; else the newest of all."""
        self._parts.queue.get(task_id)
        entries = self._parts.ledger.page(500, task_id=task_id)
        if not entries:
            raise undo_words.no_commit(task_id)
        integrated = [entry for entry in entries if entry.integrated]
        if not integrated:
            raise undo_words.not_integrated(entries[0])
        return next((entry for entry in integrated if (entry.reverted_by is not None) == reapply), integrated[0])

    def _workspace(self, entry: Entry) -> Workspace:
        task = self._parts.queue.get(entry.task_id)
        repo, base = task.spec.repo and entry.repo, entry.target or task.spec.base
        return self._parts.git.open(repo, base, task.id, task.spec.description, task.created_at)

    async def _done(self, case: _Case) -> Reverted:
        git, ledger, entry = self._parts.git, self._parts.ledger, case.entry
        while True:
            tip = await asyncio.to_thread(git.tip, case.workspace)
            taken = await self._to_undo(case, tip)
            draft = await self._draft(case, taken, tip)
            judged = FORCED if case.force else await self._judged(case, draft, tip)
            made = await asyncio.to_thread(git.reworded, case.workspace, draft, self._message(case, taken, judged))
            pending = Pending(entry=entry.id, by=made.id, reapply=case.reapply)
            await asyncio.wrap_future(ledger.begin(pending))
            if await asyncio.to_thread(git.advance, case.workspace, made, tip):
                break
        await asyncio.wrap_future(ledger.settle(pending, _event(entry, pending, judged)))
        await asyncio.to_thread(git.push, case.workspace, case.branch)
        return Reverted(
            task_id=entry.task_id,
            commit=entry.commit,
            subject=entry.subject,
            by=made.id,
            branch=case.branch,
            repo=entry.repo,
            judged=judged,
            forced=case.force,
            reapplied=case.reapply,
        )

    async def _to_undo(self, case: _Case, tip: str) -> str:
        """The commit to undo: the agent's, or the revert of it."""
        git, entry, workspace = self._parts.git, case.entry, case.workspace
        if not await asyncio.to_thread(git.holds, workspace, entry.commit, tip):
            raise undo_words.rewritten(entry, case.branch)
        by = await asyncio.to_thread(git.reverted_by, workspace, entry.commit, tip)
        if by != entry.reverted_by:
            found = Pending(entry=entry.id, by=by or entry.reverted_by or "", reapply=by is None)
            await asyncio.wrap_future(self._parts.ledger.settle(found, _event(entry, found, "found in the history")))
        if case.reapply:
            if by is None:
                raise undo_words.stands(entry)
            return by
        if by is not None:
            raise undo_words.taken_back_already(entry, by)
        return entry.commit

    async def _draft(self, case: _Case, taken: str, tip: str) -> Commit:
        git, workspace = self._parts.git, case.workspace
        try:
            draft = await asyncio.to_thread(git.revert, workspace, taken, tip, self._message(case, taken, ""))
        except MergeConflict as clash:
            later = await asyncio.to_thread(git.later, workspace, taken, tip, clash.paths)
            raise undo_words.conflict(case.entry, clash.paths, later) from None
        if draft.tree == (await asyncio.to_thread(git.describe, workspace, tip)).tree:
            raise undo_words.nothing_left(case.entry, case.branch)
        return draft

    async def _judged(self, case: _Case, draft: Commit, tip: str) -> str:
        """A sentence on the tests that passed; raises NotReverted where one is broken, or none can be run."""
        git, entry, workspace = self._parts.git, case.entry, case.workspace
        tree, before = [await asyncio.to_thread(git.tree, workspace, each) for each in (draft.id, tip)]
        changed = await asyncio.to_thread(git.changed, workspace, tip, draft.id)
        trees = Trees(tip=before, reverted=tree, changed=changed, whole_tree=not workspace.is_own)
        tests = await asyncio.to_thread(trees.reached, self._parts.imports)
        opened = await self._parts.open_suite() if tests else Opened(suite=None)
        if tests and opened.suite is None:
            raise undo_words.not_judged(entry, opened.why_not, reapply=case.reapply)
        packages = await asyncio.to_thread(self._packages, entry, workspace)
        judge = RevertJudge(suite=opened.suite, limits=self._limits(entry.task_id), packages=packages)
        try:
            judged = await judge.judge(trees, tests)
        except SandboxError as error:
            raise undo_words.not_judged(entry, str(error), reapply=case.reapply) from None
        if judged.broken:
            paths = changed | {name.partition("::")[0] for name in judged.broken if "::" in name}
            later = await asyncio.to_thread(git.later, workspace, entry.commit, tip, paths)
            raise undo_words.breaks(entry, judged.broken, later, reapply=case.reapply)
        return judged.sentence

    def _limits(self, task_id: int) -> RunLimits:
        return self._parts.queue.get(task_id).spec.limits.over(self._parts.limits).of_run()

    def _packages(self, entry: Entry, workspace: Workspace) -> dict[str, str]:
        work = self._parts.steps.last_work(entry.task_id, entry.attempt)
        landed = landed_packages.known(self._parts.state) if workspace.is_own else {}
        return {**landed, **(work.packages if work else self._noted(entry, workspace))}

    def _noted(self, entry: Entry, workspace: Workspace) -> Mapping[str, str]:
        """The packages by the note beside the commit: steps of a task that ended long ago are pruned, notes are not."""
        text = self._parts.git.read_note(workspace, entry.commit)
        try:
            return evidence.read(text).packages if text else {}
        except evidence.UnreadableNote:
            return {}

    def _message(self, case: _Case, taken: str, judged: str) -> CommitMessage:
        entry = case.entry
        return revert_message(entry.subject, taken, entry.task_id, judged, reapply=case.reapply)


def _event(entry: Entry, done: Pending, judged: str) -> Event:
    what = "brings the work of" if done.reapply else "takes back"
    text = f"{done.by[:10]} {what} {entry.commit[:10]} ({entry.subject}): {judged}"
    data = {"commit": entry.commit, "by": done.by, "reapplied": done.reapply}
    return Event(kind=Kind.REVERTED, task_id=entry.task_id, message=text, data=data)
