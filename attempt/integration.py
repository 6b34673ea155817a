"""From a passing tree to a landed commit: commit, rebase, judge the merged tree, move the target by compare-and-swap.

A merged tree is judged again only where that could change the verdict. A suite run sees exactly the files in the
closure of its tests, so if the target moved on and none of those files did, the run would see the same bytes and its
verdict holds for the merged tree as well. That is what keeps the thousandth task as quick as the first. Where the
closure is not known (dynamic imports, folders that are read) the whole tree counts.
"""

from __future__ import annotations

import asyncio
from contextlib import nullcontext
from dataclasses import dataclass, replace

from attempt import landed_packages
from attempt.evidence import to_note
from attempt.ledger import Landing, changed_files
from attempt.ledger import entry as ledger_entry
from attempt.regression import WithRegression
from attempt.services import Parts
from core.commit_message import message_for
from core.dependencies import closure, dependants
from core.errors import MergeConflict
from core.events import Event, Kind, Level
from core.held import HeldOut
from core.ports import Sink
from core.revisions import Commit, Workspace
from core.states import Phase
from core.tasks import Change, Files, Task
from core.tree import Tree
from core.verdicts import SuiteJob, Verdict
from core.work import Work


@dataclass(frozen=True, slots=True, kw_only=True)
class Landed:
    """The attempt is over; `commit` is None when there was nothing to change."""

    reason: str
    commit: str | None = None
    branch: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reopened:
    """The target moved on in a way that needs another try; `work` starts from its new tip."""

    why: str
    work: Work


class Integration:
    """Lands one attempt's work.

    Args:
        task: the task it belongs to.
        parts: the rooms.
        emit: takes the attempt's events.
        held: what no prompt showed of the task's tests; the merged tree is judged by it as well.
        resumed: whether an earlier daemon may have made the commit already.
    """

    def __init__(
        self, task: Task, parts: Parts, emit: Sink, *, held: HeldOut | None = None, resumed: bool = False
    ) -> None:
        self.task, self.parts, self.emit, self._resumed = task, parts, emit, resumed
        self._held = held or HeldOut()

    async def land(self, workspace: Workspace, work: Work) -> Landed | Reopened:
        """Commit the work on its branch, and integrate it where that is wanted.

        Raises:
            GitError: git could not do it.
        """
        wanted = workspace.is_own or self._integration_wanted()
        blocked = await asyncio.to_thread(self.parts.git.blocked, workspace) if wanted else None
        moving = wanted and blocked is None
        async with self.parts.merge_locks[workspace.git_dir] if moving else nullcontext():
            commit = await self._committed(workspace, work, moving=moving)
            if commit is None:
                return Landed(reason="the tests pass as things are; nothing had to be changed")
            end = await self._integrate(workspace, commit, work) if moving else (commit, work.verdict)
        if isinstance(end, Reopened):
            return end
        commit, verdict = end
        await self._record(workspace, work, commit, verdict, integrated=moving)
        reason = verdict.told if verdict else "tests passed"
        return Landed(reason=f"{reason}; {blocked}" if blocked else reason, commit=commit.id, branch=commit.branch)

    async def _committed(self, workspace: Workspace, work: Work, *, moving: bool) -> Commit | None:
        """The commit of this work, on its base, or on the newer tip that it will join where the two lie apart."""
        if self._resumed and (before := await self._made_before(workspace, work)):
            return before
        git, change, message = (
            self.parts.git,
            self._whole_change(work),
            message_for(self.task, work, self.parts.mask),
        )
        parent = work.base
        if moving and (tip := await asyncio.to_thread(git.tip, workspace)) != parent:
            newer = await asyncio.to_thread(git.tree, workspace, tip)
            parent = tip if await asyncio.to_thread(_lie_apart, workspace.tree, newer, change) else parent
        commit = await asyncio.to_thread(git.commit, workspace, parent, change, message)
        if commit:
            subject = message.text().partition("\n")[0]
            self._tell(Kind.COMMITTED, f"{commit.id[:10]} on {commit.branch}: {subject}", commit)
        return commit

    def _integration_wanted(self) -> bool:
        asked = self.task.spec.integrate
        return self.parts.defaults.integrate if asked is None else asked

    def _whole_change(self, work: Work) -> Change:
        """All that is committed: what was judged, and nothing that the suite left out."""
        left_out = work.verdict.evidence.dropped if work.verdict else {}
        change = {path: text for path, text in work.change.items() if path not in left_out}
        return {**change, **work.own_tests, **self.task.spec.tests}

    async def _made_before(self, workspace: Workspace, work: Work) -> Commit | None:
        """The commit that an earlier daemon made of this very work, or None."""
        git = self.parts.git
        found = await asyncio.to_thread(git.find_commit, workspace, self.task.id)
        if found is None or found.parent == work.base:
            return found
        landed = workspace.target is not None and await asyncio.to_thread(git.contains, workspace, found)
        return found if landed else None

    async def _integrate(
        self, workspace: Workspace, commit: Commit, work: Work
    ) -> tuple[Commit, Verdict | None] | Reopened:
        git, verdict = self.parts.git, work.verdict
        if self._resumed and await asyncio.to_thread(git.contains, workspace, commit):
            moved = commit.parent != work.base
            return commit, await self._judge_merged(workspace, commit, work) if moved else verdict
        while True:
            tip, candidate = await asyncio.to_thread(git.tip, workspace), commit
            if tip == commit.id:
                return commit, verdict
            if tip != commit.parent:
                try:
                    candidate = await asyncio.to_thread(git.rebase, workspace, commit, tip)
                except MergeConflict as conflict:
                    return self._conflicted(work, tip, conflict)
            if candidate.parent != work.base:
                verdict = await self._judge_merged(workspace, candidate, work)
                if not verdict.passed:
                    return await self._broken(workspace, work, candidate, verdict)
            if await asyncio.to_thread(git.advance, workspace, candidate, tip):
                self._tell(Kind.INTEGRATED, f"{candidate.id[:10]} is the tip of {workspace.target}", candidate)
                return candidate, verdict

    # --- the merged tree

    async def _judge_merged(self, workspace: Workspace, candidate: Commit, work: Work) -> Verdict:
        """The verdict on the merged tree: a new one, or the earlier one where it still holds.

        It is judged as the change on top of the newer work, so that a test which failed before it may be told from one
        that fails because of it.
        """
        git, spec = self.parts.git, self.task.spec
        merged = await asyncio.to_thread(git.tree, workspace, candidate.id)
        same = await asyncio.to_thread(self._sees_the_same, workspace, merged, work)
        if work.verdict and same:
            return work.verdict
        texts = await asyncio.to_thread(lambda: {path: _text(merged, path) for path in self._whole_change(work)})
        job = SuiteJob(
            base=await asyncio.to_thread(git.tree, workspace, candidate.parent),
            change={path: text for path, text in texts.items() if path not in self._tests(work)},
            given={path: texts[path] or text for path, text in spec.tests.items()},
            held=self._held,
            own={path: texts[path] or text for path, text in work.own_tests.items()},
            own_proven=True,
            start=spec.files,
            command=spec.test_command,
            allow=spec.allow,
            language=spec.language,
            packages=work.packages,
            whole_tree=not workspace.is_own,
            wall_s=spec.limits.suite_s,
            memory_mb=spec.limits.memory_mb,
            cpus=spec.limits.cpus,
            pids=spec.limits.pids,
            work_mb=spec.limits.work_mb,
        )
        verdict = await WithRegression(self.parts.suite, self.parts.imports).judge(job)
        self._tell(Kind.SUITE_JUDGED, f"together with newer work: {verdict.reason}", candidate)
        return verdict

    def _tests(self, work: Work) -> Files:
        return {**self.task.spec.tests, **work.own_tests}

    def _sees_the_same(self, workspace: Workspace, merged: Tree, work: Work) -> bool:
        """Tell whether all tests that this change can break see the same bytes as when they passed."""
        if not workspace.is_own or self.task.spec.test_command:
            return False
        base, imports, mine = workspace.tree, self.parts.imports, self._whole_change(work)
        others, later = (dependants(t, mine, imports, unknown=False) - mine.keys() for t in (base, merged))
        if others != later:
            return False
        tests = {**self._tests(work), **self._held.probe, **{path: _text(base, path) or "" for path in others}}
        before, after = closure(base, work.change, tests, imports), closure(merged, {}, tests, imports)
        if not (before.complete and after.complete and before.paths == after.paths):
            return False
        old, new = base.entries(), merged.entries()
        if any(old.get(path) != new.get(path) for path in after.paths - mine.keys()):
            return False
        return all(_holds(merged, path, text) for path, text in mine.items())

    # --- what stands in the way

    def _conflicted(self, work: Work, tip: str, conflict: MergeConflict) -> Reopened:
        self._tell(Kind.CONFLICT, str(conflict), level=Level.WARNING)
        kept = {path: text for path, text in work.change.items() if path not in conflict.paths}
        feedback = (
            f"Newer work changed the same lines while you were at it. Make your change again on top of it.\n{conflict}"
        )
        return Reopened(
            why=str(conflict),
            work=replace(work, base=tip, change=kept, feedback=feedback, verdict=None, phase=Phase.CODING),
        )

    async def _broken(self, workspace: Workspace, work: Work, candidate: Commit, verdict: Verdict) -> Reopened:
        """The change merges cleanly but fails together with newer work: carry it over to the new tip and reflect."""
        merged = await asyncio.to_thread(self.parts.git.tree, workspace, candidate.id)
        change = {path: _text(merged, path) for path in work.change}
        why = f"together with newer work: {verdict.reason}"
        self._tell(Kind.CONFLICT, why, candidate, level=Level.WARNING)
        return Reopened(
            why=why,
            work=replace(
                work, base=candidate.parent, change=change, verdict=verdict, feedback=why, phase=Phase.REFLECTING
            ),
        )

    # --- what is kept

    async def _record(
        self, workspace: Workspace, work: Work, commit: Commit, verdict: Verdict | None, *, integrated: bool
    ) -> None:
        git, state = self.parts.git, self.parts.state
        landing = Landing(
            task=self.task, workspace=workspace, work=work, commit=commit, verdict=verdict, integrated=integrated
        )
        subject = message_for(self.task, work, self.parts.mask).text().partition("\n")[0]
        files = await asyncio.to_thread(changed_files, git, workspace, commit, self._whole_change(work))
        entry = ledger_entry(landing, subject, files, self.parts.clock(), self.parts.mask)
        target = (workspace.target or "").removeprefix("refs/heads/") if integrated else commit.branch
        await asyncio.gather(
            self._note(workspace, work, commit, verdict),
            asyncio.wrap_future(state.record_commit(entry)),
            self._keep_packages(workspace, work),
        )
        pushed = await asyncio.to_thread(git.push, workspace, target)  # the note goes with the branch
        if pushed.pushed:
            await asyncio.wrap_future(state.record_push(entry.repo, entry.commit))

    async def _keep_packages(self, workspace: Workspace, work: Work) -> None:
        if workspace.is_own and work.packages:
            async with self.parts.merge_locks[workspace.git_dir]:
                await asyncio.wrap_future(landed_packages.remember(self.parts.state, work.packages))

    async def _note(self, workspace: Workspace, work: Work, commit: Commit, verdict: Verdict | None) -> None:
        if verdict:
            limits = self.task.spec.limits.over(self.parts.defaults.limits)
            text = to_note(self.task, work, commit, verdict, limits, self._held, key=self.parts.seal_key)
            await asyncio.to_thread(self.parts.git.note, workspace, commit.id, text)

    def _tell(self, kind: Kind, text: str, commit: Commit | None = None, level: Level = Level.INFO) -> None:
        data = {"commit": commit.id, "branch": commit.branch} if commit else {}
        self.emit(Event(kind=kind, level=level, message=text, phase=Phase.COMMIT, data=data))


def _lie_apart(base: Tree, newer: Tree, change: Change) -> bool:
    """Tell whether newer work touched none of the change's paths, no folder of one, and nothing below one.

    Then the change can be made on the newer tree as it is: that is what a three-way merge would give.
    """
    old, new = base.entries(), newer.entries()
    theirs = {path for path in old.keys() | new.keys() if old.get(path) != new.get(path)}
    return not any(
        mine == path or mine.startswith(f"{path}/") or path.startswith(f"{mine}/") for mine in change for path in theirs
    )


def _text(tree: Tree, path: str) -> str | None:
    return tree.read(path).decode("utf-8", "surrogateescape") if path in tree.entries() else None


def _holds(tree: Tree, path: str, text: str | None) -> bool:
    """Tell whether the merge left a changed file just as it was judged."""
    return _text(tree, path) == text
