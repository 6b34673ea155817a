"""Workflows of the hub: for a shared task, for a node, for the hub's settings, and for turns to land on a branch.

The module imports nothing of this program, because Temporal's sandbox imports it again for each worker. A change must
not alter the order of commands in code that running workflows have already executed, unless it uses `workflow.patched`.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from datetime import datetime, timedelta
from typing import Any

from temporalio import workflow
from temporalio.common import Priority, RetryPolicy, SearchAttributeKey
from temporalio.exceptions import ActivityError, ApplicationError
from temporalio.exceptions import TimeoutError as TimedOut

ANY = "any"
"""Temporal task queue of tasks that need no label."""
WORKFLOWS = "nightshift"
"""Temporal task queue on which the workflows run."""
CONTROL = "control"
STATUS = SearchAttributeKey.for_keyword("NightshiftStatus")
REMOVED = "removed"
"""Error type of an attempt that failed because its node was removed."""
MAX_CRASHES = 5
_LONGEST = timedelta(days=365)
_SHORT = timedelta(seconds=30)
_ENDED = frozenset({"done", "failed", "cancelled"})


def workflow_of(task_id: int) -> str:
    """Return the id of a task's workflow."""
    return f"task-{task_id}"


def queue_of(needs: list[str]) -> str:
    """Return the Temporal task queue of tasks that need these labels. Nodes that have all the labels poll the queue."""
    return "+".join(sorted(needs)) or ANY


def step_of(priority: int) -> int:
    """Return Temporal's priority level, from 1 (first) to 5, for a task's priority, which is 1 by default."""
    return next(step for step, least in enumerate((10, 2, 0, -9, priority), 1) if priority >= least)


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """The description of a shared task.

    Attributes:
        fence: the fencing token of the task's last attempt.
        attempt: the number of the task's last attempt.
    """

    id: int
    title: str
    repository: str
    share: str
    needs: list[str] = field(default_factory=list)
    priority: int = 1
    not_before: str | None = None
    origin: str
    origin_name: str = ""
    origin_url: str = ""
    origin_task: int | None = None
    created_at: str
    fence: int = 0
    attempt: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Request(Described):
    """A shared task as its node submits it.

    Attributes:
        spec: the task as text; empty for a long task.
        blob: for a long task, the id of its text in the remote repository.
    """

    spec: str
    blob: str = ""
    depends_on: list[int] = field(default_factory=list)
    lease_s: float = 60.0


def renew_request(before: Request, words: Request) -> Request:
    """Return the task `before` with the specification of `words`. Its origin and dependencies stay the same."""
    return replace(
        words, origin=before.origin, origin_name=before.origin_name, origin_url=before.origin_url,
        origin_task=before.origin_task, created_at=before.created_at, depends_on=before.depends_on,
        fence=before.fence, attempt=before.attempt,
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """An owner's answer to a task's question. `approval_id` is the question's number on the node that asked."""

    id: int
    approval_id: int
    granted: bool
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts(Described):
    """The state of a shared task, as stored in the memo of its workflow."""

    status: str
    crashes: int = 0
    ending: str | None = None
    reason: str = ""
    node: str | None = None
    node_name: str | None = None
    node_url: str | None = None
    node_task: int | None = None
    cancel_requested: bool = False
    commit: str | None = None
    branch: str | None = None
    iterations: int = 0
    spent: str = "{}"
    signature: str = ""
    asks: str = ""
    replies: list[Reply] = field(default_factory=list)
    claimed_at: str | None = None
    ended_at: str | None = None


def facts_of(request: Request, status: str) -> Facts:
    """Return the state of a newly submitted task."""
    return Facts(**{each.name: getattr(request, each.name) for each in fields(Described)}, status=status)


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """An attempt that a node is asked to make."""

    request: Request
    fence: int
    priority: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of an attempt on a node.

    If `is_back` is True, the node gave the task back without a result, and any node may take it from `not_before` on.
    """

    is_back: bool = False
    status: str = ""
    ending: str = ""
    reason: str = ""
    not_before: str | None = None
    commit: str | None = None
    branch: str | None = None
    iterations: int = 0
    spent: str = "{}"
    signature: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Taker:
    """The node that has taken an attempt."""

    fence: int
    node: str
    name: str
    url: str
    task: int


@workflow.defn(name="SharedTask")
class SharedTask:
    """One shared task, from its submission to its end."""

    @workflow.init
    def __init__(self, request: Request) -> None:
        self._request = request
        self._attempt: workflow.ActivityHandle[Outcome] | None = None
        self._is_taken = False
        self._needed = dict[int, str]()
        self._dependants = list[int]()
        self._answered = 0
        self._facts = facts_of(request, "")

    @workflow.run
    async def run(self, request: Request) -> str:
        """Wait for the task's dependencies, let nodes attempt the task until it ends, and return its status."""
        if request.depends_on:
            self._show(status="blocked")
            if unmet := await self._await_needed():
                self._show(status="failed", ending="dependency", reason=unmet)
        while self._facts.status not in _ENDED:
            await self._await_time()
            if self._facts.cancel_requested:
                self._show(status="cancelled", ending="user", reason="cancelled by the owner")
            else:
                await self._have_attempted()
        self._show(ended_at=workflow.now().isoformat())
        while self._dependants:
            other = workflow.get_external_workflow_handle(workflow_of(self._dependants.pop()))
            with suppress(ApplicationError):  # the other task's workflow has ended
                await other.signal("needed_ended", args=[self._facts.id, self._facts.status])
        await workflow.wait_condition(workflow.all_handlers_finished)
        return self._facts.status

    def _show(self, **changes: Any) -> None:
        before = self._facts
        self._facts = replace(before, **changes)
        if self._facts != before:
            workflow.upsert_memo({"task": self._facts})
        if self._facts.status != before.status:
            workflow.upsert_search_attributes([STATUS.value_set(self._facts.status)])

    async def _await_needed(self) -> str:
        """Wait until all dependencies have ended. Return why the task can never begin, or an empty string."""
        for other in self._request.depends_on:
            while other not in self._needed:
                status = await workflow.execute_activity(
                    "standing", other, result_type=str, task_queue=WORKFLOWS, start_to_close_timeout=_SHORT
                )
                if status in _ENDED or not status:
                    self._needed[other] = status
                    break
                with suppress(ApplicationError):  # it has just ended: its status is read again
                    handle = workflow.get_external_workflow_handle(workflow_of(other))
                    await handle.signal("tell_end", self._facts.id)
                    break
        needed = self._request.depends_on
        await workflow.wait_condition(lambda: self._facts.cancel_requested or all(n in self._needed for n in needed))
        may_be_gone = self._request.fence > 0  # on a retry, an ended dependency may have been deleted
        unmet = [
            f"task {number} is {status or 'unknown'}"
            for number, status in self._needed.items()
            if status != "done" and not (may_be_gone and not status)
        ]
        return "" if self._facts.cancel_requested else ", ".join(unmet)

    async def _await_time(self) -> None:
        while (due := self._facts.not_before) and not self._facts.cancel_requested:
            rest = datetime.fromisoformat(due) - workflow.now()
            if rest <= timedelta(0):
                self._show(not_before=None)
                return
            self._show(status="scheduled")
            with suppress(TimeoutError):
                await workflow.wait_condition(
                    lambda: self._facts.cancel_requested or self._facts.not_before != due, timeout=rest
                )

    async def _have_attempted(self) -> None:
        """Let a node attempt the task once."""
        facts = self._facts
        self._show(
            status="queued", fence=facts.fence + 1, node=None, node_name=None, node_url=None, node_task=None, asks="",
            replies=[],
        )  # fmt: skip
        self._attempt = workflow.start_activity(
            "attempt",
            Assignment(request=self._request, fence=self._facts.fence, priority=facts.priority),
            result_type=Outcome,
            activity_id=str(self._facts.fence),
            task_queue=queue_of(self._request.needs),
            start_to_close_timeout=_LONGEST,
            heartbeat_timeout=timedelta(seconds=self._request.lease_s),
            retry_policy=RetryPolicy(maximum_attempts=1),
            priority=Priority(priority_key=step_of(facts.priority), fairness_key=facts.share[-64:] or None),
            cancellation_type=workflow.ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
        )
        try:
            outcome = await self._attempt
        except ActivityError as error:
            if self._is_taken:  # otherwise the attempt was withdrawn, or never began
                self._note_failure(error.cause)
            return
        finally:
            self._attempt, self._is_taken = None, False
        if outcome.is_back:
            self._show(reason=outcome.reason, not_before=outcome.not_before, crashes=0)
            return
        self._show(
            status=outcome.status, ending=outcome.ending, reason=outcome.reason, commit=outcome.commit,
            branch=outcome.branch, iterations=outcome.iterations, spent=outcome.spent, signature=outcome.signature,
            asks="",
        )  # fmt: skip

    def _note_failure(self, cause: BaseException | None) -> None:
        """Record why an attempt on a node has no result."""
        if isinstance(cause, ApplicationError) and cause.type == REMOVED:
            self._show(reason=f"{self._facts.node_name} was removed")
            return
        crashes, lost = self._facts.crashes + 1, isinstance(cause, TimedOut)
        reason = f"{self._facts.node_name} was lost" if lost else f"{self._facts.node_name}: {cause}"
        self._show(crashes=crashes, reason=reason)
        if crashes >= MAX_CRASHES and not self._facts.cancel_requested:
            self._show(status="failed", ending="crashed", reason=f"set aside after {crashes} nodes: {reason}")

    async def _call_back(self) -> None:
        """Withdraw the attempt from its task queue, unless a node has taken it.

        Returns when the next attempt is queued, or when a node has taken this attempt after all.
        """
        attempt = self._attempt
        if attempt and not self._is_taken:
            attempt.cancel()
            await workflow.wait_condition(lambda: self._attempt is not attempt or self._is_taken)

    # Messages from other workflows and from nodes.

    @workflow.signal(name="needed_ended")
    def note_needed_end(self, task_id: int, status: str) -> None:
        """Record that a task on which this one depends has ended."""
        self._needed[task_id] = status

    @workflow.signal
    def tell_end(self, task_id: int) -> None:
        """Register a task that depends on this one, so that it is notified when this one ends."""
        self._dependants.append(task_id)

    @workflow.signal(name="taken")
    def note_taker(self, taker: Taker) -> None:
        """Record the node that has the attempt."""
        if self._is_current(taker.fence) and not self._is_taken:
            self._is_taken = True
            self._show(
                status="running", attempt=self._facts.attempt + 1, claimed_at=workflow.now().isoformat(),
                node=taker.node, node_name=taker.name, node_url=taker.url, node_task=taker.task, reason="",
            )  # fmt: skip

    @workflow.signal
    def asks(self, fence: int, text: str) -> None:
        """Record the questions that the attempt asks the owner, as JSON.

        An empty text means that no question is open any more.
        """
        if self._is_current(fence) and self._is_taken:
            self._show(status="waiting" if text else "running", asks=text)

    @workflow.signal
    def read_replies(self, numbers: list[int]) -> None:
        """Remove the owner's answers that the node has read."""
        self._show(replies=[reply for reply in self._facts.replies if reply.id not in numbers])

    def _is_current(self, fence: int) -> bool:
        return self._attempt is not None and fence == self._facts.fence

    # Operations for owners.

    @workflow.update
    async def cancel(self) -> str:
        """Cancel the task, or ask its node to cancel it; return the status after that."""
        self._show(cancel_requested=True)
        await self._call_back()
        await workflow.wait_condition(lambda: self._is_taken or self._facts.status in _ENDED)
        return self._facts.status

    @workflow.update
    async def prioritise(self, priority: int) -> str:
        """Set the task's priority; return the status after that."""
        is_other = step_of(priority) != step_of(self._facts.priority)
        self._show(priority=priority)
        if is_other:
            await self._call_back()
        return self._facts.status

    @workflow.update
    def answer(self, approval_id: int, granted: bool, text: str) -> str:
        """Store the owner's answer for the node that asks; return the status after that."""
        if self._facts.status != "waiting":
            raise ApplicationError(f"task {self._facts.id} is {self._facts.status} and asks nothing", type="illegal")
        self._answered += 1
        reply = Reply(id=self._answered, approval_id=approval_id, granted=granted, text=text)
        self._show(replies=[*self._facts.replies, reply])
        return self._facts.status

    @workflow.update
    async def revise(self, request: Request) -> str:
        """Replace the task's specification, unless another node works on the task; return the status after that."""
        facts = self._facts
        if self._is_taken and request.origin != facts.node:
            raise ApplicationError(f"task {facts.id} is being worked on by {facts.node_name}", type="illegal")
        self._request = renew_request(self._request, request)
        self._show(
            title=request.title, repository=request.repository, share=request.share, needs=request.needs,
            priority=request.priority, not_before=facts.not_before if self._is_taken else request.not_before,
        )  # fmt: skip
        await self._call_back()
        return self._facts.status


@dataclass(frozen=True, slots=True, kw_only=True)
class Presence:
    """A node's description of itself. The workflow sets `is_up` and `seen_at`."""

    id: str
    name: str
    public_key: str = ""
    labels: list[str] = field(default_factory=list)
    slots: int = 0
    busy: int = 0
    held: int = 0
    state: str = ""
    url: str = ""
    version: str = ""
    lease_s: float = 60.0
    joined_at: str = ""
    seen_at: str = ""
    is_up: bool = True
    is_draining: bool = False


@workflow.defn(name="Node")
class NodePresence:
    """The workflow of one node: its description, whether it is up, and whether it drains (takes no new tasks)."""

    @workflow.init
    def __init__(self, node: Presence) -> None:
        self._node, self._beats = node, 0

    @workflow.run
    async def run(self, node: Presence) -> None:  # noqa: ARG002  as `__init__`
        """Mark the node as down when no heartbeat arrives for longer than its lease."""
        seen = 0
        while not workflow.info().is_continue_as_new_suggested():
            try:
                timeout = timedelta(seconds=self._node.lease_s) if self._node.is_up else None
                await workflow.wait_condition(lambda seen=seen: self._beats > seen, timeout=timeout)  # type: ignore[misc]
            except TimeoutError:
                self._show(is_up=False)
            seen = self._beats
        workflow.continue_as_new(self._node)

    def _show(self, **changes: Any) -> None:
        self._node = replace(self._node, **changes)
        workflow.upsert_memo({"node": self._node})

    @workflow.signal
    def beat(self, node: Presence) -> None:
        """Record a heartbeat with the node's current description."""
        self._beats += 1
        self._node = replace(node, joined_at=self._node.joined_at, is_draining=self._node.is_draining)
        now = workflow.now().isoformat()
        self._show(seen_at=now, joined_at=self._node.joined_at or now)

    @workflow.update
    def drain(self, draining: bool) -> None:
        """Stop the node from taking new tasks, or let it take tasks again."""
        self._show(is_draining=draining)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings for all nodes.

    Attributes:
        paused: the reason why no node takes tasks; None if nodes take tasks.
        workspace: the remote repository that the workspaces of all nodes follow.
        numbers: maps node ids to the numbers of nodes.
        keys: maps node ids to public keys.
        removed: maps the ids of removed nodes to their public keys.
        queues: maps each Temporal task queue in use to the labels that its tasks need.
    """

    paused: str | None = None
    workspace: str = ""
    numbers: dict[str, int] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)
    removed: dict[str, str] = field(default_factory=dict)
    queues: dict[str, list[str]] = field(default_factory=dict)


@workflow.defn(name="Control")
class Control:
    """The workflow that stores the hub's settings."""

    @workflow.init
    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    @workflow.run
    async def run(self, settings: Settings) -> None:  # noqa: ARG002  as `__init__`
        """Store the settings until the history is so long that the workflow must continue as a new run."""
        workflow.upsert_memo({"settings": self._settings})
        await workflow.wait_condition(lambda: workflow.info().is_continue_as_new_suggested())
        await workflow.wait_condition(workflow.all_handlers_finished)
        workflow.continue_as_new(self._settings)

    @workflow.update
    def join(self, node: str, key: str) -> int:
        """Register a node, and return its number."""
        settings = self._settings
        if node in settings.removed or key in settings.removed.values():
            raise ApplicationError("the hub's owner has removed this node", type=REMOVED)
        if settings.keys.get(node, key) != key:
            raise ApplicationError("the hub knows this node's id with another key", type="refused")
        number = settings.numbers.get(node) or len(settings.numbers) + 1
        self._set(numbers={**settings.numbers, node: number}, keys={**settings.keys, node: key})
        return number

    @workflow.update
    def remove(self, node: str, at: bool) -> None:
        """Bar a node from joining, or allow it again."""
        others = {other: key for other, key in self._settings.removed.items() if other != node}
        self._set(removed={**others, node: self._settings.keys.get(node, "")} if at else others)

    @workflow.update
    def pause(self, reason: str | None) -> None:
        """Stop all nodes from taking tasks, for a reason; None lets them take tasks again."""
        self._set(paused=reason)

    @workflow.update
    def follow(self, workspace: str) -> None:
        """Set the remote that the workspaces of all nodes follow."""
        self._set(workspace=workspace)

    @workflow.signal
    def poll(self, needs: list[str]) -> None:
        """Register a combination of labels that tasks need, so that nodes poll its task queue."""
        if queue_of(needs) not in self._settings.queues:
            self._set(queues={**self._settings.queues, queue_of(needs): needs})

    def _set(self, **changes: Any) -> None:
        before, self._settings = self._settings, replace(self._settings, **changes)
        if self._settings != before:
            workflow.upsert_memo({"settings": self._settings})


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A task that is ready to land. If `commit` is set, any node may land it from `branch` at the remote."""

    task_id: int
    fence: int
    node: str
    commit: str = ""
    branch: str = ""
    kind: str = ""
    signature: str = ""
    landed_as: str | None = None
    is_alone: bool = False
    renewed_at: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """The tasks that are ready to land on one branch, in order. The turn belongs to the first."""

    lease_s: float
    entries: list[Entry] = field(default_factory=list)


@workflow.defn(name="Landing")
class LandingLine:
    """The workflow that gives tasks their turns to land on one branch. It ends when no task waits."""

    @workflow.init
    def __init__(self, line: Line) -> None:
        self._lease = timedelta(seconds=line.lease_s)
        self._entries = {entry.task_id: entry for entry in line.entries}
        self._changes = 0

    @workflow.run
    async def run(self, line: Line) -> None:
        """Remove entries that were not renewed within the lease. Ends when no task waits."""
        seen, is_waited_for = 0, True
        while is_waited_for:
            if workflow.info().is_continue_as_new_suggested():
                workflow.continue_as_new(replace(line, entries=list(self._entries.values())))
            with suppress(TimeoutError):
                await workflow.wait_condition(lambda seen=seen: self._changes != seen, timeout=self._lease)  # type: ignore[misc]
            seen = self._changes
            oldest = workflow.now() - self._lease
            for entry in list(self._entries.values()):
                if datetime.fromisoformat(entry.renewed_at) <= oldest:
                    del self._entries[entry.task_id]
                    self._note_change()
            is_waited_for = bool(self._entries)

    @workflow.signal
    def enter(self, entry: Entry) -> None:
        """Add or update the entry of a task that waits for its turn."""
        earlier_entry = self._entries.get(entry.task_id)
        if earlier_entry and earlier_entry.fence == entry.fence:
            entry = replace(entry, landed_as=earlier_entry.landed_as, is_alone=earlier_entry.is_alone)
        self._put(entry)

    @workflow.signal
    def renew(self, task_id: int, fence: int) -> None:
        """Renew the entry of a task that waits for its turn or is landing."""
        if (entry := self._entries.get(task_id)) and entry.fence == fence:
            self._put(entry)

    @workflow.signal
    def leave(self, task_id: int, fence: int) -> None:
        """Remove a task's entry."""
        if (entry := self._entries.get(task_id)) and entry.fence == fence:
            del self._entries[task_id]
            self._note_change()

    @workflow.signal
    def end(self, landed: dict[str, str | None]) -> None:
        """Record each task's landed commit. None in place of a commit means that the task must land alone."""
        for number, commit in landed.items():
            if entry := self._entries.get(int(number)):
                self._put(replace(entry, landed_as=commit, is_alone=commit is None))

    def _put(self, entry: Entry) -> None:
        self._entries[entry.task_id] = replace(entry, renewed_at=workflow.now().isoformat())
        self._note_change()

    def _note_change(self) -> None:
        self._changes += 1
        workflow.upsert_memo({"entries": list(self._entries.values())})


ALL = (SharedTask, NodePresence, Control, LandingLine)
