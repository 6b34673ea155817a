"""Reverts what a task integrated, by a new commit on top. History is never rewritten.

The order is that of integration. Under the repository's lock, the change is undone on the target's tip, the tree is
judged, the target is moved by compare-and-swap, and then the ledger is updated. The revert is announced in the ledger
before the branch is moved, so that `recover` can tell after a crash whether the revert was made. If the ledger and git
differ, as after a restore from a backup, git is right and the ledger is corrected.

The test run differs from a task's run in one point. A task's change may not touch tests, so the runner leaves such
edits out, but a revert removes the very tests that came with the change. Therefore the reverted tree itself is judged,
with its tests as if the owner had supplied them, and its failures are compared with the tip, where they may already
occur.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from shlex import quote

from nightshift.attempt import evidence, landed_packages
from nightshift.attempt.verify import OpenedSuite
from nightshift.core.code.dependencies import ImportCache, dependants
from nightshift.core.code.environments import EnvironmentStore
from nightshift.core.code.tree import Tree, read_text
from nightshift.core.errors import GitError, MergeConflict, NotReverted, SandboxError
from nightshift.core.events import Emitter, Event, Kind, Level, RevertedData
from nightshift.core.isolation import RunLimits
from nightshift.core.ports import Suite
from nightshift.core.program import format_command
from nightshift.core.tasks.commit_message import FORCED, CommitMessage, Reverted, revert_message
from nightshift.core.tasks.projects import WHOLE, Scope, scopes_of
from nightshift.core.tasks.repository_settings import RepositorySettings
from nightshift.core.tasks.revisions import Commit, LogLine, Workspace
from nightshift.core.tasks.task import Language, Limits, TaskSpec
from nightshift.core.tasks.verdicts import Result, SuiteJob, Verdict
from nightshift.core.text.faults import name_first
from nightshift.git.manager import GitManager
from nightshift.queue.manager import QueueManager
from nightshift.storage.db.commit_ledger import CommitLedger, Pending
from nightshift.storage.db.event_log import EventLog
from nightshift.storage.db.state_store import Commit as Entry
from nightshift.storage.db.state_store import StateStore
from nightshift.storage.db.step_store import StepStore
from nightshift.verdict.languages import language_of


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitServices:
    """The services for reverting, integrating and discarding recorded commits.

    `open_suite` is called only if tests are to be run. `read_repository_settings` returns the owner's settings for a
    task's repository. `seal_key` seals notes.
    """

    git: GitManager
    queue: QueueManager
    state: StateStore
    steps: StepStore
    events: EventLog
    ledger: CommitLedger
    limits: Limits
    open_suite: Callable[[], Awaitable[OpenedSuite]]
    merge_locks: defaultdict[Path, asyncio.Lock]
    imports: ImportCache = field(default_factory=ImportCache)
    read_repository_settings: Callable[[TaskSpec], RepositorySettings] = lambda _spec: RepositorySettings()
    seal_key: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Revert:
    """A request to revert the commit of a ledger entry on the workspace's target.

    If `reapply` is set, the request is to undo that revert.
    """

    entry: Entry
    workspace: Workspace
    force: bool
    reapply: bool

    @property
    def branch(self) -> str:
        return (self.workspace.target or "").removeprefix("refs/heads/")


class Reverter:
    """Reverts and reapplies commits, one at a time, on the workers' event loop."""

    def __init__(self, services: CommitServices) -> None:
        self._services = services
        self._alone = asyncio.Lock()

    async def revert(self, task_id: int, *, force: bool = False, reapply: bool = False) -> Reverted:
        """Revert the commit that a task integrated last; with `reapply`, bring a reverted commit back.

        Args:
            task_id: the task.
            force: True to revert without running the tests.
            reapply: True to undo a revert.

        Raises:
            UnknownTask: there is no such task.
            NotReverted: the commit cannot, need not or should not be reverted; the message says why.
            GitError: the repository cannot be used.
        """
        async with self._alone:
            await self._recover()
            entry = await asyncio.to_thread(self._entry, task_id, reapply)
            workspace = await asyncio.to_thread(self._workspace, entry)
            if why := await asyncio.to_thread(self._services.git.find_obstacle, workspace):
                raise branch_left_alone(entry, why)
            async with self._services.merge_locks[workspace.git_dir]:
                return await self._finish(_Revert(entry=entry, workspace=workspace, force=force, reapply=reapply))

    async def recover(self) -> None:
        """Record a revert during which the process died, if its branch was moved; else forget it."""
        async with self._alone:
            await self._recover()

    async def _recover(self) -> None:
        ledger = self._services.ledger
        pending = await asyncio.to_thread(ledger.pending)
        entry = await asyncio.to_thread(ledger.entry, pending.entry) if pending else None
        if pending is None:
            return
        try:
            is_made = entry is not None and await asyncio.to_thread(self._was_made, entry, pending.by)
        except GitError as error:
            text = f"whether {pending.by[:10]} was made before a crash is not known: {error}"
            Emitter(self._services.events.emit).emit(Kind.WORKER_ERROR, text, level=Level.WARNING)
            return
        if is_made and entry:
            await asyncio.wrap_future(ledger.settle(pending, _event(entry, pending, "it was made before a crash")))
        else:
            await asyncio.wrap_future(ledger.begin(None))

    def _was_made(self, entry: Entry, by: str) -> bool:
        workspace = self._workspace(entry)
        return self._services.git.holds(workspace, by, self._services.git.tip(workspace))

    def _entry(self, task_id: int, reapply: bool) -> Entry:
        """Return the task's newest integrated commit that is not reverted; with `reapply`, the newest reverted commit.

        If there is no such commit, return the newest integrated commit.
        """
        self._services.queue.get(task_id)
        entries = self._services.ledger.page(500, task_id=task_id)
        if not entries:
            raise no_commit(task_id)
        integrated = [entry for entry in entries if entry.integrated]
        if not integrated:
            raise is_draft(entries[0]) if entries[0].is_draft else not_integrated(entries[0])
        return next((entry for entry in integrated if (entry.reverted_by is not None) == reapply), integrated[0])

    def _workspace(self, entry: Entry) -> Workspace:
        task = self._services.queue.get(entry.task_id)
        repo, base = task.spec.repo and entry.repo, entry.target or task.spec.base
        return self._services.git.open(repo, base, task.id, task.spec.description, task.created_at)

    async def _finish(self, revert: _Revert) -> Reverted:
        git, ledger, entry = self._services.git, self._services.ledger, revert.entry
        while True:
            tip = await asyncio.to_thread(git.tip, revert.workspace)
            taken = await self._to_undo(revert, tip)
            draft = await self._draft(revert, taken, tip)
            judged = FORCED if revert.force else await self._judge(revert, draft, tip)
            commit = await asyncio.to_thread(git.reword, revert.workspace, draft, self._message(revert, taken, judged))
            pending = Pending(entry=entry.id, by=commit.id, reapply=revert.reapply)
            await asyncio.wrap_future(ledger.begin(pending))
            if await asyncio.to_thread(git.advance, revert.workspace, commit, tip):
                break
        await asyncio.wrap_future(ledger.settle(pending, _event(entry, pending, judged)))
        await asyncio.to_thread(git.push, revert.workspace, revert.branch)
        return Reverted(
            task_id=entry.task_id,
            commit=entry.commit,
            subject=entry.subject,
            by=commit.id,
            branch=revert.branch,
            repo=entry.repo,
            judged=judged,
            forced=revert.force,
            reapplied=revert.reapply,
        )

    async def _to_undo(self, revert: _Revert, tip: str) -> str:
        """Return the commit to undo: the task's commit, or its revert with `reapply`.

        If git and the ledger differ about the revert, the ledger is corrected.
        """
        git, entry, workspace = self._services.git, revert.entry, revert.workspace
        if not await asyncio.to_thread(git.holds, workspace, entry.commit, tip):
            raise history_rewritten(entry, revert.branch)
        by = await asyncio.to_thread(git.find_revert, workspace, entry.commit, tip)
        if by != entry.reverted_by:
            pending = Pending(entry=entry.id, by=by or entry.reverted_by or "", reapply=by is None)
            await asyncio.wrap_future(
                self._services.ledger.settle(pending, _event(entry, pending, "found in the history"))
            )
        if revert.reapply:
            if by is None:
                raise never_reverted(entry)
            return by
        if by is not None:
            raise refuse_second_revert(entry, by)
        return entry.commit

    async def _draft(self, revert: _Revert, taken: str, tip: str) -> Commit:
        git, workspace = self._services.git, revert.workspace
        try:
            draft = await asyncio.to_thread(git.revert, workspace, taken, tip, self._message(revert, taken, ""))
        except MergeConflict as clash:
            later = await asyncio.to_thread(git.later, workspace, taken, tip, clash.paths)
            raise conflicts_with_later(revert.entry, clash.paths, later) from None
        if draft.tree == (await asyncio.to_thread(git.describe, workspace, tip)).tree:
            raise nothing_left(revert.entry, revert.branch)
        return draft

    async def _judge(self, revert: _Revert, draft: Commit, tip: str) -> str:
        """Judge the draft of a revert; return a sentence about the tests that passed.

        Raises:
            NotReverted: the revert breaks tests, or tests cannot be run.
        """
        git, entry, workspace = self._services.git, revert.entry, revert.workspace
        tree, before = [await asyncio.to_thread(git.tree, workspace, each) for each in (draft.id, tip)]
        changed = await asyncio.to_thread(git.list_changed_paths, workspace, tip, draft.id)
        trees = RevertTrees(tip=before, reverted=tree, changed=changed, whole_tree=not workspace.is_own)
        parts = await asyncio.to_thread(trees.parts) if workspace.is_own else [(WHOLE, trees)]
        reached = [(s, part, await asyncio.to_thread(part.reached, self._services.imports)) for s, part in parts]
        tests = any(reached_tests for _, _, reached_tests in reached)
        opened = await self._services.open_suite() if tests else OpenedSuite(suite=None)
        if tests and opened.suite is None:
            raise not_judged(entry, opened.why_not, reapply=revert.reapply)
        own = await asyncio.to_thread(self._packages, entry, workspace)
        limits, passed, broken = self._limits(entry.task_id), 0, list[str]()
        try:
            for scope, part, test_paths in reached:
                landed = landed_packages.read_landed(self._services.state, scope.project) if workspace.is_own else {}
                judge = RevertJudge(
                    suite=opened.suite, limits=limits, packages={**landed, **own}, environments=opened.environments
                )
                count, names = await judge.judge(part, test_paths)
                passed += count
                broken += [scope.full(name) if " " not in name else name for name in names]
        except SandboxError as error:
            raise not_judged(entry, str(error), reapply=revert.reapply) from None
        if broken:
            paths = changed | {name.partition("::")[0] for name in broken if " " not in name}
            later = await asyncio.to_thread(git.later, workspace, entry.commit, tip, paths)
            raise breaks_tests(entry, broken, later, reapply=revert.reapply)
        return describe_passed(passed)

    def _limits(self, task_id: int) -> RunLimits:
        return self._services.queue.get(task_id).spec.limits.over(self._services.limits).of_run()

    def _packages(self, entry: Entry, workspace: Workspace) -> Mapping[str, str]:
        """Return the packages that were used when the task was judged."""
        state = self._services.steps.last_work(entry.task_id, entry.attempt)
        return state.packages if state else self._read_packages(entry, workspace)

    def _read_packages(self, entry: Entry, workspace: Workspace) -> Mapping[str, str]:
        """Return the packages from the commit's note: steps of old tasks are pruned, notes are not."""
        text = self._services.git.read_note(workspace, entry.commit)
        try:
            return evidence.read_note(text).packages if text else {}
        except evidence.UnreadableNote:
            return {}

    def _message(self, revert: _Revert, taken: str, judged: str) -> CommitMessage:
        entry = revert.entry
        return revert_message(entry.subject, taken, entry.task_id, judged, reapply=revert.reapply)


def _event(entry: Entry, done: Pending, judged: str) -> Event:
    what = "reapplies" if done.reapply else "reverts"
    text = f"{done.by[:10]} {what} {entry.commit[:10]} ({entry.subject}): {judged}"
    data = RevertedData(commit=entry.commit, by=done.by, reapplied=done.reapply)
    return Event(kind=Kind.REVERTED, task_id=entry.task_id, message=text, data=data)


# The tests that a revert could break: how they are chosen and run.


BATCH = 20
"""Number of test files in one run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RevertTrees:
    """The trees to compare: the tip and the reverted tree, with the paths at which they differ.

    With `whole_tree`, as in the owner's repositories, a test with an unknown closure counts as depending on every file.
    """

    tip: Tree
    reverted: Tree
    changed: Collection[str]
    whole_tree: bool

    def parts(self) -> list[tuple[Scope, RevertTrees]]:
        """Return the workspace's projects in which the trees differ, with trees and paths limited to each project."""
        differing_parts = list[tuple[Scope, RevertTrees]]()
        for scope in scopes_of(self.tip, self.reverted):
            tip, reverted = scope.of(self.tip), scope.of(self.reverted)
            changed = {path for each in self.changed if (path := scope.inside(each))}
            if mine := changed & (tip.entries().keys() | reverted.entries().keys()):
                differing_parts.append((scope, replace(self, tip=tip, reverted=reverted, changed=mine)))
        return differing_parts

    def reached(self, imports: ImportCache) -> frozenset[str]:
        """Return the test files in the reverted tree that can see one of the changed paths."""
        return dependants(self.reverted, self.changed, imports, unknown=self.whole_tree)


@dataclass(frozen=True, slots=True, kw_only=True)
class RevertJudge:
    """Runs the tests that a revert could break.

    `packages` maps names to the exact versions that the tests may need. `suite` may be None if there are no tests.
    """

    suite: Suite | None
    limits: RunLimits
    packages: Mapping[str, str]
    environments: EnvironmentStore | None = None

    async def judge(self, trees: RevertTrees, tests: Collection[str]) -> tuple[int, list[str]]:
        """Judge a revert by running these test files.

        Returns:
            The number of passed tests, and the ids of tests that fail because of the revert, or why a run proved
            nothing.

        Raises:
            SandboxError: nothing could be run.
        """
        passed, broken = 0, dict[str, None]()
        for language, paths in _batches(tests):
            verdict = await self._run(trees, trees.reverted, paths, language)
            passed += verdict.count(Result.PASSED)
            if bad := _faults(verdict):
                failing = [path for path in paths if any(name.startswith(f"{path}::") for name in bad)] or paths
                before = _faults(await self._run(trees, trees.tip, failing, language))
                broken |= dict.fromkeys(sorted(bad - before))
        return passed, list(broken)

    async def _run(self, trees: RevertTrees, tree: Tree, paths: list[str], language: Language) -> Verdict:
        there = tree.entries()
        job = SuiteJob(
            base=tree,
            change={},
            given={path: read_text(tree, path) for path in paths if path in there},
            language=language,
            packages=self.packages,
            environment=(await self.environments.of(tree)).digest if self.environments else "",
            whole_tree=trees.whole_tree,
            limits=self.limits,
        )
        assert self.suite, "there are tests, so a suite was opened"
        return await self.suite.judge(job)


def _batches(paths: Collection[str]) -> Iterator[tuple[Language, list[str]]]:
    for language in Language:
        mine = sorted(path for path in paths if (language_of(path) or Language.JAVASCRIPT) is language)
        yield from ((language, mine[start : start + BATCH]) for start in range(0, len(mine), BATCH))


def describe_passed(count: int) -> str:
    """Return the sentence about the tests of a revert that its commit message contains."""
    if not count:
        return "No test of other work reaches its files."
    return f"{count} test{'s that reach' if count > 1 else ' that reaches'} its files passed."


def _faults(verdict: Verdict) -> frozenset[str]:
    """Return the failing tests of a failed run; if none failed, the reason why the run proved nothing."""
    return frozenset() if verdict.passed else verdict.failing or frozenset({verdict.reason})


# Error messages for the owner.


SHOWN = 10
"""Maximum number of tests or commits that a message names."""


def no_commit(task_id: int) -> NotReverted:
    """Return the error for a task that made no commit."""
    return NotReverted(f"task {task_id} made no commit, so there is nothing to revert")


def not_integrated(entry: Entry) -> NotReverted:
    """Return the error for a commit that was never integrated, whether its branch still exists or was discarded."""
    number = entry.task_id
    if entry.discarded_at:
        return NotReverted(f"task {number} was not integrated: its branch {entry.branch} was discarded")
    return NotReverted(
        f"task {number} was not integrated: its commit {entry.commit[:10]} is on branch {entry.branch} alone\n"
        f"`{format_command(f'discard {number}')}` removes the branch\n"
        f"if you merged it yourself, `git -C {quote(entry.repo)} revert {entry.commit[:10]}` reverts it"
    )


def is_draft(entry: Entry) -> NotReverted:
    """Return the error for a draft, which did not pass and was not integrated."""
    return NotReverted(
        f"task {entry.task_id} left a draft, which did not pass and was not integrated: there is nothing to revert\n"
        f"`{format_command(f'discard {entry.task_id}')}` deletes its branch {entry.branch}"
    )


def branch_left_alone(entry: Entry, why: str) -> NotReverted:
    """Return the error for a checked-out branch, which the daemon may not move."""
    reason = why.partition(";")[0]
    return NotReverted(
        f"{reason}, and Nightshift never touches a checked-out branch\n`git revert {entry.commit[:10]}` does it there"
    )


def history_rewritten(entry: Entry, branch: str) -> NotReverted:
    """Return the error for a commit that is no longer in the history of its branch."""
    return NotReverted(f"{entry.commit[:10]} of task {entry.task_id} is not in the history of {branch} any more")


def refuse_second_revert(entry: Entry, by: str) -> NotReverted:
    """Return the error for work that is already reverted."""
    number = entry.task_id
    return NotReverted(
        f"task {number} is reverted already, by {by[:10]}; `{format_command(f'reapply {number}')}` reapplies it"
    )


def never_reverted(entry: Entry) -> NotReverted:
    """Return the error for a commit that cannot be reapplied because it was never reverted."""
    return NotReverted(f"the work of task {entry.task_id} was not reverted, so there is nothing to reapply")


def nothing_left(entry: Entry, branch: str) -> NotReverted:
    """Return the error for work that later commits have already undone."""
    return NotReverted(f"{branch} has nothing left of what task {entry.task_id} changed")


def conflicts_with_later(entry: Entry, paths: Sequence[str], later: Sequence[LogLine]) -> NotReverted:
    """Return the error for a revert that conflicts with later commits."""
    return NotReverted(
        "\n".join([
            f"later commits changed the same lines in {name_first(paths, SHOWN)}; nothing was changed",
            *_commits(later),
            f"revert those first, or do it by hand with `git -C {quote(entry.repo)} revert {entry.commit[:10]}`",
        ])
    )  # fmt: skip


def breaks_tests(entry: Entry, broken: Sequence[str], later: Sequence[LogLine], *, reapply: bool) -> NotReverted:
    """Return the error for a revert that makes other tests fail."""
    how, option = ("with", "reapply") if reapply else ("without", "revert")
    return NotReverted(
        "\n".join([
            f"{how} it other tests fail, so nothing was changed: {name_first(broken, SHOWN)}",
            *(["later commits touch its files or those tests:", *_commits(later)] if later else []),
            f"`{format_command(f'{option} {entry.task_id} --force')}` does it anyway",
        ])
    )  # fmt: skip


def not_judged(entry: Entry, why: str, *, reapply: bool) -> NotReverted:
    """Return the error for tests that cannot be run here."""
    option = "reapply" if reapply else "revert"
    return NotReverted(
        f"the tests that its files reach cannot be run: {why}\n"
        f"`{format_command(f'{option} {entry.task_id} --force')}` does it without them"
    )


def _commits(lines: Sequence[LogLine]) -> list[str]:
    shown = [f"  {line.id[:10]} {_whose(line)}: {line.subject}" for line in lines[:SHOWN]]
    return [*shown, *([f"  and {len(lines) - SHOWN} more"] if len(lines) > SHOWN else [])]


def _whose(line: LogLine) -> str:
    return f"by {line.author}" if line.task_id is None else f"of task {line.task_id}"
