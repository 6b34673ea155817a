"""Synchronises one repository at a forge with the queue.

Issues and comments become tasks and messages; progress and finished branches are sent to the forge.

Each look compares the forge with the queue and does what is missing. Each step can be repeated: a task is found again
by its key, a comment by its marker, and a pull request by its branch. A daemon that dies between two requests does the
rest later, and nothing twice. A forge that is unavailable or asks for a pause is left alone; missing steps are found
again afterwards.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any, TypeVar

from nightshift.core.clock import Clock
from nightshift.core.errors import GitError, IllegalMove, InvalidTask, UnknownTask
from nightshift.core.events import Emitter, Kind, Level
from nightshift.core.ports import Sink
from nightshift.core.status import ForgeStatus
from nightshift.core.tasks.forking import Amendment
from nightshift.core.tasks.queueing import Submitted
from nightshift.core.tasks.revisions import PushResult
from nightshift.core.tasks.states import ENDED, Ending, Status
from nightshift.core.tasks.task import Task, TaskSpec
from nightshift.core.text.formats import duration
from nightshift.git.remotes import FETCHED
from nightshift.queue.manager import QueueManager
from nightshift.remote.forges import labels, specs, texts
from nightshift.remote.forges.connections import Connection
from nightshift.remote.forges.forge import Forge
from nightshift.remote.forges.kept import Followup, Kept, KeptPull, Tracked
from nightshift.remote.forges.port import (
    Comment,
    ForgeAway,
    ForgeRefused,
    Issue,
    Proposal,
    Pull,
    PullState,
    Remark,
    Seen,
    Watch,
)
from nightshift.remote.forges.texts import Evidence, Mask
from nightshift.storage.db.codec import decode, to_json_value
from nightshift.storage.db.state_store import StateStore

T = TypeVar("T")
FIRST_REST_S, LONGEST_REST_S = 30.0, 1800.0
REFUSED_REST_S = 600.0
AGAIN_S = 1800.0
"""Seconds after which a refused step for one issue is tried again. If the step's content has changed, it is tried at
once.
"""
ROUNDS = 3
"""Maximum number of tasks for failed checks of one pull request. If this many tasks did not fix the checks, another
task would not either.
"""
CLOSED, SHUT = "its issue was closed, or lost its label", "its pull request was closed"
OVER = "Its work is over: for what else is to be done, file another issue."
UNSAID = "its comment was deleted, or asks for nothing any more"


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """The services of the daemon that a connection needs. `push`, `fetch`, `evidence` and `base` block.

    Attributes:
        push: pushes a branch. Its arguments are the checkout, the branch and the task id.
        fetch: fetches a branch, given the checkout and the branch. Returns the local name of the fetched branch, or ""
            if there is no remote branch. Raises `GitError`.
        evidence: returns the evidence of a commit, given the checkout and the commit.
        base: returns the branch that the owner set for a checkout, or None.
    """

    queue: QueueManager
    state: StateStore
    push: Callable[[str, str, int], PushResult]
    fetch: Callable[[str, str], str]
    evidence: Callable[[str, str], Evidence]
    base: Callable[[str], str | None]
    label: Callable[[], str]
    emit: Sink
    mask: Mask
    clock: Clock


class Sync:
    """Synchronises one connection.

    Args:
        connection: the repository.
        forge: the forge of the repository.
        services: the daemon's services.
    """

    def __init__(self, connection: Connection, forge: Forge, services: Services) -> None:
        self.connection, self._forge, self._services = connection, forge, services
        self._events = Emitter(services.emit)
        self._record: Kept | None = None
        self._branch = ""
        self._failures, self._fault = 0, ""
        self._rests_until: datetime | None = None
        self._looked_at: datetime | None = None
        self._strangers = 0
        self._refused: dict[tuple[str, int], tuple[str, datetime, str]] = {}

    # --- Status of the connection

    @property
    def tasks(self) -> frozenset[int]:
        """The tasks whose progress is reported at the forge."""
        issues = (self._record or Kept()).issues.values()
        ids = (each for issue in issues for each in (issue.task_id, *(other.task_id for other in issue.followups)))
        return frozenset(each for each in ids if each is not None)

    @property
    def rests(self) -> bool:
        """True while the forge must be left alone. A pause ends early if the clock was set back during it."""
        until, now = self._rests_until, self._services.clock()
        return until is not None and now < until <= now + timedelta(hours=3)

    def status(self) -> ForgeStatus:
        """Return the status of the connection."""
        issues = (self._record or Kept()).issues.values()
        strangers = (
            [f"{self._strangers} issues have the label, but their authors may not give tasks"]
            if self._strangers
            else []
        )
        return ForgeStatus(
            address=self.connection.address,
            kind=self.connection.kind,
            repo=self.connection.repo,
            fault=self._fault,
            looked_at=self._looked_at,
            rests_until=self._rests_until if self._fault else None,
            issues=sum(each.wanted for each in issues),
            pulls=sum(each.pull is not None and each.pull.state is PullState.OPEN for each in issues),
            notes=(*strangers, *(why for _, _, why in self._refused.values())),
        )

    # --- Looks at the forge

    async def look(self) -> None:
        """Look for changes at the forge and act on them. Does nothing while the forge must be left alone."""
        await self._minding(self._look)

    async def tell(self) -> None:
        """Update the forge with the progress of tasks, without looking for changes there."""
        await self._minding(self._tell)

    async def _minding(self, job: Callable[[], Awaitable[None]]) -> None:
        """Run a job, unless the forge must be left alone.

        Begin a pause if the forge asks for it, refuses, or is unavailable.
        """
        if self.rests:
            return
        try:
            await job()
        except ForgeAway as away:
            rest_s = min(LONGEST_REST_S, FIRST_REST_S * 2.0 ** min(self._failures, 16))
            self._rest(str(away), away.rest_s if away.rest_s is not None else rest_s)
        except ForgeRefused as refused:
            self._rest(str(refused), REFUSED_REST_S)
        else:
            self._failures, self._fault, self._rests_until = 0, "", None

    def _rest(self, why: str, rest_s: float) -> None:
        why = self._services.mask(why)
        if why != self._fault:
            text = f"{self.connection.address}: {why}; Nightshift tries again in {duration(rest_s)}"
            self._events.emit(Kind.FORGE_FAILED, text, level=Level.WARNING, address=self.connection.address)
        self._failures, self._fault = self._failures + 1, why
        self._rests_until = self._services.clock() + timedelta(seconds=rest_s)

    async def _look(self) -> None:
        issues = self._read_kept().issues.values()
        pulls = [each.pull for each in issues if each.pull]
        seen = await self._forge.look(
            Watch(
                label=self._services.label(),
                issues=frozenset(each.number for each in issues if each.wanted),
                pulls=frozenset(pull.number for pull in pulls),
                open_pulls=frozenset(pull.number for pull in pulls if pull.state is PullState.OPEN),
            )
        )
        self._branch, self._strangers = seen.branch, 0
        for issue in seen.issues:
            await self._take(issue)
            await self._hear(issue)
        await self._refresh_base()
        await self._follow(seen)
        await self._tell()
        self._looked_at = self._services.clock()

    # --- Issues and their tasks

    async def _take(self, issue: Issue) -> None:
        """Submit the task of an issue, or update its task after the issue has changed."""
        label = self._services.label().lower()
        wanted = issue.open and label in {each.lower() for each in issue.labels}
        before = self._read_kept().issues.get(issue.number)
        if before is None and (not wanted or not issue.author.permitted):
            self._strangers += wanted
            return
        tracked = before or Tracked(number=issue.number, key=specs.key(self.connection, issue.number))
        text = _digest(issue.title, issue.text, *sorted(issue.labels))
        if not wanted and tracked.wanted:
            await self._withdraw(tracked.task_id, CLOSED)
        elif wanted and issue.author.permitted and (text != tracked.text or not tracked.wanted or tracked.fault):
            tracked = await self._submit_issue(tracked, issue)
            tracked = replace(tracked, text=text)
        await self._keep(replace(tracked, wanted=wanted))

    async def _submit_issue(self, tracked: Tracked, issue: Issue) -> Tracked:
        """Submit or update the task of an issue. Faults are stored for the comment to the issue's author."""
        try:
            base = await self._base()
            spec, faults = specs.of_issue(self.connection, issue, self._services.label(), base)
            sent = await self._submit(spec)
            edited = tracked.text and _digest(issue.title, issue.text, *sorted(issue.labels)) != tracked.text
            note = await self._change_task(sent, spec, CLOSED) if not sent.created else ""
        except InvalidTask as error:
            return replace(tracked, fault=_faults(error))
        return replace(tracked, task_id=sent.task_id, fault=" ".join(faults), note=note if edited else tracked.note)

    async def _base(self) -> str:
        """Fetch the branch from which tasks start, and return its name; the local branch if it cannot be fetched."""
        services, repo = self._services, self.connection.repo
        branch = await asyncio.to_thread(services.base, repo) or self._branch

        async def fetch() -> str:
            try:
                return await asyncio.to_thread(services.fetch, repo, branch)
            except GitError as error:
                raise ForgeRefused(0, str(error)) from error

        return await self._attempt("fetch", 0, branch, fetch) or branch

    async def _refresh_base(self) -> None:
        """Fetch the base again if a task has not begun, since that task will start from the latest state."""
        tasks = map(self._task, (each.task_id for each in self._read_kept().issues.values()))
        if any(task and not task.attempt and task.status not in ENDED for task in tasks):
            await self._base()

    async def _hear(self, issue: Issue) -> None:
        """Pass comments on the issue to its task, as long as the task is open or failed.

        Comments that come after the task is done become follow-ups.
        """
        tracked, queue = self._read_kept().issues.get(issue.number), self._services.queue
        for remark in filter(specs.asks, issue.remarks or ()):
            task = self._task(tracked.task_id) if tracked else None
            if tracked is None or task is None or specs.is_heard(self._list_said(task), remark, exactly=True):
                continue
            text = specs.words(self.connection, issue.number, remark)
            try:
                if task.status not in ENDED and not task.cancel_requested:
                    await asyncio.wrap_future(queue.say(task.id, text))
                elif task.status is Status.FAILED and not specs.is_heard(self._list_said(task), remark, exactly=False):
                    await asyncio.wrap_future(queue.retry(task.id, Amendment(note=text)))
                elif self._is_over(tracked, task) and tracked.note != OVER:
                    tracked = await self._keep(replace(tracked, note=OVER))
            except IllegalMove:  # the task has just ended, and the next look handles that
                continue
            except InvalidTask as error:
                tracked = await self._keep(replace(tracked, note=f"A comment was not passed on: {_faults(error)}"))

    @staticmethod
    def _is_over(tracked: Tracked, task: Task) -> bool:
        """Check whether the issue can lead to no more follow-ups."""
        ended = tracked.pull is not None and tracked.pull.state is not PullState.OPEN
        return task.status is Status.DONE and (ended or task.ending is not Ending.COMMITTED)

    def _list_said(self, task: Task) -> list[str]:
        """List all texts that a task was given: its description, and the messages after it."""
        return [task.spec.description, *(each.text for each in self._services.queue.list_messages(task.id))]

    async def _submit(self, spec: TaskSpec) -> Submitted:
        sent = await asyncio.wrap_future(self._services.queue.submit(spec))
        if sent.created:
            text = f"{spec.metadata['url']} requested task {sent.task_id}"
            self._events.bind(task_id=sent.task_id).emit(Kind.FORGE_TASK, text, address=self.connection.address)
        return sent

    async def _change_task(self, sent: Submitted, spec: TaskSpec, withdrawn: str) -> str:
        """Update an existing task after its request has changed.

        Returns a note for the author of the request, or an empty string.
        """
        queue = self._services.queue
        task = queue.get(sent.task_id)
        if task.status is Status.CANCELLED and task.reason == withdrawn:  # the request was restored
            task = await asyncio.wrap_future(queue.retry(task.id))
        if not sent.differs:
            return ""
        if task.status is Status.DONE:
            return "The issue was edited after its task was done; to request more changes, comment on the pull request."
        begun = bool(task.attempt)
        task = await asyncio.wrap_future(queue.revise(task.id, spec))
        if task.status is Status.FAILED:
            await asyncio.wrap_future(queue.retry(task.id))
            return "The issue was edited after its task had failed; Nightshift retries the task with the new text."
        return "The issue was edited after its task had begun; the next attempt uses the new text." if begun else ""

    async def _withdraw(self, task_id: int | None, why: str) -> None:
        """Cancel a task if it has not begun; a task that has begun continues."""
        task = self._task(task_id)
        if task is not None and not task.attempt and task.status not in ENDED:
            await asyncio.wrap_future(self._services.queue.withdraw(task.id, why))

    # --- Pull requests and follow-ups

    async def _follow(self, seen: Seen) -> None:
        pulls = {pull.number: pull for pull in seen.pulls}
        issues = {issue.number: issue for issue in seen.issues}
        for tracked in list(self._read_kept().issues.values()):
            if tracked.pull and (pull := pulls.get(tracked.pull.number)):
                issue = issues.get(tracked.number)
                fields = labels.read(issue.labels, self._services.label())[0] if issue else {}
                await self._follow_one(tracked, tracked.pull, pull, issue, fields)

    async def _follow_one(
        self, tracked: Tracked, before: KeptPull, pull: Pull, issue: Issue | None, fields: Mapping[str, Any]
    ) -> None:
        pull = replace(pull, branch=before.branch)  # keep our own branch, whatever name the answer contains
        pull = replace(pull, remarks=(*pull.remarks, *self._unheard(tracked, issue)))
        tracked = replace(tracked, pull=replace(before, state=pull.state))
        if pull.state is not PullState.OPEN:
            for each in tracked.followups:
                await self._withdraw(each.task_id, SHUT)
            await self._keep(tracked)
            return
        try:
            asked = self._list_follow_ups(tracked, pull, fields)
        except InvalidTask as error:  # a label sets an invalid value
            await self._keep(replace(tracked, fault=_faults(error)))
            return
        for part, (spec, what) in asked.items():
            tracked = await self._submit_follow_up(tracked, part, spec, what)
        keys = {spec.key for spec, _ in asked.values()}
        for each in tracked.followups:
            looked_up = not each.of_checks and not (each.of_issue and (issue is None or issue.remarks is None))
            if each.key not in keys and looked_up:
                await self._withdraw(each.task_id, UNSAID)
        await self._keep(tracked)

    def _unheard(self, tracked: Tracked, issue: Issue | None) -> Iterator[Remark]:
        """Yield the comments on the issue that came too late for its task. Yields nothing before the task is done."""
        task = self._task(tracked.task_id)
        if issue and task and task.status is Status.DONE:
            messages = self._list_said(task)
            yield from (each for each in issue.remarks or () if not specs.is_heard(messages, each, exactly=False))

    def _list_follow_ups(
        self, tracked: Tracked, pull: Pull, fields: Mapping[str, Any]
    ) -> dict[str, tuple[TaskSpec, str]]:
        """Map the origin of each follow-up that is requested now to its task and a one-line description."""
        asked: dict[str, tuple[TaskSpec, str]] = {}
        for remark in filter(specs.asks, pull.remarks):
            spec = specs.of_remark(self.connection, tracked.number, pull, remark, fields)
            asked[remark.id] = spec, specs.line(remark.text, 100)
        if self._to_be_mended(tracked, pull):
            failed = pull.failed or ()
            spec = specs.of_checks(self.connection, tracked.number, pull, failed, fields)
            names = ", ".join(specs.line(each.name, 60) for each in failed)
            asked[specs.checks_part(pull)] = spec, f"failed checks: {names}"
        return asked

    def _to_be_mended(self, tracked: Tracked, pull: Pull) -> bool:
        """Check whether a follow-up for failed checks is needed.

        It is needed if the failed commit is ours, no follow-up is running, and fewer than `ROUNDS` follow-ups were for
        checks.
        """
        ours = {tracked.pushed, *(each.pushed for each in tracked.followups)}
        open_ones = [each for each in map(self._task, (followup.task_id for followup in tracked.followups)) if each]
        rounds = sum(each.of_checks for each in tracked.followups)
        under_way = any(task.status not in ENDED for task in open_ones)
        return bool(pull.failed) and pull.head in ours and not under_way and rounds < ROUNDS

    async def _submit_follow_up(self, tracked: Tracked, part: str, spec: TaskSpec, what: str) -> Tracked:
        """Submit a follow-up once. Update it if its comment was edited, or if its pull request was reopened."""
        text, key = _digest(spec.description), spec.key or ""
        earlier_followup = next((each for each in tracked.followups if each.key == key), None)
        task = self._task(earlier_followup.task_id) if earlier_followup else None
        withdrawn = task is not None and task.status is Status.CANCELLED and task.reason in {SHUT, UNSAID, CLOSED}
        if earlier_followup and earlier_followup.text == text and not withdrawn:
            return tracked
        try:
            sent = await self._submit(spec)
            if not sent.created:
                await self._change_task(sent, spec, task.reason if task and withdrawn else SHUT)
        except InvalidTask as error:
            return replace(tracked, fault=_faults(error))
        pushed = earlier_followup.pushed if earlier_followup else ""
        followup = Followup(key=key, task_id=sent.task_id, what=what, text=text, pushed=pushed, part=part)
        followups = (*(each for each in tracked.followups if each.key != key), followup)
        return replace(tracked, followups=tuple(sorted(followups, key=lambda each: each.task_id)))

    # --- Progress and branches for the forge

    async def _tell(self) -> None:
        """Push finished work, open pull requests, and write the comments about progress."""
        for tracked in list(self._read_kept().issues.values()):
            if (task := self._task(tracked.task_id)) is not None:
                tracked = await self._hand_over(tracked, task)  # noqa: PLW2901  the same issue, further on
            await self._comment(tracked, task)
            if tracked.pull and tracked.followups:
                await self._comment_pull(self._read_kept().issues[tracked.number])

    async def _hand_over(self, tracked: Tracked, task: Task) -> Tracked:
        """Push the task's branch and open its pull request.

        If the pull request exists already, push the commits of follow-ups.
        """
        committed = task.status is Status.DONE and task.ending is Ending.COMMITTED and task.commit and task.branch
        if not committed or (not tracked.pull and not tracked.wanted):
            return tracked
        commit, branch = task.commit or "", task.branch or ""
        if tracked.pushed != commit and not await self._push(tracked, branch, task.id):
            return tracked
        tracked = await self._keep(replace(tracked, pushed=commit))
        if tracked.pull is None:
            tracked = await self._propose(tracked, task, branch)
        for each in tracked.followups if tracked.pull else ():
            tracked = await self._push_followup(tracked, each, branch)
        return tracked

    async def _propose(self, tracked: Tracked, task: Task, branch: str) -> Tracked:
        services = self._services
        evidence = await asyncio.to_thread(services.evidence, self.connection.repo, task.commit or "")
        proposal = Proposal(
            branch=branch,
            base=(task.spec.base or self._branch).removeprefix(FETCHED),
            title=texts.title(task.spec.description.partition("\n")[0], services.mask),
            text=texts.proposal(task, evidence, branch, tracked.number, services.mask),
        )
        pull = await self._attempt("pull request", tracked.number, proposal.text, lambda: self._forge.propose(proposal))
        if pull is None:
            return tracked
        text = f"{pull.url} proposes the work of task {task.id}"
        self._events.bind(task_id=task.id).emit(Kind.FORGE_PROPOSED, text, address=self.connection.address)
        new_pull = KeptPull(number=pull.number, url=pull.url, branch=branch, state=pull.state)
        return await self._keep(replace(tracked, pull=new_pull))

    async def _push_followup(self, tracked: Tracked, followup: Followup, branch: str) -> Tracked:
        task = self._task(followup.task_id)
        if task is None or not task.commit or task.commit == followup.pushed or not self._has_joined(task, branch):
            return tracked
        if not await self._push(tracked, branch, task.id):
            return tracked
        done = replace(followup, pushed=task.commit)
        others = tuple(done if each.key == done.key else each for each in tracked.followups)
        return await self._keep(replace(tracked, followups=others))

    def _has_joined(self, task: Task, branch: str) -> bool:
        """Check whether a follow-up's commit has been integrated into the pull request's branch."""
        entries = self._services.state.commits(5, task_id=task.id)
        return any(
            each.integrated and each.commit == task.commit and each.target == f"refs/heads/{branch}" for each in entries
        )

    async def _push(self, tracked: Tracked, branch: str, task_id: int) -> bool:
        async def push() -> bool:
            result = await asyncio.to_thread(self._services.push, self.connection.repo, branch, task_id)
            if not result.pushed:
                raise ForgeRefused(0, result.detail)
            return True

        return bool(await self._attempt("push", tracked.number, f"{branch} {task_id}", push))

    async def _comment(self, tracked: Tracked, task: Task | None) -> None:
        services, parts = self._services, list[str]()
        if task:
            questions = [each.ask.question for each in services.queue.approvals(task_id=task.id)]
            parts.append(texts.standing(task, services.mask, questions))
        parts += [texts.fence(tracked.fault, services.mask)] if tracked.fault else []
        parts += [tracked.note] if tracked.note else []
        parts += [texts.describe_heard(count)] if task and (count := specs.count_heard(self._list_said(task))) else []
        if tracked.pull:
            parts.append(texts.became(tracked.pull.number, self.connection.pull_sign, tracked.pull.state))
        elif task and task.branch and not tracked.wanted:
            parts.append(
                f"Nightshift did not propose the branch {texts.span(task.branch, services.mask)}, because {CLOSED}."
            )
        text, number = texts.progress(parts), tracked.number
        if not parts or _digest(text) == tracked.said:
            return
        comment = Comment(number=number, on_pull=False, marker=texts.marker(tracked.key), text=text, id=tracked.comment)
        written = await self._attempt("comment", number, text, lambda: self._forge.comment(comment))
        if written:
            await self._keep(replace(tracked, comment=written, said=_digest(text)))

    async def _comment_pull(self, tracked: Tracked) -> None:
        pull = tracked.pull
        assert pull is not None
        parts = [text async for text in self._entries(tracked, pull)]
        text = texts.progress(["\n".join(parts)])
        if _digest(text) == pull.said:
            return
        key = specs.key(self.connection, tracked.number, "pull")
        comment = Comment(number=pull.number, on_pull=True, marker=texts.marker(key), text=text, id=pull.comment)
        written = await self._attempt("comment", -pull.number, text, lambda: self._forge.comment(comment))
        if written:
            await self._keep(replace(tracked, pull=replace(pull, comment=written, said=_digest(text))))

    async def _entries(self, tracked: Tracked, pull: KeptPull) -> AsyncIterator[str]:
        services = self._services
        for each in tracked.followups:
            if (task := self._task(each.task_id)) is None:
                continue
            evidence, reason = None, ""
            if task.commit:
                evidence = await asyncio.to_thread(services.evidence, self.connection.repo, task.commit)
                if not self._has_joined(task, pull.branch):
                    reason = f" Its change is not on this branch: {texts.span(task.reason, services.mask)}"
            yield texts.describe_follow_up(task, each.what, evidence, services.mask, reason)

    # --- Stored state of the issues

    def _read_kept(self) -> Kept:
        if self._record is None:
            row = self._services.state.get(self._state_key)
            self._record = decode(Kept, json.dumps(row)) if row else Kept()
        return self._record

    @property
    def _state_key(self) -> str:
        return f"forge:{self.connection.id}"

    async def _keep(self, tracked: Tracked) -> Tracked:
        """Store an issue's state if it has changed."""
        if self._read_kept().issues.get(tracked.number) != tracked:
            self._record = self._read_kept().with_issue(tracked)
            await asyncio.wrap_future(self._services.state.set(self._state_key, to_json_value(self._record)))
        return tracked

    def _task(self, task_id: int | None) -> Task | None:
        if task_id is None:
            return None
        try:
            return self._services.queue.get(task_id)
        except UnknownTask:  # the database was replaced, or is an older one
            return None

    async def _attempt(self, what: str, number: int, text: str, step: Callable[[], Awaitable[T]]) -> T | None:
        """Run a step that a forge may refuse for one issue without affecting other issues.

        A refused step is not repeated for a while, unless its content has changed. Returns None if the forge refuses
        the step, or has refused it a short time ago.

        Args:
            what: the name of the step.
            number: the number of the issue; negative for a pull request.
            text: the step's content.
            step: does the step.
        """
        key, digest, now = (what, number), _digest(text), self._services.clock()
        before = self._refused.get(key)
        if before and before[0] == digest and abs((now - before[1]).total_seconds()) < AGAIN_S:
            return None
        try:
            result = await step()
        except ForgeRefused as refused:
            if refused.status == HTTPStatus.UNAUTHORIZED:
                raise
            self._refused[key] = digest, now, self._report_refused(what, number, str(refused))
            return None
        self._refused.pop(key, None)
        return result

    def _report_refused(self, what: str, number: int, why: str) -> str:
        """Report a refusal, and return its text."""
        about = f" of #{abs(number)}" if number else ""
        refusal = f"{what}{about}: {self._services.mask(why)}"
        text = f"{self.connection.address}: {refusal}"
        self._events.emit(Kind.FORGE_FAILED, text, level=Level.WARNING, address=self.connection.address)
        return refusal


def _digest(*parts: str) -> str:
    digest = hashlib.sha256()
    for part in parts:
        raw = part.encode("utf-8", "surrogatepass")
        digest.update(len(raw).to_bytes(8, "big") + raw)
    return digest.hexdigest()[:24]


def _faults(error: InvalidTask) -> str:
    return "\n".join(f"{name}: {why}" for name, why in error.fields.items())
