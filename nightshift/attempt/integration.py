"""Integration, from a passing change to a landed commit.

The change is committed on the task's branch and rebased onto the target's tip. The merged tree is judged, and the
target is moved by compare-and-swap.

A merged tree is judged again only if that could change the verdict. A suite run sees exactly the files in the closure
of its tests. If the target moved and none of those files changed, the run would see the same bytes, so its verdict also
holds for the merged tree. This keeps the thousandth task as quick as the first. If the closure is not known (dynamic
imports, folders that are read), the whole tree counts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from contextlib import nullcontext
from dataclasses import dataclass, replace

from nightshift.attempt import landed_packages
from nightshift.attempt.candidate import JudgedChange, differing, find_fault
from nightshift.attempt.commit_record import Landing, asks_for_tests, change_to_commit, commit_row, list_changed_files
from nightshift.attempt.environment import EnvironmentChoice
from nightshift.attempt.evidence import to_note
from nightshift.attempt.regression import WithRegression
from nightshift.attempt.services import AttemptServices
from nightshift.attempt.uninterrupted import run_to_end
from nightshift.core.code.dependencies import closure, dependants
from nightshift.core.code.tree import Tree, text_of
from nightshift.core.errors import BaseGone, GitError, GitStopped, MergeConflict, RemoteAway
from nightshift.core.events import CommitData, Emitter, Kind, Level
from nightshift.core.isolation import RunLimits
from nightshift.core.tasks.attempt_state import AttemptState
from nightshift.core.tasks.commit_message import message_for, subject_of
from nightshift.core.tasks.held_out import HeldOut
from nightshift.core.tasks.projects import beginning, projects_of, start_of, whole_of
from nightshift.core.tasks.queueing import NOT_PUSHED
from nightshift.core.tasks.remarks import count_by_gravity, mask_remarks
from nightshift.core.tasks.revisions import Commit, Workspace
from nightshift.core.tasks.states import Phase
from nightshift.core.tasks.task import Change, Files, Task
from nightshift.core.tasks.verdicts import Label, SuiteJob, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Landed:
    """The end of an attempt whose change was committed, or for which nothing had to be changed.

    Attributes:
        reason: the reason for the queue and the owner.
        commit: the recorded commit on `branch`; None if nothing had to be changed.
        branch: the branch with the commit.
        integrated: True if the target branch contains the commit.
    """

    reason: str
    commit: str | None = None
    branch: str | None = None
    integrated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Reopened:
    """The attempt must continue, because the target moved.

    `state` is the state to continue with, at the target's new tip.
    """

    why: str
    state: AttemptState


class Integration:
    """Lands the change of one attempt.

    Two steps run to their end even if the attempt is cancelled: the commit on the task's own branch with its record,
    and the move of the target with its record. Between the two, the merged tree may be judged. If that run is
    cancelled, the commit stays on its branch. `standing` always equals the record of the attempt's commit, and is None
    before the first record.

    Args:
        task: the task.
        services: the services of an attempt.
        events: receives the attempt's events.
        held: the held-out part of the task's tests, which no prompt showed; it also judges the merged tree.
        resumed: True if an earlier daemon may already have made the commit.
        test_paths: folders of the repository's tests; empty means anywhere.
        stays: why the commit must stay on its branch, whatever task and settings say; empty if it may land.
        standing: the commit that an earlier try recorded, which the new commit replaces.
    """

    def __init__(
        self,
        task: Task,
        services: AttemptServices,
        events: Emitter,
        *,
        held: HeldOut | None = None,
        resumed: bool = False,
        test_paths: tuple[str, ...] = (),
        stays: str = "",
        standing: Landed | None = None,
    ) -> None:
        self.task, self.services, self._resumed, self._test_paths = task, services, resumed, test_paths
        self._stays, self._obstacle = stays, stays or None
        self._events = events.bind(phase=Phase.COMMIT)
        self._held = held or HeldOut()
        self.standing = standing

    async def land(self, workspace: Workspace, state: AttemptState) -> Landed | Reopened:
        """Commit the change on the task's branch, integrate the commit if that is wanted, and push it.

        Raises:
            GitError: git could not commit the change.
        """
        self._obstacle = self._stays or await asyncio.to_thread(self._find_obstacle, workspace, state)
        end = await self._commit_and_move(workspace, state)
        if isinstance(end, Landed) and end.commit:
            end = await self._push(workspace, end)
        return end

    def _find_obstacle(self, workspace: Workspace, state: AttemptState) -> str | None:
        """Return why the target must not be moved.

        Returns:
            None if the target may be moved; an empty string if integration is not wanted; else the reason.
        """
        wanted = workspace.is_own or self._integration_wanted()
        if not wanted:
            return ""
        verdict = state.verdict
        is_self_tested = verdict is not None and verdict.evidence.label is Label.SELF_TESTED
        if is_self_tested and not (workspace.is_own or self._takes_self_tested()):
            return "only tests that the agent wrote judged it (integrate_self_tested)"
        return (verdict.doubt if verdict else "") or self.services.git.find_obstacle(workspace)

    async def _commit_and_move(self, workspace: Workspace, state: AttemptState) -> Landed | Reopened:
        """Commit, and move the target unless there is an obstacle."""
        moving = self._obstacle is None
        async with self.services.merge_locks[workspace.git_dir] if moving else nullcontext():
            if moving and (again := await asyncio.to_thread(self._find_lost_project, workspace, state)):
                return again
            try:
                commit = await run_to_end(self._commit_on_branch(workspace, state, moving=moving))
            except BaseGone as gone:
                return await self._begin_on_tip(workspace, state, gone)
            if commit is None:
                await run_to_end(self._drop_standing(workspace))
                return Landed(reason=self._nothing_changed(state))
            return await self._integrate(workspace, commit, state)

    # The two steps that run to their end even if the attempt is cancelled: the commit and the move, each with its
    # record.

    async def _commit_on_branch(self, workspace: Workspace, state: AttemptState, *, moving: bool) -> Commit | None:
        """Commit on the task's branch and record the commit; return None if nothing changed. Must run to its end.

        With `moving`, the target is moved in the same step, if it is still at the commit on which the change was
        judged.
        """
        judged = self._describe_judged(state)
        commit = await self._find_earlier(workspace, state) if self._resumed else None
        if commit and commit.parent != state.base:  # an earlier daemon has moved the target to this commit
            await self._record(workspace, state, commit, judged, integrated=True)
            return commit
        if commit is None:
            message = message_for(self.task, state, self.services.mask)
            commit = await asyncio.to_thread(self.services.git.commit, workspace, state.base, judged.change, message)
            if commit is None:
                return None
            subject = subject_of(message.text())
            self._events.emit(Kind.COMMITTED, f"{commit.id[:10]} on {commit.branch}: {subject}", **commit_data(commit))
        try:
            if moving and await self._move_and_record(workspace, state, commit, judged):
                return commit
        except GitStopped:
            raise
        except GitError as error:
            self._note_obstacle(error, commit)
        await self._write_note(workspace, state, commit, judged)
        await self._record(workspace, state, commit, judged, integrated=False)
        return commit

    def _note_obstacle(self, error: GitError, commit: Commit) -> None:
        """Stop trying to move the target, and report why."""
        self._obstacle = str(error)
        self._events.emit(Kind.CONFLICT, self._obstacle, level=Level.WARNING, **commit_data(commit))

    async def _move_and_record(
        self, workspace: Workspace, state: AttemptState, candidate: Commit, judged: JudgedChange
    ) -> bool:
        """Move the target to a judged candidate, and record it; return False if the target is elsewhere.

        Must run to its end. The note is written first, so that a commit in the target always has its evidence.

        Raises:
            GitError: the candidate differs from what was judged, or git cannot move the target.
        """
        git = self.services.git
        tip = await asyncio.to_thread(git.tip, workspace)
        if tip != candidate.id:
            if tip != candidate.parent:
                return False
            if fault := await asyncio.to_thread(find_fault, git, workspace, candidate, judged):
                raise GitError(f"{candidate.id[:10]} cannot land: {fault}")
            await self._write_note(workspace, state, candidate, judged)
            if not await self._move(workspace, candidate, tip):
                return False
        self._events.emit(
            Kind.INTEGRATED, f"{candidate.id[:10]} is the tip of {workspace.target}", **commit_data(candidate)
        )
        await self._record(workspace, state, candidate, judged, integrated=True)
        return True

    # Methods that move the target after newer work has landed.

    async def _integrate(self, workspace: Workspace, commit: Commit, state: AttemptState) -> Landed | Reopened:
        """Move the target to a commit on the task's branch. If git cannot move it, the commit stays on its branch."""
        try:
            while self._obstacle is None and not (self.standing and self.standing.integrated):
                if end := await self._integrate_once(workspace, commit, state):
                    return end
        except (RemoteAway, GitStopped):
            raise
        except GitError as error:
            self._note_obstacle(error, commit)
        return self._describe_end()

    def _describe_end(self) -> Landed:
        """Return the end of an attempt whose commit is recorded; the reason says why the target was not moved."""
        assert self.standing, "what was committed is recorded"
        return replace(self.standing, reason="; ".join(filter(None, (self.standing.reason, self._obstacle))))

    async def _integrate_once(
        self, workspace: Workspace, commit: Commit, state: AttemptState
    ) -> Landed | Reopened | None:
        """Rebase a commit onto the target's tip, judge the result if necessary, and move the target.

        Returns:
            How the attempt ended or continues; None if the caller must try again with the target's current tip.

        Raises:
            GitError: the target cannot be read or moved.
        """
        git = self.services.git
        tip = await asyncio.to_thread(git.tip, workspace)
        if tip == commit.parent:
            await run_to_end(self._move_and_record(workspace, state, commit, self._describe_judged(state)))
            return None
        if await asyncio.to_thread(git.contains, workspace, commit):  # an earlier daemon or the owner moved the target
            judged = self._describe_judged(state)
            await run_to_end(self._record(workspace, state, commit, judged, integrated=True))
            return None
        try:
            candidate = await asyncio.to_thread(git.rebase, workspace, commit, tip)
        except MergeConflict as conflict:
            return await self._reopen_conflicted(workspace, state, tip, conflict)
        change = await asyncio.to_thread(self._find_remaining_change, workspace, candidate, state)
        if change is None:
            return await self._find_nothing_left(workspace, state, tip)
        judged = replace(self._describe_judged(state), parent=tip)
        if not await asyncio.to_thread(self._is_judged_already, workspace, candidate, state, judged):
            judged = await self._judge_merged(workspace, candidate, change, state)
            if not judged.verdict or not judged.verdict.holds:
                return await self._reopen_broken(workspace, state, candidate, judged.verdict)
            if judged.verdict.doubt:
                self._obstacle = f"together with newer work {judged.verdict.doubt}"
                return None
        await run_to_end(self._move_and_record(workspace, state, candidate, judged))
        return None

    def _describe_judged(self, state: AttemptState) -> JudgedChange:
        return JudgedChange(parent=state.base, change=self._whole_change(state), verdict=state.verdict)

    async def _find_nothing_left(self, workspace: Workspace, state: AttemptState, tip: str) -> Landed:
        """End a task because newer work has already made its change; the reason names the newer commit."""
        paths = frozenset(map(workspace.scope.full, self._whole_change(state)))
        newer = await asyncio.to_thread(self.services.git.later, workspace, state.base, tip, paths)
        await run_to_end(self._drop_standing(workspace))
        task = f" of task {newer[0].task_id}" if newer and newer[0].task_id else ""
        by = f"commit {newer[0].id[:10]}{task}" if newer else f"{workspace.target}"
        return Landed(reason=f"nothing is left to change: {by} made the same change meanwhile")

    async def _drop_standing(self, workspace: Workspace) -> None:
        """Remove the task's commit from its branch and from the records, because nothing of the change is left."""
        if self.standing and self.standing.commit and not self.standing.integrated:
            branch, commit = self.standing.branch or "", self.standing.commit
            await asyncio.to_thread(self.services.git.remove_branch, workspace, branch, commit)
            await asyncio.wrap_future(self.services.state.forget_commit(str(workspace.repo), commit))
        self.standing = None

    def _takes_self_tested(self) -> bool:
        of_repository = self.services.read_repository_settings(self.task.spec).integrate_self_tested
        return self.services.defaults.integrate_self_tested if of_repository is None else of_repository

    def _integration_wanted(self) -> bool:
        asked = self.task.spec.integrate
        return self.services.defaults.integrate if asked is None else asked

    def _nothing_changed(self, state: AttemptState) -> str:
        summary = self.services.mask(" ".join(state.summary.split())) if state.summary else ""
        return "the tests pass already; nothing had to be changed" + (f": {summary}" if summary else "")

    def _whole_change(self, state: AttemptState) -> Change:
        return change_to_commit(self.task, state)

    async def _find_earlier(self, workspace: Workspace, state: AttemptState) -> Commit | None:
        """Return the commit that an earlier daemon made of this change, or None.

        Only a commit on the state's base, or a commit that has already landed, counts.
        """
        git = self.services.git
        commit = await asyncio.to_thread(git.find_commit, workspace, self.task.id)
        if commit is None or commit.parent == state.base:
            return commit
        landed = workspace.target is not None and await asyncio.to_thread(git.contains, workspace, commit)
        return commit if landed else None

    async def _move(self, workspace: Workspace, candidate: Commit, tip: str) -> bool:
        """Move the target from `tip` to the candidate; return False if the target is no longer at `tip`."""
        return await asyncio.to_thread(self.services.git.advance, workspace, candidate, tip)

    async def _push(self, workspace: Workspace, end: Landed) -> Landed:
        """Push the branch with the commit and its note, if a push is wanted.

        If a push is wanted but was not made, the result's reason says so. A missing remote is not mentioned for the
        daemon's own workspace, which needs none.
        """
        target = (workspace.target or "").removeprefix("refs/heads/") if end.integrated else end.branch or ""
        result = await asyncio.to_thread(self.services.git.push, workspace, target)
        if result.pushed:
            await asyncio.wrap_future(self.services.state.record_push(str(workspace.repo), end.commit or ""))
            return end
        is_told = result.is_wanted and (result.tried or not workspace.is_own)
        return replace(end, reason=f"{end.reason}{NOT_PUSHED}{result.detail}") if is_told else end

    # Methods that judge the merged tree.

    async def _judge_merged(
        self, workspace: Workspace, candidate: Commit, change: Change, state: AttemptState
    ) -> JudgedChange:
        """Judge the merged tree, as a change on top of the newer work.

        Args:
            workspace: the task's workspace.
            candidate: the commit, rebased onto the target's tip.
            change: the files that the candidate changes there, without tests.
            state: the attempt's state.
        """
        git, spec = self.services.git, self.task.spec
        merged, base = [
            await asyncio.to_thread(git.tree, workspace, each) for each in (candidate.id, candidate.parent)
        ]  # fmt: skip
        texts = await asyncio.to_thread(lambda: {path: text_of(merged, path) for path in self._tests(state)})
        environment = await EnvironmentChoice(self.task, self.services, self._events).of(base)
        job = SuiteJob(
            base=base,
            change=change,
            given={path: texts[path] or text for path, text in {**spec.tests, **state.merged_tests}.items()},
            held=self._held,
            own={path: texts[path] or text for path, text in state.own_tests.items()},
            start=start_of(spec.files, state.project, change),
            command=spec.test_command,
            allow=spec.allow,
            language=spec.language,
            packages=state.packages,
            environment=environment.digest,
            whole_tree=not workspace.is_own,
            limits=self._run_limits(),
            documents=bool(state.verdict and state.verdict.evidence.label is Label.DOCUMENTED),
            takes_away=not (spec.tests or spec.test_command or spec.cases or state.written_tests),
            gone=state.removed_tests,
            asked=spec.description,
        )
        regression = WithRegression(self.services.suite, self.services.imports, test_paths=self._test_paths)
        verdict = await regression.judge(job)
        self._events.emit(Kind.SUITE_JUDGED, f"together with newer work: {verdict.reason}", **commit_data(candidate))
        everything = {**change, **job.given, **job.own, **dict.fromkeys(state.removed_tests)}
        return JudgedChange(parent=candidate.parent, change=everything, verdict=verdict)

    def _find_remaining_change(self, workspace: Workspace, candidate: Commit, state: AttemptState) -> Change | None:
        """Return the change as merged, without tests and without files that the target's tip already has.

        Return None if nothing is left: no source file, no test of the task, and no own test that the task asks for.
        """
        git = self.services.git
        tip, merged = git.tree(workspace, candidate.parent), git.tree(workspace, candidate.id)
        own = {**dict.fromkeys(state.removed_tests), **state.own_tests}
        change = self._carry(workspace, state, self._whole_change(state), tip, merged)
        change = {path: text for path, text in change.items() if text_of(tip, path) != text}
        tests = self._tests(state).keys() | own.keys()
        if not (change or asks_for_tests(self.task)):
            tests -= own.keys()
        left = change or any(text_of(tip, path) != text_of(merged, path) for path in tests)
        return change if left else None

    def _run_limits(self) -> RunLimits:
        return self.task.spec.limits.over(self.services.defaults.limits).of_run()

    def _tests(self, state: AttemptState) -> Files:
        return {**self.task.spec.tests, **state.merged_tests, **state.own_tests}

    def _is_judged_already(
        self, workspace: Workspace, candidate: Commit, state: AttemptState, judged: JudgedChange
    ) -> bool:
        """Check whether the verdict on the change also holds for the rebased candidate, so that no new run is needed.

        It holds if every test that the change can break sees the same bytes before and after the rebase.
        """
        if not workspace.is_own or self.task.spec.test_command:
            return False
        git, base, imports, mine = self.services.git, workspace.tree, self.services.imports, judged.change
        tip, merged = git.tree(workspace, candidate.parent), git.tree(workspace, candidate.id)
        old, new, below = base.entries(), merged.entries(), tip.entries()
        if any(old.get(path) != below.get(path) for path in mine):
            return False
        others = dependants(base, mine, imports, unknown=False) - mine.keys()
        tests = {**self._tests(state), **self._held.probe, **{path: text_of(base, path) or "" for path in others}}
        before = closure(base, state.change, tests, imports)  # sequential: a graph builds on the previous one
        if dependants(merged, mine, imports, unknown=False) - mine.keys() != others:
            return False
        after = closure(merged, {}, tests, imports)
        if not (before.complete and after.complete and before.paths == after.paths):
            return False
        if any(old.get(path) != new.get(path) for path in after.paths - mine.keys()):
            return False
        return not find_fault(git, workspace, candidate, judged)

    # Methods that start the attempt again after a conflict with newer work.

    def _find_lost_project(self, workspace: Workspace, state: AttemptState) -> Reopened | None:
        """Send the task back to planning if its project no longer exists at the target's tip; otherwise return None."""
        git, mine = self.services.git, {*filter(None, (state.project,))}
        if self._resumed or not mine or (tip := git.tip(workspace)) == state.base:
            return None
        then, now = (set(projects_of(git.tree(None, commit))) for commit in (state.base, tip))
        gone = sorted((mine & then) - now)
        if not gone:
            return None
        why = f"the project {gone[0]} no longer exists: another task removed it"
        self._events.emit(Kind.CONFLICT, why, level=Level.WARNING)
        return Reopened(why=why, state=self._plan_anew(state, tip, why))

    async def _begin_on_tip(self, workspace: Workspace, state: AttemptState, gone: BaseGone) -> Reopened:
        """Send the task back to planning at the target's tip, because its base was removed from the repository.

        A base is removed when the owner rewrites the history and git collects the old commits.

        Raises:
            GitError: there is no target, or the target is gone as well.
        """
        tip = await asyncio.to_thread(self.services.git.tip, workspace)
        why = f"the commit that the task began on was removed from the repository: {gone}"
        self._events.emit(Kind.CONFLICT, why, level=Level.WARNING)
        return Reopened(why=why, state=self._plan_anew(state, tip, why))

    def _plan_anew(self, state: AttemptState, tip: str, why: str) -> AttemptState:
        """Return the state of an attempt that begins on another base; nothing of its change is kept."""
        return replace(
            state,
            base=tip,
            phase=Phase.PLANNING,
            project=beginning(self.task.spec),
            plan="",
            change=dict(self.task.spec.files),
            own_tests={},
            test_changes={},
            removed_tests=(),
            merged_tests={},
            declared={},
            checked=None,
            verdict=None,
            feedback=why,
        )

    async def _reopen_conflicted(
        self, workspace: Workspace, state: AttemptState, tip: str, conflict: MergeConflict
    ) -> Reopened:
        """Send the task back to CODING at the target's tip: merged files are kept, conflicting files are written again.

        The agent's own tests stay. If newer work has a file at the path of such a test, the test is renamed
        (`agent.test_paths`).
        """
        self._events.emit(Kind.CONFLICT, str(conflict), level=Level.WARNING)
        lost = {workspace.scope.inside(path) for path in conflict.paths}
        carried = await self._carry_to(workspace, state, tip, conflict.merged)
        remaining = {path: text for path, text in carried.items() if path not in lost}
        tests = await asyncio.to_thread(self._merge_tests, workspace, state, conflict.merged, lost)
        for path in sorted(self.task.spec.tests.keys() & lost):
            full = workspace.scope.full(path)
            text = f"{full} stays as the task gave it, without newer edits: `git show {tip[:12]}:{full}` has these"
            self._events.emit(Kind.CONFLICT, text, level=Level.WARNING)
        feedback = (
            f"Newer work changed the same lines while you were at it. Make your change again on top of it.\n{conflict}"
        )
        return Reopened(
            why=str(conflict),
            state=replace(
                state,
                base=tip,
                change=remaining,
                merged_tests=tests,
                declared={},
                feedback=feedback,
                verdict=None,
                phase=Phase.CODING,
            ),
        )

    def _merge_tests(
        self, workspace: Workspace, state: AttemptState, merged: str, lost: Collection[str | None]
    ) -> Files:
        """Return the task's tests, with newer work's edits merged in.

        A test in conflict stays as the task supplied it.
        """
        merged_tree, given = self.services.git.tree(workspace, merged), {**self.task.spec.tests, **state.merged_tests}
        texts = {path: text_of(merged_tree, path) or text for path, text in given.items() if path not in lost}
        return {path: text for path, text in {**given, **texts}.items() if text != self.task.spec.tests[path]}

    async def _reopen_broken(
        self, workspace: Workspace, state: AttemptState, candidate: Commit, verdict: Verdict | None
    ) -> Reopened:
        """Send a change that merges cleanly but fails with newer work to REFLECTING, on the target's tip."""
        change = await self._carry_to(workspace, state, candidate.parent, candidate.id)
        fault = "; ".join(verdict.unmet) or verdict.reason if verdict else "nothing was judged"
        why = f"together with newer work: {fault}"
        self._events.emit(Kind.CONFLICT, why, level=Level.WARNING, **commit_data(candidate))
        return Reopened(
            why=why,
            state=replace(
                state,
                base=candidate.parent,
                change=change,
                declared={},  # Newer work may have declared the same packages.
                verdict=verdict,
                feedback=why,
                phase=Phase.REFLECTING,
            ),
        )

    async def _carry_to(self, workspace: Workspace, state: AttemptState, tip: str, merged: str) -> Change:
        """Return the attempt's change as it is after the merge with the tip; tests are left out.

        `tip` and `merged` are full commit ids.
        """
        git = self.services.git
        newer, merged_tree = [await asyncio.to_thread(git.tree, workspace, each) for each in (tip, merged)]
        return await asyncio.to_thread(self._carry, workspace, state, state.change, newer, merged_tree)

    def _carry(
        self, workspace: Workspace, state: AttemptState, change: Change, tip: Tree, merged: Tree
    ) -> dict[str, str | None]:
        """Return a change as it is after the merge with the tip; tests are left out.

        Files that newer work renamed are included under their new names.
        """
        present, full_tree = tip.entries(), whole_of(merged)  # `merged` hides new projects in the root scope
        paths = change.keys() | (differing(tip, merged) & present.keys())
        texts = {path: text_of(full_tree, workspace.scope.full(path)) for path in paths}
        tests = self._tests(state).keys() | set(state.removed_tests)
        return {
            path: text for path, text in texts.items() if path not in tests and (text is not None or path in present)
        }

    # Methods that record the commit.

    async def _record(
        self, workspace: Workspace, state: AttemptState, commit: Commit, judged: JudgedChange, *, integrated: bool
    ) -> None:
        """Record a commit in the ledger. The record replaces that of the branch's previous commit."""
        landing = Landing(
            task=self.task, workspace=workspace, state=state, commit=commit, verdict=judged.verdict,
            integrated=integrated,
        )  # fmt: skip
        subject = subject_of(message_for(self.task, state, self.services.mask).text())
        files = await asyncio.to_thread(list_changed_files, self.services.git, workspace, commit, self.task)
        entry = commit_row(landing, subject, files, self.services.clock(), self.services.mask)
        await asyncio.wrap_future(self.services.state.record_commit(entry))
        if integrated and workspace.is_own and state.packages:
            packages = landed_packages.remember(self.services.state, state.project, state.packages)
            await asyncio.wrap_future(packages)
        reason = self._describe(workspace, state, judged.verdict)
        self.standing = Landed(reason=reason, commit=commit.id, branch=commit.branch, integrated=integrated)

    def _describe(self, workspace: Workspace, state: AttemptState, verdict: Verdict | None) -> str:
        """Return the task's reason after its change was committed: the verdict, and findings that were left open."""
        reason = verdict.labelled_reason if verdict else "tests passed"
        if left := mask_remarks(state.open_remarks, self.services.mask, workspace.scope.full):
            reason = f"findings left open: {count_by_gravity(left)} ({left[0].where}: {left[0].reason}); {reason}"
        return reason

    async def _write_note(
        self, workspace: Workspace, state: AttemptState, commit: Commit, judged: JudgedChange
    ) -> None:
        """Write the commit's note, with paths as in the run that judged the commit."""
        if judged.verdict is None:
            return
        tests = self._tests(state).keys() | set(state.removed_tests)
        text = to_note(
            self.task, state, commit, judged.verdict, self._run_limits(), self._held,
            changed=judged.change.keys() - tests, key=self.services.seal_key, mask=self.services.mask,
        )  # fmt: skip
        await asyncio.to_thread(self.services.git.note, workspace, commit.id, text)


def commit_data(commit: Commit) -> CommitData:
    """Return the data of events about a commit."""
    return CommitData(commit=commit.id, branch=commit.branch)
