"""From a passing tree to a landed commit: commit, rebase, judge the merged tree, move the target by compare-and-swap.

A merged tree is judged again only where that could change the verdict. A suite run sees exactly the files in the
closure of its tests, so if the target moved on and none of those files did, the run would see the same bytes and its
verdict holds for the merged tree as well. That is what keeps the thousandth task as quick as the first. Where the
closure is not known (dynamic imports, folders that are read) the whole tree counts.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection
from contextlib import nullcontext
from dataclasses import dataclass, replace

from attempt import landed_packages
from attempt.commit_record import Landing, changed_files
from attempt.commit_record import commit_row as ledger_entry
from attempt.environment import EnvironmentChoice
from attempt.evidence import to_note
from attempt.regression import WithRegression
from attempt.services import AttemptServices
from core.attempt_state import AttemptState
from core.commit_message import message_for
from core.dependencies import closure, dependants
from core.errors import GitError, MergeConflict
from core.events import CommitData, Emitter, Kind, Level
from core.held_out import HeldOut
from core.isolation import RunLimits
from core.projects import WHOLE, Scope, beginning, projects_of, steering, whole_of
from core.remarks import counted, masked
from core.revisions import Commit, Workspace
from core.states import Phase
from core.tasks import Change, Files, Task
from core.tree import Tree, text_of
from core.verdicts import Label, SuiteJob, Verdict
from db.commit_signs import ChangedFile

_ASKS_FOR_TESTS = re.compile(r"\btests?\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Landed:
    """The attempt is over; `commit` is None when there was nothing to change."""

    reason: str
    commit: str | None = None
    branch: str | None = None


End = tuple[Commit, Verdict | None]
"""A commit where it was to land, and the last verdict on it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reopened:
    """The target moved on in a way that needs another try; `work` starts from its new tip."""

    why: str
    state: AttemptState


class Integration:
    """Lands one attempt's work.

    Args:
        task: the task it belongs to.
        services: what an attempt is given.
        events: takes the attempt's events.
        held: what no prompt showed of the task's tests; the merged tree is judged by it as well.
        resumed: whether an earlier daemon may have made the commit already.
        test_paths: where the repository's tests lie; empty: anywhere.
        stays: the commit stays on its branch, whatever task and settings say.
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
        stays: bool = False,
    ) -> None:
        self.task, self.services, self._resumed, self._test_paths = task, services, resumed, test_paths
        self._stays = stays
        self._events = events.bind(phase=Phase.COMMIT)
        self._held = held or HeldOut()

    async def land(self, workspace: Workspace, state: AttemptState) -> Landed | Reopened:
        """Commit the work on its branch, and integrate it where that is wanted.

        Raises:
            GitError: git could not do it.
        """
        wanted = not self._stays and (workspace.is_own or self._integration_wanted())
        blocked = await asyncio.to_thread(self.services.git.blocked, workspace) if wanted else None
        moving = wanted and blocked is None
        end = await self._landed(workspace, state, moving=moving)
        if end is None:
            return Landed(reason=self._nothing_changed(state))
        if isinstance(end, Reopened):
            return end
        commit, verdict = end
        await self._record(workspace, state, commit, verdict, integrated=moving)
        reason = verdict.labelled_reason if verdict else "tests passed"
        if left := masked(state.open_remarks, self.services.mask, workspace.scope.full):
            reason = f"findings left open: {counted(left)} ({left[0].where}: {left[0].reason}); {reason}"
        if self._stays:
            reason = f"{reason}; it stays on {commit.branch} until it is kept"
        return Landed(reason=f"{reason}; {blocked}" if blocked else reason, commit=commit.id, branch=commit.branch)

    async def _landed(self, workspace: Workspace, state: AttemptState, *, moving: bool) -> End | Reopened | None:
        """Commit, and move the target where that is wanted; None where nothing had to be changed."""
        async with self.services.merge_locks[workspace.git_dir] if moving else nullcontext():
            if moving and (again := await asyncio.to_thread(self._without_project, workspace, state)):
                return again
            commit = await self._committed(workspace, state, moving=moving)
            if commit is None:
                return None
            return await self._integrate(workspace, commit, state) if moving else (commit, state.verdict)

    async def _committed(self, workspace: Workspace, state: AttemptState, *, moving: bool) -> Commit | None:
        """The commit of this work, on its base, or on the newer tip that it will join where the two lie apart."""
        if self._resumed and (before := await self._made_before(workspace, state)):
            return before
        git, change = self.services.git, self._whole_change(state)
        message = message_for(self.task, state, self.services.mask)
        parent = state.base
        if moving and (tip := await asyncio.to_thread(git.tip, workspace)) != parent:
            newer = await asyncio.to_thread(git.tree, workspace, tip)
            apart = await asyncio.to_thread(_lie_apart, workspace.tree, newer, change)
            parent = tip if apart and workspace.scope.fault(whole_of(newer)) is None else parent
        commit = await asyncio.to_thread(git.commit, workspace, parent, change, message)
        if commit:
            subject = message.text().partition("\n")[0]
            self._events.emit(Kind.COMMITTED, f"{commit.id[:10]} on {commit.branch}: {subject}", **commit_data(commit))
        return commit

    def _integration_wanted(self) -> bool:
        asked = self.task.spec.integrate
        return self.services.defaults.integrate if asked is None else asked

    def _nothing_changed(self, state: AttemptState) -> str:
        said = self.services.mask(" ".join(state.summary.split())) if state.summary else ""
        return "the tests pass as things are; nothing had to be changed" + (f": {said}" if said else "")

    def _whole_change(self, state: AttemptState) -> Change:
        """All that is committed: what was judged, and nothing that the suite left out.

        Tests that the agent wrote to see whether something is done already are not, unless the task asks for tests.
        """
        left_out = state.verdict.evidence.dropped if state.verdict else {}
        change = {path: text for path, text in state.change.items() if path not in left_out}
        wanted = change or _ASKS_FOR_TESTS.search(self.task.spec.description)
        tests = {**dict.fromkeys(state.removed_tests), **state.own_tests} if wanted else {}
        return {**change, **tests, **self.task.spec.tests, **state.merged_tests}

    async def _made_before(self, workspace: Workspace, state: AttemptState) -> Commit | None:
        """The commit that an earlier daemon made of this very work, or None."""
        git = self.services.git
        found = await asyncio.to_thread(git.find_commit, workspace, self.task.id)
        if found is None or found.parent == state.base:
            return found
        landed = workspace.target is not None and await asyncio.to_thread(git.contains, workspace, found)
        return found if landed else None

    async def _integrate(self, workspace: Workspace, commit: Commit, state: AttemptState) -> End | Reopened:
        git, verdict = self.services.git, state.verdict
        if self._resumed and await asyncio.to_thread(git.contains, workspace, commit):
            moved = commit.parent != state.base
            return commit, await self._judge_merged(workspace, commit, state) if moved else verdict
        while True:
            tip, candidate = await asyncio.to_thread(git.tip, workspace), commit
            if tip == commit.id:
                return commit, verdict
            if tip != commit.parent:
                try:
                    candidate = await asyncio.to_thread(git.rebase, workspace, commit, tip)
                except MergeConflict as conflict:
                    return await self._conflicted(workspace, state, tip, conflict)
            if candidate.parent != state.base:
                verdict = await self._judge_merged(workspace, candidate, state)
                if not verdict.passed:
                    return await self._broken(workspace, state, candidate, verdict)
            if await self._moved(workspace, candidate, tip):
                self._events.emit(
                    Kind.INTEGRATED, f"{candidate.id[:10]} is the tip of {workspace.target}", **commit_data(candidate)
                )
                return candidate, verdict

    async def _moved(self, workspace: Workspace, candidate: Commit, tip: str) -> bool:
        """Move the target from its tip to the candidate; False where it has moved meanwhile."""
        return await asyncio.to_thread(self.services.git.advance, workspace, candidate, tip)

    async def _pushed(self, workspace: Workspace, branch: str) -> bool:
        """Push what landed, where that is wanted; the note goes with the branch."""
        return (await asyncio.to_thread(self.services.git.push, workspace, branch)).pushed

    # --- the merged tree

    async def _judge_merged(self, workspace: Workspace, candidate: Commit, state: AttemptState) -> Verdict:
        """The verdict on the merged tree: a new one, or the earlier one where it still holds.

        It is judged as the change on top of the newer work, so that a test which failed before it may be told from one
        that fails because of it.
        """
        git, spec = self.services.git, self.task.spec
        merged = await asyncio.to_thread(git.tree, workspace, candidate.id)
        same = await asyncio.to_thread(self._sees_the_same, workspace, merged, state)
        if state.verdict and same:
            return state.verdict
        base = await asyncio.to_thread(git.tree, workspace, candidate.parent)
        texts = await asyncio.to_thread(lambda: {path: text_of(merged, path) for path in self._tests(state)})
        environment = await EnvironmentChoice(self.task, self.services, self._events).of(base)
        job = SuiteJob(
            base=base,
            change=await self._carried(workspace, state, self._whole_change(state), candidate.parent, candidate.id),
            given={path: texts[path] or text for path, text in {**spec.tests, **state.merged_tests}.items()},
            held=self._held,
            own={path: texts[path] or text for path, text in state.own_tests.items()},
            own_proven=True,
            start={**spec.files, **steering(state.project, state.change)},
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
        return verdict

    def _run_limits(self) -> RunLimits:
        return self.task.spec.limits.over(self.services.defaults.limits).of_run()

    def _tests(self, state: AttemptState) -> Files:
        return {**self.task.spec.tests, **state.merged_tests, **state.own_tests}

    def _sees_the_same(self, workspace: Workspace, merged: Tree, state: AttemptState) -> bool:
        """Tell whether all tests that this change can break see the same bytes as when they passed."""
        if not workspace.is_own or self.task.spec.test_command or state.moved:
            return False
        base, imports, mine = workspace.tree, self.services.imports, self._whole_change(state)
        others = dependants(base, mine, imports, unknown=False) - mine.keys()
        tests = {**self._tests(state), **self._held.probe, **{path: text_of(base, path) or "" for path in others}}
        before = closure(base, state.change, tests, imports)  # all of one tree first: its graph becomes the other's
        if dependants(merged, mine, imports, unknown=False) - mine.keys() != others:
            return False
        after = closure(merged, {}, tests, imports)
        if not (before.complete and after.complete and before.paths == after.paths):
            return False
        old, new = base.entries(), merged.entries()
        if any(old.get(path) != new.get(path) for path in after.paths - mine.keys()):
            return False
        return all(_holds(merged, path, text) for path, text in mine.items())

    # --- what stands in the way

    def _without_project(self, workspace: Workspace, state: AttemptState) -> Reopened | None:
        """Have the task planned anew where a project that it works on or moves is gone; None where all are there."""
        git, mine = self.services.git, {*filter(None, (state.project,)), *state.moved}
        if self._resumed or not mine or (tip := git.tip(workspace)) == state.base:
            return None
        then, now = (set(projects_of(git.tree(None, commit))) for commit in (state.base, tip))
        gone = sorted((mine & then) - now)
        if not gone:
            return None
        why = f"the project {gone[0]} is not there any more: another task moved or removed it"
        self._events.emit(Kind.CONFLICT, why, level=Level.WARNING)
        again = replace(
            state,
            base=tip,
            phase=Phase.PLANNING,
            project=beginning(self.task.spec),
            moved=(),
            removes_project=False,
            plan="",
            change=dict(self.task.spec.files),
            own_tests={},
            former_tests={},
            test_changes={},
            removed_tests=(),
            merged_tests={},
            declared={},
            checked=None,
            verdict=None,
            feedback=why,
        )
        return Reopened(why=why, state=again)

    async def _conflicted(
        self, workspace: Workspace, state: AttemptState, tip: str, conflict: MergeConflict
    ) -> Reopened:
        """Keep what merges with the newer work, as the merge left it; the rest is written again on the new tip.

        The agent's own tests stay: where newer work has a file of their name, they get another (`agent.test_paths`).
        """
        self._events.emit(Kind.CONFLICT, str(conflict), level=Level.WARNING)
        lost = {workspace.scope.inside(path) for path in conflict.paths}
        carried = await self._carried(workspace, state, state.change, tip, conflict.merged)
        kept = {path: text for path, text in carried.items() if path not in lost}
        tests = await asyncio.to_thread(self._merged_tests, workspace, state, conflict.merged, lost)
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
                change=kept,
                merged_tests=tests,
                declared={},
                feedback=feedback,
                verdict=None,
                phase=Phase.CODING,
            ),
        )

    def _merged_tests(
        self, workspace: Workspace, state: AttemptState, merged: str, lost: Collection[str | None]
    ) -> Files:
        """The given tests as a merge has them, with the edits of newer work; those that conflict stay as given."""
        made, given = self.services.git.tree(workspace, merged), {**self.task.spec.tests, **state.merged_tests}
        texts = {path: text_of(made, path) or text for path, text in given.items() if path not in lost}
        return {path: text for path, text in {**given, **texts}.items() if text != self.task.spec.tests[path]}

    async def _broken(self, workspace: Workspace, state: AttemptState, candidate: Commit, verdict: Verdict) -> Reopened:
        """The change merges cleanly but fails together with newer work: carry it over to the new tip and reflect."""
        change = await self._carried(workspace, state, state.change, candidate.parent, candidate.id)
        why = f"together with newer work: {verdict.reason}"
        self._events.emit(Kind.CONFLICT, why, level=Level.WARNING, **commit_data(candidate))
        return Reopened(
            why=why,
            state=replace(
                state,
                base=candidate.parent,
                change=change,
                declared={},  # a line may be newer work's as well
                verdict=verdict,
                feedback=why,
                phase=Phase.REFLECTING,
            ),
        )

    async def _carried(
        self, workspace: Workspace, state: AttemptState, change: Change, tip: str, merged: str
    ) -> dict[str, str | None]:
        """A change without tests as its merge with the tip has it (both full ids), also in files that were renamed."""
        git = self.services.git
        newer, made = [await asyncio.to_thread(git.tree, workspace, each) for each in (tip, merged)]
        found = await asyncio.to_thread(_merged_texts, workspace.scope, newer, made, change)
        tests = self._tests(state).keys() | set(state.removed_tests)
        return {path: text for path, text in found.items() if path not in tests}

    # --- what is kept

    async def _record(
        self, workspace: Workspace, state: AttemptState, commit: Commit, verdict: Verdict | None, *, integrated: bool
    ) -> None:
        store = self.services.state
        landing = Landing(
            task=self.task, workspace=workspace, state=state, commit=commit, verdict=verdict, integrated=integrated
        )
        subject = message_for(self.task, state, self.services.mask).text().partition("\n")[0]
        names = await asyncio.to_thread(self._names, workspace, state, commit)
        files = await asyncio.to_thread(self._changed_files, workspace, commit, names)
        entry = ledger_entry(landing, subject, files, self.services.clock(), self.services.mask)
        target = (workspace.target or "").removeprefix("refs/heads/") if integrated else commit.branch
        await asyncio.gather(
            self._note(workspace, state, commit, verdict, names),
            asyncio.wrap_future(store.record_commit(entry)),
        )
        if integrated:
            await self._keep_packages(workspace, state)
        if await self._pushed(workspace, target):
            await asyncio.wrap_future(store.record_push(entry.repo, entry.commit))

    async def _keep_packages(self, workspace: Workspace, state: AttemptState) -> None:
        if workspace.is_own and (state.packages or state.moved):
            store, project = self.services.state, state.project
            async with self.services.merge_locks[workspace.git_dir]:
                await asyncio.wrap_future(landed_packages.remember(store, project, state.packages, state.moved))

    def _changed_files(
        self, workspace: Workspace, commit: Commit, names: frozenset[str]
    ) -> tuple[ChangedFile, ...] | None:
        """The files of a commit for the ledger, with those that it moved."""
        git = self.services.git
        if not workspace.scope.moved:
            return changed_files(git, workspace, commit, names)
        try:
            paths = git.changed(workspace, commit.parent, commit.id)
        except GitError:
            return None
        return changed_files(git, replace(workspace, scope=WHOLE), commit, paths)

    def _names(self, workspace: Workspace, state: AttemptState, commit: Commit) -> frozenset[str]:
        """The files of the change under the names that the commit has for them: newer work may have renamed some."""
        mine = frozenset(self._whole_change(state))
        if commit.parent == state.base:
            return mine
        try:
            changed = self.services.git.changed(workspace, commit.parent, commit.id)
        except GitError:  # what was changed is in the commit, however its record names it
            return mine
        if state.moved:
            old, new = (self.services.git.tree(workspace, each) for each in (commit.parent, commit.id))
            return frozenset(_differing(old, new)) | frozenset(self._tests(state))
        inside = (workspace.scope.inside(path) for path in changed)
        return frozenset(path for path in inside if path is not None) | frozenset(self._tests(state))

    async def _note(
        self, workspace: Workspace, state: AttemptState, commit: Commit, verdict: Verdict | None, names: frozenset[str]
    ) -> None:
        if verdict:
            limits = self._run_limits()
            key, mask = self.services.seal_key, self.services.mask
            changed = names - self._tests(state).keys() - set(state.removed_tests)
            text = to_note(self.task, state, commit, verdict, limits, self._held, changed=changed, key=key, mask=mask)
            await asyncio.to_thread(self.services.git.note, workspace, commit.id, text)


def commit_data(commit: Commit) -> CommitData:
    """What events tell of a commit."""
    return CommitData(commit=commit.id, branch=commit.branch)


def _lie_apart(base: Tree, newer: Tree, change: Change) -> bool:
    """Tell whether newer work touched none of the change's paths, no folder of one, and nothing below one.

    Then the change can be made on the newer tree as it is: that is what a three-way merge would give.
    """
    theirs = _differing(base, newer)
    return not any(
        mine == path or mine.startswith(f"{path}/") or path.startswith(f"{mine}/") for mine in change for path in theirs
    )


def _differing(old: Tree, new: Tree) -> set[str]:
    return {path for path, _ in old.entries().items() ^ new.entries().items()}


def _merged_texts(scope: Scope, newer: Tree, merged: Tree, change: Change) -> dict[str, str | None]:
    """The change's files in the merged tree, and those of the newer one that it changed under another name there."""
    present, whole = newer.entries(), whole_of(merged)  # at the root, a project that the change begins is hidden
    paths = change.keys() | (_differing(newer, merged) & present.keys())
    texts = {path: text_of(whole, scope.full(path)) for path in paths}
    return {path: text for path, text in texts.items() if text is not None or path in present}


def _holds(tree: Tree, path: str, text: str | None) -> bool:
    """Tell whether the merge left a changed file just as it was judged."""
    return text_of(tree, path) == text
