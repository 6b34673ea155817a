"""Integrates a task that the hub assigned to this node.

Only what the remote's branch contains has landed. Commits that wait for the same branch are judged together, and
land together.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

from nightshift.attempt.candidate import JudgedChange
from nightshift.attempt.environment import EnvironmentChoice
from nightshift.attempt.integration import Integration, Landed, Reopened, commit_data
from nightshift.attempt.merge_queue import Candidate, JointWork, merge
from nightshift.attempt.regression import WithRegression
from nightshift.attempt.uninterrupted import run_to_end
from nightshift.core.errors import Parked, RemoteAway
from nightshift.core.events import Kind
from nightshift.core.hub import LandingPort, Turn, Waiting
from nightshift.core.tasks.attempt_state import AttemptState
from nightshift.core.tasks.revisions import Commit, Workspace
from nightshift.core.tasks.verdicts import Label, SuiteJob, Verdict
from nightshift.verdict.findings.assets import subject_of

REMOTE_S = 60.0
"""Seconds that a task waits before it tries to land again, after the remote was unreachable."""
OF_UNMERGED = "several changes were judged together: mutants, and tests that fail without the change, are of each alone"


class SharedIntegration(Integration):
    """Lands the work of a task that the hub gave to this node; requires `services.landing`."""

    async def _commit_and_move(self, workspace: Workspace, state: AttemptState) -> Landed | Reopened:
        """Commit, and move the remote's target branch, or publish the commit on a branch of its own.

        Raises:
            Parked: the hub or the remote cannot be reached.
        """
        git, landing, moving = self.services.git, self.services.landing, self._obstacle is None
        assert landing, "a task of a hub has a way to land"
        try:
            await asyncio.to_thread(git.follow, workspace, workspace.target)
            if moving and (landed := await asyncio.to_thread(git.find_landed, workspace)):
                return await self._record_landed(workspace, state, landed)
            if moving and (again := await asyncio.to_thread(self._find_lost_project, workspace, state)):
                return again
            commit = await run_to_end(self._commit_on_branch(workspace, state, moving=False))
            if commit is None:
                return Landed(reason=self._nothing_changed(state))
            if moving:
                return await self._land_in_turn(landing, workspace, commit, state)
            async with landing.turn(self.task, workspace):
                branch = await asyncio.to_thread(git.publish_branch, workspace, commit)
            judged = self._describe_judged(state)
            await run_to_end(self._record(workspace, state, replace(commit, branch=branch), judged, integrated=False))
            return self._describe_end()
        except RemoteAway as error:
            until = self.services.clock() + timedelta(seconds=REMOTE_S)
            raise Parked(f"it is ready to land, and waits for the remote: {error}", until) from error

    async def _land_in_turn(
        self, landing: LandingPort, workspace: Workspace, commit: Commit, state: AttemptState
    ) -> Landed | Reopened:
        """Offer the commit to the node whose turn it is, and wait for this node's own turn.

        During its own turn, this node lands the commit, unless another node has already landed it.
        """
        git, offered = self.services.git, ""

        async def offer() -> tuple[str, str]:
            nonlocal offered
            offered = await asyncio.to_thread(git.publish_branch, workspace, commit)
            return commit.id, offered

        async with (
            landing.turn(self.task, workspace, offer, self._kind(state)) as turn,
            self.services.merge_locks[workspace.git_dir],
        ):
            await asyncio.to_thread(git.follow, workspace, workspace.target)
            end = await self._in_turn(turn, workspace, commit, state)
        if offered:
            with suppress(RemoteAway):  # a leftover branch does no harm
                await asyncio.to_thread(git.unpublish, workspace, offered, commit.id)
        return end

    def _kind(self, state: AttemptState) -> str:
        """Return a key of this task's run; commits with the same key may be judged in one run.

        The key is empty if the commit needs a run of its own.
        """
        spec, verdict = self.task.spec, state.verdict
        own_kind = spec.test_command or spec.mcp or state.packages or state.removed_tests
        documents = verdict is not None and verdict.evidence.label is Label.DOCUMENTED
        return "" if own_kind or documents else f"{spec.language}"

    async def _in_turn(
        self, turn: Turn, workspace: Workspace, commit: Commit, state: AttemptState
    ) -> Landed | Reopened:
        """Land the commit during this node's turn; together with other waiting commits, if they pass together."""
        # Another node may have landed the commit and died before it reported that.
        if landed := await asyncio.to_thread(self.services.git.find_landed, workspace):
            return await self._record_landed(workspace, state, landed)
        if turn.others and (end := await self._land_together(turn, workspace, commit, state)):
            return end
        return await self._integrate(workspace, commit, state)

    async def _record_landed(self, workspace: Workspace, state: AttemptState, landed: Commit) -> Landed:
        """Record the task's commit, which another node has landed."""
        self._events.emit(Kind.INTEGRATED, f"{landed.id[:10]} was landed by another node", **commit_data(landed))
        await self._record_with_note(workspace, state, landed, self._describe_judged(state))
        return self._describe_end()

    async def _record_with_note(
        self, workspace: Workspace, state: AttemptState, commit: Commit, judged: JudgedChange
    ) -> None:
        async def record() -> None:
            await self._write_note(workspace, state, commit, judged)
            await self._record(workspace, state, commit, judged, integrated=True)

        await run_to_end(record())

    async def _land_together(
        self, turn: Turn, workspace: Workspace, commit: Commit, state: AttemptState
    ) -> Landed | None:
        """Land the commit together with ready commits of other nodes, judged as one merged tree.

        Return None if the commit was not landed and must be landed alone.
        """
        git, landing = self.services.git, self.services.landing
        assert landing, "a task of a hub has a way to land"
        tip = await asyncio.to_thread(git.tip, workspace)
        mine = Candidate(key=self.task.hub_id or 0, commit=commit, spec=self.task.spec)
        candidates = [mine, *await asyncio.to_thread(self._candidates, workspace, turn.others)]
        passed = list[Verdict]()

        async def judge(work: JointWork) -> bool:
            verdict = await self._judge_together(work, workspace, state)
            is_sound = verdict.passed and not verdict.doubt
            passed.extend([verdict] if is_sound else [])
            return is_sound

        merged, alone = await merge(git, workspace, tip, candidates, judge)
        landed = {candidate.key: landed_commit for candidate, landed_commit in merged.commits}
        if mine.key not in landed or not await asyncio.to_thread(git.publish, workspace, merged.last, tip):
            return None
        own_commit = landed.pop(mine.key)
        await asyncio.to_thread(git.follow, workspace, workspace.target)
        ends = {key: landed_commit.id for key, landed_commit in landed.items()} | {
            candidate.key: None for candidate in alone
        }
        await landing.end(turn.line, ends)
        text = f"{own_commit.id[:10]} is on {workspace.target}, judged and landed with {len(landed)} more"
        self._events.emit(Kind.INTEGRATED, text, **commit_data(own_commit))
        await self._record_with_note(
            workspace,
            state,
            own_commit,
            replace(self._describe_judged(state), parent=own_commit.parent, verdict=passed[-1]),
        )
        return self._describe_end()

    def _candidates(self, workspace: Workspace, others: Sequence[Waiting]) -> list[Candidate]:
        """Fetch the ready commits of other nodes, except commits that are in the target or gone from the remote."""
        git, candidates = self.services.git, list[Candidate]()
        for waiting in others:
            if git.find_landed(replace(workspace, mark=waiting.mark, since=None)):
                continue  # already landed; its own node will notice that too
            if commit := git.fetch_commit(workspace, waiting.branch, waiting.commit):
                candidates.append(Candidate(key=waiting.task_id, commit=commit, spec=waiting.spec))
        return candidates

    async def _judge_together(self, work: JointWork, workspace: Workspace, state: AttemptState) -> Verdict:
        environment = await EnvironmentChoice(self.task, self.services, self._events).of(work.base)
        job = SuiteJob(
            base=work.base,
            change=work.change,
            given=work.given,
            own=work.own,
            own_proven=True,
            held=self._held,
            allow=self.task.spec.allow,
            language=self.task.spec.language,
            packages=state.packages,
            environment=environment.digest,
            whole_tree=not workspace.is_own,
            limits=self._run_limits(),
            granted=frozenset(subject_of(path, text) for path, text in work.change.items()),  # judged one by one before
        )
        regression = WithRegression(self.services.suite, self.services.imports, test_paths=self._test_paths)
        verdict = await regression.judge(job)
        return replace(verdict, evidence=replace(verdict.evidence, notes=(*verdict.evidence.notes, OF_UNMERGED)))

    async def _move(self, workspace: Workspace, candidate: Commit, tip: str) -> bool:
        git = self.services.git
        if not await asyncio.to_thread(git.publish, workspace, candidate.id, tip):
            await asyncio.to_thread(git.follow, workspace, workspace.target)
            return False
        await asyncio.to_thread(git.advance, workspace, candidate, tip)  # no effect if `follow` has already moved it
        return True

    async def _push(self, workspace: Workspace, end: Landed) -> Landed:
        """Record that the commit is at the remote, where landing has already put it."""
        await asyncio.wrap_future(self.services.state.record_push(str(workspace.repo), end.commit or ""))
        return end
