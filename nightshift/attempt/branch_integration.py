"""Integrates or discards the commit that waits on a task's own branch, at the owner's request.

A commit waits if the settings keep it from its target, if it belongs to one of several forks of a task, or if it is a
draft. Integrating it works as for any other commit. Under the repository's lock it is rebased onto the target's tip,
the merged tree is judged by the tests that its note names, and the target is moved by compare-and-swap. Git is changed
before the database, as in `attempt.revert`: the move is announced in the database before it is made, so that `recover`
can record it after a crash. Where the ledger differs from git, git is right.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from nightshift.attempt import landed_packages, waiting_commit
from nightshift.attempt.candidate import JudgedChange, differing, find_fault
from nightshift.attempt.commit_record import list_changed_files
from nightshift.attempt.evidence import Note, Sealed, UnreadableNote, check_seal, note_text, read_note
from nightshift.attempt.regression import WithRegression
from nightshift.attempt.revert import CommitServices
from nightshift.attempt.uninterrupted import run_to_end
from nightshift.attempt.verify import Standing, belongs, choose_environment, plan_rerun
from nightshift.attempt.waiting_commit import Waiting
from nightshift.core.code.repository_commands import Found
from nightshift.core.code.tree import Tree, read_text
from nightshift.core.errors import BranchRefused, CommandBlocked, GitError, MergeConflict, SandboxError
from nightshift.core.events import CommitData, Emitter, Event, Kind, Level
from nightshift.core.tasks.commit_message import FORCED, Discarded, Integrated, result_message, subject_of, trailers
from nightshift.core.tasks.projects import WHOLE
from nightshift.core.tasks.revisions import Commit, LogLine
from nightshift.core.tasks.states import OPEN
from nightshift.core.tasks.task import Change
from nightshift.core.tasks.verdicts import Result, Verdict
from nightshift.storage.db.commit_ledger import PendingIntegration
from nightshift.storage.db.commit_signs import Signs
from nightshift.storage.db.state_store import Commit as Entry
from nightshift.verdict.languages.repository_commands.find import find


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """The commit to which the target will be moved. `note` is None if no test run supports the commit."""

    commit: Commit
    judged: str
    note: Note | None = None
    verdict: Verdict | None = None

    @property
    def label(self) -> str:
        """The label of the commit's evidence; empty if no test run supports the commit."""
        return str(self.note.evidence.label) if self.note else ""


class BranchIntegrator:
    """Integrates and discards waiting commits, one at a time, on the workers' event loop."""

    def __init__(self, services: CommitServices) -> None:
        self._services = services
        self._alone = asyncio.Lock()

    async def integrate(self, task_id: int, *, force: bool = False) -> Integrated:
        """Integrate the commit that waits on a task's branch; does nothing if it is already integrated.

        Args:
            task_id: the task.
            force: True to integrate the commit without a test run, even if one would be needed.

        Raises:
            UnknownTask: there is no such task.
            BranchRefused: the commit stays on its branch; the message says why.
        """
        async with self._alone:
            await self._recover()
            entry = await asyncio.to_thread(self._entry, task_id)
            waiting = await asyncio.to_thread(self._waiting, entry)
            try:
                return await self._enter_found(waiting) or await self._land(waiting, force=force)
            except BranchRefused:
                raise
            except GitError as error:
                raise waiting_commit.stays(waiting, str(error)) from error

    async def discard(self, task_id: int) -> Discarded:
        """Remove the branch on which a task's commit waits; does nothing if the branch is already gone.

        Raises:
            UnknownTask: there is no such task.
            BranchRefused: the branch stays; the message says why.
        """
        async with self._alone:
            await self._recover()
            entry = await asyncio.to_thread(self._entry, task_id)
            if entry.integrated or await self._is_merged(entry):
                raise waiting_commit.is_integrated(entry)
            held = await asyncio.to_thread(self._services.git.branch_at, _repo(entry), entry.branch)
            if held == entry.commit:
                await run_to_end(self._remove(entry))
            elif held:
                raise waiting_commit.holds_others(entry, await asyncio.to_thread(self._newest, entry, held))
            elif not entry.discarded_at:
                await asyncio.wrap_future(self._services.ledger.discard(entry))
            return _describe_discarded(entry, already=held is None)

    async def recover(self) -> None:
        """Record an integration during which the process died, if its target was moved; else forget it."""
        async with self._alone:
            await self._recover()

    async def _recover(self) -> None:
        ledger = self._services.ledger
        pending = await asyncio.to_thread(ledger.integrating)
        if pending is None:
            return
        try:
            moved = await asyncio.to_thread(self._find_moved, pending)
        except GitError as error:
            text = f"whether {pending.commit[:10]} was integrated before a crash is not known: {error}"
            Emitter(self._services.events.emit).emit(Kind.WORKER_ERROR, text, level=Level.WARNING)
            return
        if moved:
            await self._record(moved, pending)
        else:
            await asyncio.wrap_future(ledger.begin_integrating(None))

    def _find_moved(self, pending: PendingIntegration) -> Waiting | None:
        """Return the waiting commit of an announced integration if its target was moved; else None."""
        git, entry = self._services.git, self._services.ledger.entry(pending.entry)
        if entry is None:
            return None
        waiting = self._waiting(entry, pending.target)
        is_moved = git.holds(waiting.workspace, pending.commit, git.tip(waiting.workspace))
        return waiting if is_moved else None

    # Methods that find and check the waiting commit.

    def _entry(self, task_id: int) -> Entry:
        """Return the newest commit of a task, which must neither be reverted nor still be worked on."""
        task = self._services.queue.get(task_id)
        entries = self._services.ledger.page(1, task_id=task_id)
        if not entries:
            raise BranchRefused(f"task {task_id} made no commit, so nothing waits on a branch")
        (entry,) = entries
        if entry.reverted_by:
            raise waiting_commit.was_reverted(entry)
        if not entry.integrated and task.status in OPEN:
            raise waiting_commit.is_open(task, entry)
        if not entry.integrated and task.hub_id is not None:
            raise waiting_commit.is_the_hubs(task, entry)
        return entry

    def _waiting(self, entry: Entry, target: str = "") -> Waiting:
        """Return the waiting commit with its target.

        The target is, in this order: `target`, the task's base, the target in the repository's settings, and the target
        when the commit was made.
        """
        git, task = self._services.git, self._services.queue.get(entry.task_id)
        repo = entry.repo if task.spec.repo else None
        try:
            base = (
                target
                or task.spec.base
                or self._services.read_repository_settings(task.spec).target
                or entry.target
                or None
            )
            workspace = git.open(repo, base, task.id, task.spec.description, task.created_at, mark=task.mark)
            return Waiting(task=task, entry=entry, workspace=workspace, facts=git.describe(workspace, entry.commit))
        except GitError as error:
            raise BranchRefused(f"{entry.commit[:10]} stays on {entry.branch}: {error}") from error

    async def _enter_found(self, waiting: Waiting) -> Integrated | None:
        """Record a commit that is already in the target; return None if it is not.

        The owner has merged the commit, or a crash prevented the record of its integration.
        """
        commit = await asyncio.to_thread(self._find_in_target, waiting)
        if commit is None:
            return None
        why = "It was found in the target's history."
        done = await asyncio.to_thread(self._describe, waiting, commit, waiting.entry.label, why)
        is_recorded = waiting.entry.integrated and commit.id == waiting.entry.commit
        ended = () if is_recorded else await run_to_end(self._record(waiting, done))
        return _describe_integrated(waiting, done, ended, already=True)

    async def _is_merged(self, entry: Entry) -> bool:
        """Check whether the owner merged the waiting commit; False if the repository cannot be read."""
        try:
            return await self._enter_found(await asyncio.to_thread(self._waiting, entry)) is not None
        except GitError:
            return False

    def _find_in_target(self, waiting: Waiting) -> Commit | None:
        git, workspace = self._services.git, waiting.workspace
        if workspace.target is None:
            return None
        if git.holds(workspace, waiting.entry.commit, git.tip(workspace)):
            return waiting.commit
        return None if waiting.is_draft else git.find_landed(workspace)

    def _check_branch(self, waiting: Waiting) -> None:
        """Refuse the integration if something about the branch or the target forbids it.

        That is so if the branch is gone or has other commits, if the target cannot be moved, or if another fork of the
        task is already integrated.
        """
        entry = waiting.entry
        held = self._services.git.branch_at(waiting.workspace, entry.branch)
        if held is None:
            raise waiting_commit.branch_is_gone(entry)
        if held != entry.commit:
            raise waiting_commit.holds_others(entry, self._newest(entry, held))
        for number in self._services.queue.list_held_beside(entry.task_id):
            if any(
                fork_entry.integrated and not fork_entry.reverted_by
                for fork_entry in self._services.ledger.page(1, task_id=number)
            ):
                raise waiting_commit.other_fork_is_integrated(entry, number)
        if why := self._services.git.find_obstacle(waiting.workspace):
            raise waiting_commit.target_not_moved(waiting, why)

    def _newest(self, entry: Entry, held: str) -> LogLine:
        return self._services.git.recent_commits(_repo(entry), 1, held)[0]

    async def _remove(self, entry: Entry) -> None:
        git = self._services.git
        if not await asyncio.to_thread(git.remove_branch, _repo(entry), entry.branch, entry.commit):
            raise BranchRefused(f"{entry.branch} is checked out, and Nightshift never touches a checked-out branch")
        await asyncio.wrap_future(self._services.ledger.discard(entry))

    # Methods that judge the waiting commit and move the target.

    async def _land(self, waiting: Waiting, *, force: bool) -> Integrated:
        git, workspace = self._services.git, waiting.workspace
        await asyncio.to_thread(self._check_branch, waiting)
        async with self._services.merge_locks[workspace.git_dir]:
            while True:
                tip = await asyncio.to_thread(git.tip, workspace)
                rebased = await self._rebase(waiting, tip)
                candidate = await self._judge(waiting, rebased, force=force)
                await asyncio.to_thread(self._check_candidate, waiting, candidate)
                pending = await asyncio.to_thread(
                    self._describe, waiting, candidate.commit, candidate.label, candidate.judged
                )
                ended = await run_to_end(self._move(waiting, candidate, pending))
                if ended is not None:
                    break
        await self._push(waiting, candidate.commit.id)
        return replace(_describe_integrated(waiting, pending, ended), forced=candidate.note is None)

    async def _rebase(self, waiting: Waiting, tip: str) -> Commit:
        git, workspace = self._services.git, waiting.workspace
        commit = waiting.commit
        if commit.parent != tip:
            try:
                commit = await asyncio.to_thread(git.rebase, workspace, commit, tip)
            except MergeConflict as clash:
                raise waiting_commit.conflicts(waiting, clash.paths) from None
        if commit.tree == (await asyncio.to_thread(git.describe, workspace, tip)).tree:
            paths = await asyncio.to_thread(git.list_changed_paths, workspace, waiting.commit.parent, waiting.commit.id)
            later = await asyncio.to_thread(git.later, workspace, waiting.commit.parent, tip, paths)
            raise waiting_commit.brings_nothing(waiting, later)
        return commit

    async def _judge(self, waiting: Waiting, rebased: Commit, *, force: bool) -> Candidate:
        """Return the commit with its final message, and the note of the run that supports the commit.

        A commit whose parent is still the commit on which it was judged is accepted unchanged. Any other commit is
        judged again or, with `force`, accepted without a run and therefore without a note.
        """
        if rebased.id == waiting.entry.commit and not waiting.is_draft:
            try:
                note = await asyncio.to_thread(self._read_note, waiting)
                return Candidate(commit=rebased, judged="Its run is valid: the target had no newer work.", note=note)
            except BranchRefused:
                if not force:
                    raise
        if force:
            return Candidate(commit=await self._reword(waiting, rebased, "", FORCED), judged=FORCED)
        note = await asyncio.to_thread(lambda: self._plan(self._read_note(waiting), waiting, rebased))
        verdict, environment = await self._run(note, waiting, rebased)
        if not verdict.holds:
            raise waiting_commit.fails(waiting, verdict)
        commit = await self._reword(waiting, rebased, str(verdict.evidence.label))
        passed = verdict.count(Result.PASSED)
        note = replace(
            note, commit=commit.id, tree=commit.tree, evidence=verdict.evidence, passed=passed, environment=environment
        )
        what = f"{passed} test{'' if passed == 1 else 's'} passed" if verdict.results else verdict.reason
        with_newer = " together with newer work" if commit.parent != waiting.commit.parent else ""
        return Candidate(commit=commit, judged=f"{what}{with_newer}.", note=note, verdict=verdict)

    async def _reword(self, waiting: Waiting, commit: Commit, label: str, remark: str = "") -> Commit:
        git, workspace, message = self._services.git, waiting.workspace, waiting.facts.message
        message_trailers = trailers(message)
        if not remark and message_trailers.get("Verdict", "") == label and not waiting.is_draft:
            return commit
        anew = result_message(message, waiting.task.mark, label, remark)
        return await asyncio.to_thread(git.reword, workspace, commit, anew)

    def _read_note(self, waiting: Waiting) -> Note:
        """Return the note of the waiting commit, if it belongs to exactly this commit and its seal is not broken."""
        text = self._services.git.read_note(waiting.workspace, waiting.entry.commit)
        if text is None:
            raise waiting_commit.no_evidence(waiting, "it has no note")
        try:
            note = read_note(text)
        except UnreadableNote as error:
            raise waiting_commit.no_evidence(waiting, str(error)) from None
        if check_seal(text, self._services.seal_key) is Sealed.BROKEN:
            raise waiting_commit.no_evidence(waiting, "its note was altered after this home had sealed it")
        if wrong := [each for each in belongs(note, waiting.facts) if each.standing is Standing.FAILED]:
            raise waiting_commit.no_evidence(waiting, "; ".join(each.detail for each in wrong))
        return note

    def _plan(self, note: Note, waiting: Waiting, commit: Commit) -> Note:
        """Return the note adapted to the merged tree; its changed paths are those that differ from the parent."""
        git, scope = self._services.git, note.scope
        base, tree = (git.tree(_repo(waiting.entry), each) for each in (commit.parent, commit.id))
        inside = {scope.inside(path) for path in differing(base, tree)}
        tests = {*note.tests, *note.own_tests, *note.removed_tests}
        changed = tuple(sorted(path for path in inside if path is not None and path not in tests))
        return replace(note, commit=commit.id, tree=commit.tree, base=commit.parent, changed=changed)

    async def _run(self, note: Note, waiting: Waiting, commit: Commit) -> tuple[Verdict, str]:
        """Return the verdict on the merged tree, and the digest of the run's environment."""
        git, spec, where = self._services.git, waiting.task.spec, _repo(waiting.entry)
        trees = [note.scope.of(await asyncio.to_thread(git.tree, where, each)) for each in (commit.id, commit.parent)]
        plan = await asyncio.to_thread(plan_rerun, note, *trees)
        if plan.missing:
            raise waiting_commit.not_judged(waiting, f"it does not contain {', '.join(plan.missing)}")
        opened = await self._services.open_suite()
        if opened.suite is None:
            raise waiting_commit.not_judged(waiting, opened.why_not)
        declarations = await asyncio.to_thread(find, trees[1]) if spec.repo else Found()
        paths = declarations.choose_test_paths(self._services.read_repository_settings(spec).test_paths)
        suite = WithRegression(opened.suite, self._services.imports, test_paths=paths)
        try:
            environment = await choose_environment(opened, note, trees[1])
            job = replace(plan.job, regression=(), environment=environment, asked=spec.description)
            return await suite.judge(job), environment
        except (SandboxError, CommandBlocked) as error:
            raise waiting_commit.not_judged(waiting, str(error)) from None

    def _check_candidate(self, waiting: Waiting, candidate: Candidate) -> None:
        """Refuse a commit that differs from what was judged, or changes nothing; the last check before the move."""
        git, commit, note = self._services.git, candidate.commit, candidate.note
        scope = note.scope if note else WHOLE
        base, tree = (scope.of(git.tree(_repo(waiting.entry), each)) for each in (commit.parent, commit.id))
        change = _read_judged_texts(note, tree, base) if note else _texts(tree, differing(base, tree))
        judged = JudgedChange(parent=note.base if note else commit.parent, change=change, verdict=candidate.verdict)
        if fault := find_fault(git, replace(waiting.workspace, scope=scope), commit, judged):
            raise waiting_commit.stays(waiting, fault)

    def _describe(self, waiting: Waiting, commit: Commit, label: str, judged: str) -> PendingIntegration:
        subject = subject_of(self._services.git.describe(waiting.workspace, commit.id).message)
        return PendingIntegration(
            entry=waiting.entry.id, commit=commit.id, base=commit.parent, subject=subject,
            target=waiting.workspace.target or "", label=label, judged=judged,
        )  # fmt: skip

    async def _move(
        self, waiting: Waiting, candidate: Candidate, pending: PendingIntegration
    ) -> tuple[int, ...] | None:
        """Move the target and record the move.

        Returns:
            The ids of the forks that the move ended, or None if the target moved meanwhile.
        """
        git, ledger, workspace = self._services.git, self._services.ledger, waiting.workspace
        if candidate.note and candidate.commit.id != waiting.entry.commit:
            text = note_text(candidate.note, self._services.seal_key)
            await asyncio.to_thread(git.note, workspace, candidate.commit.id, text)
        await asyncio.wrap_future(ledger.begin_integrating(pending))
        is_moved = False
        try:
            is_moved = await asyncio.to_thread(git.advance, workspace, candidate.commit, candidate.commit.parent)
        finally:
            if not is_moved:
                await asyncio.wrap_future(ledger.begin_integrating(None))
        return await self._record(waiting, pending, candidate.verdict) if is_moved else None

    async def _record(
        self, waiting: Waiting, done: PendingIntegration, verdict: Verdict | None = None
    ) -> tuple[int, ...]:
        """Record that the target contains a commit.

        The ledger, the task, its sibling forks and the packages of the commit's project are updated.

        Returns:
            The ids of the sibling forks that this ended.
        """
        services, entry, ended = self._services, waiting.entry, list[int]()
        reason = f"integrated into {waiting.target} by its owner: {done.judged}"
        data = CommitData(commit=done.commit, branch=entry.branch)
        event = Event(
            kind=Kind.INTEGRATED, task_id=entry.task_id, data=data,
            message=f"{done.commit[:10]} is in {done.target}, as its owner asked: {done.judged}",
        )  # fmt: skip
        commit = Commit(id=done.commit, tree="", branch=entry.branch, parent=done.base)
        files = await asyncio.to_thread(list_changed_files, services.git, waiting.workspace, commit, waiting.task)
        await asyncio.wrap_future(
            services.ledger.settle_integration(
                done, event, files, _signs(entry, verdict),
                lambda conn: ended.extend(services.queue.integrate(conn, entry.task_id, done.commit, reason)),
            )
        )  # fmt: skip
        await asyncio.to_thread(self._keep_packages, waiting, done)
        await self._read_beside(entry)
        return tuple(ended)

    def _keep_packages(self, waiting: Waiting, done: PendingIntegration) -> None:
        """Add the packages that the commit's note names to the packages of its project."""
        text = self._services.git.read_note(waiting.workspace, done.commit) if waiting.workspace.is_own else None
        try:
            note = read_note(text) if text else None
        except UnreadableNote:
            return
        if note and note.packages:
            landed_packages.remember(self._services.state, note.project, note.packages).result()

    async def _read_beside(self, entry: Entry) -> None:
        """Mark the commits of sibling forks as read, because the owner needs to read only the integrated one."""
        beside = await asyncio.to_thread(self._services.queue.list_held_beside, entry.task_id)
        pages = [await asyncio.to_thread(self._services.ledger.page, 50, task_id=n, unread=True) for n in beside]
        if unread := [each.id for page in pages for each in page]:
            await asyncio.wrap_future(self._services.ledger.review(entries=unread))

    async def _push(self, waiting: Waiting, commit: str) -> None:
        result = await asyncio.to_thread(self._services.git.push, waiting.workspace, waiting.target)
        if result.pushed:
            await asyncio.wrap_future(self._services.state.record_push(waiting.entry.repo, commit))


def _repo(entry: Entry) -> str:
    return str(Path(entry.repo))


def _read_judged_texts(note: Note, tree: Tree, base: Tree) -> Change:
    """Return the texts, in the commit, of all files that the note's run covers."""
    job = plan_rerun(note, tree, base).job
    return {**job.change, **job.given, **job.own, **dict.fromkeys(job.gone)}


def _texts(tree: Tree, paths: Iterable[str]) -> Change:
    present = tree.entries()
    return {path: read_text(tree, path) if path in present else None for path in paths}


def _signs(entry: Entry, verdict: Verdict | None) -> Signs | None:
    if verdict is None or entry.signs is None:
        return None
    passed = verdict.count(Result.PASSED)
    return replace(entry.signs, tests_passed=passed, held_out=verdict.evidence.held_out)


def _describe_integrated(
    waiting: Waiting, done: PendingIntegration, ended: tuple[int, ...], *, already: bool = False
) -> Integrated:
    entry = waiting.entry
    return Integrated(
        task_id=entry.task_id, commit=done.commit, waited=entry.commit, subject=done.subject, branch=entry.branch,
        target=waiting.target, repo=entry.repo, judged=done.judged, label=done.label, already=already, ended=ended,
    )  # fmt: skip


def _describe_discarded(entry: Entry, *, already: bool) -> Discarded:
    return Discarded(
        task_id=entry.task_id, commit=entry.commit, subject=entry.subject, branch=entry.branch, repo=entry.repo,
        undo=waiting_commit.branch_again(entry), already=already, is_at_remote=entry.pushed_at is not None,
    )  # fmt: skip
