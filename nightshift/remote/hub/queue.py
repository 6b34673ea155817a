"""Reads and controls the tasks that nodes share, from any thread. Each task is a workflow (`remote.hub.workflows`).

A node that is given an attempt also gets a fencing token, by which Temporal identifies the attempt. A node that has
lost its attempt gets `StaleFence`. Since an answer may be lost, reporting the same end twice is harmless. A task's
number on the hub consists of its number on the submitting node, followed by three digits for that node.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.workflowservice.v1 import DeleteWorkflowExecutionRequest
from temporalio.client import AsyncActivityCancelledError, WorkflowExecutionStatus
from temporalio.common import WorkflowIDReusePolicy
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.service import RPCError

from nightshift.core.errors import IllegalMove, InvalidTask, StaleFence, UnknownTask
from nightshift.core.hub import HubTask
from nightshift.core.tasks.states import ENDED, Ending, Status
from nightshift.core.tasks.task import Spent
from nightshift.remote.hub.connection import HubConnection, describe, is_unknown
from nightshift.remote.hub.workflows import (
    CONTROL,
    STATUS,
    WORKFLOWS,
    Facts,
    Outcome,
    Request,
    Taker,
    facts_of,
    renew_request,
    workflow_of,
)

if TYPE_CHECKING:
    from temporalio.client import AsyncActivityHandle, Client
    from temporalio.client import WorkflowExecution as Listed

MOST_NODES = 1000
TITLE_CHARS = 200
TASKS = "WorkflowType = 'SharedTask'"
_AT_ONCE = 20
"""Maximum number of concurrent requests to the server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """The right of a node to work on a task: the task's number on the hub, and the fencing token."""

    task_id: int
    fence: int


class HubQueue:
    """The shared tasks. Every method may raise `HubAway` or `HubRefused`."""

    def __init__(self, connection: HubConnection) -> None:
        self._hub = connection

    # Operations for nodes.

    def submit(self, request: Request) -> None:
        """Start a task's workflow. Does nothing if it was already started.

        Raises:
            InvalidTask: another task has the same number on the hub.
        """

        async def start(client: Client) -> None:
            if request.needs:
                await client.get_workflow_handle(CONTROL).signal("poll", request.needs)
            try:
                await _start(client, request, WorkflowIDReusePolicy.REJECT_DUPLICATE)
            except WorkflowAlreadyStartedError:
                facts = await _facts(client, request.id)
                if (facts.origin, facts.created_at) != (request.origin, request.created_at):
                    raise InvalidTask({"id": f"the hub already has another task {request.id}"}) from None

        self._hub.call(start)

    def confirm(self, held: Held) -> None:
        """Ensure that a task belongs to this node for the duration of a lease from now on.

        Raises:
            StaleFence: the task no longer belongs to this node.
        """
        if not self._hub.call(lambda client: heartbeat(client, held)):
            raise StaleFence

    def tell_taken(self, held: Held, taker: Taker) -> None:
        """Report which node has the attempt, and the task's number on that node."""
        self._signal(held.task_id, "taken", taker)

    def tell_asks(self, held: Held, asks: str) -> None:
        """Report the questions that the attempt asks the owner, as JSON.

        An empty text means that no question is open any more.
        """
        self._signal(held.task_id, "asks", held.fence, asks)

    def read_replies(self, task_id: int, numbers: Collection[int]) -> None:
        """Remove the owner's answers that this node has read."""
        self._signal(task_id, "read_replies", list(numbers))

    def end(self, held: Held, outcome: Outcome) -> None:
        """Report the end of an attempt.

        Raises:
            StaleFence: the task no longer belongs to this node, or its end was reported before.
        """
        if not self._hub.call(lambda client: tell_attempt(client, held, lambda handle: handle.complete(outcome))):
            raise StaleFence

    def _signal(self, task_id: int, name: str, *values: object) -> None:
        """Send a signal to a task's workflow. Does nothing if the workflow has ended."""

        async def signal(client: Client) -> None:
            try:
                await client.get_workflow_handle(workflow_of(task_id)).signal(name, args=list(values))
            except RPCError as error:
                if not is_unknown(error):
                    raise

        self._hub.call(signal)

    # Operations for owners, available on any node.

    def cancel(self, task_id: int) -> Status:
        """Cancel a task at once, or ask the node that has the task to cancel it; return the task's status after that.

        Raises:
            UnknownTask: there is no task with that id.
            IllegalMove: the task has ended.
        """
        return self._act(task_id, "cancel")

    def prioritise(self, task_id: int, priority: int) -> Status:
        """Set a task's priority. Tasks with higher priority are taken sooner. Raises the errors of `cancel`."""
        return self._act(task_id, "prioritise", priority)

    def answer(self, task_id: int, approval_id: int, *, granted: bool, text: str = "") -> Status:
        """Answer a task's question. The node that has the task applies the answer.

        `approval_id` is the number of the question on that node.

        Raises:
            UnknownTask: there is no task with that id.
            IllegalMove: the task has no open question.
        """
        return self._act(task_id, "answer", approval_id, granted, text)

    def revise(self, request: Request) -> Status:
        """Replace a task's specification, except its dependencies.

        Raises:
            UnknownTask: there is no task with that id.
            IllegalMove: a node is working on the task, or the task has ended.
        """
        if request.needs:
            self._hub.call(lambda client: client.get_workflow_handle(CONTROL).signal("poll", request.needs))
        return self._act(request.id, "revise", request)

    def retry(self, task_id: int, words: Request | None = None) -> Status:
        """Restart a failed or cancelled task, optionally with a new specification. Raises the errors of `cancel`."""

        async def start(client: Client) -> Status:
            facts = await _facts(client, task_id)
            if facts.status not in {Status.FAILED, Status.CANCELLED}:
                raise IllegalMove(f"task {task_id} of the hub is {facts.status} and cannot be tried again")
            before = await _request(client, task_id)
            again = renew_request(before, words) if words else before
            again = replace(again, not_before=None, fence=facts.fence, attempt=facts.attempt)
            described = await client.get_workflow_handle(workflow_of(task_id)).describe()
            try:
                await _start(client, again, WorkflowIDReusePolicy.ALLOW_DUPLICATE)
            except WorkflowAlreadyStartedError:  # another caller was first
                return Status.QUEUED
            gone = WorkflowExecution(workflow_id=workflow_of(task_id), run_id=described.run_id)
            await client.workflow_service.delete_workflow_execution(
                DeleteWorkflowExecutionRequest(namespace=client.namespace, workflow_execution=gone)
            )
            return Status.QUEUED

        return self._hub.call(start)

    def _act(self, task_id: int, update: str, *values: object) -> Status:
        async def act(client: Client) -> Status:
            facts = await _facts(client, task_id)
            if facts.status in ENDED:
                raise IllegalMove(f"task {task_id} of the hub has already ended ({facts.status})")
            try:
                handle = client.get_workflow_handle(workflow_of(task_id))
                return Status(await handle.execute_update(update, args=list(values), result_type=str))
            except RPCError as error:
                if not is_unknown(error):
                    raise
                raise IllegalMove(f"task {task_id} of the hub has just ended") from error

        return self._hub.call(act)

    # Reading tasks.

    def get(self, task_id: int) -> HubTask:
        """Return one task.

        Raises:
            UnknownTask: there is no task with that id.
        """
        return _task(self._hub.call(lambda client: _facts(client, task_id)))

    def look(self, task_ids: Iterable[int]) -> dict[int, Facts]:
        """Return the state of these tasks by id, without tasks that the hub does not know."""

        async def read(client: Client, task_id: int) -> Facts | None:
            try:
                return await _facts(client, task_id)
            except UnknownTask:
                return None

        states = self._hub.call(lambda client: _together(read(client, number) for number in task_ids))
        return {facts.id: facts for facts in states if facts}

    def request(self, task_id: int) -> Request:
        """Return a task's latest specification. Raises the errors of `get`."""
        return self._hub.call(lambda client: _request(client, task_id))

    def find(self, status: Status | None = None, limit: int = 50, after: int | None = None) -> list[HubTask]:
        """List tasks: first the open ones, then the ended ones, in each case the newest first.

        `after` is the last task id of the previous page.
        """

        async def read(client: Client) -> list[HubTask]:
            tasks, is_reached = list[HubTask](), after is None
            async for task in _list_tasks(
                client, TASKS if status is None else f"{TASKS} AND {STATUS.name} = '{status}'"
            ):
                if is_reached:
                    tasks.append(task)
                is_reached = is_reached or task.id == after
                if len(tasks) == limit:
                    break
            return tasks

        return self._hub.call(read)

    def list_changed(self, since: datetime) -> tuple[list[HubTask], datetime]:
        """Return the tasks that began or ended after `since`, which is a time of the server's clock.

        Also return the newest time at which one of them began or ended. The next call can continue from that time.
        """

        async def read(client: Client) -> tuple[list[HubTask], datetime]:
            at, newest, tasks = since.isoformat(), since, dict[int, HubTask]()
            query = f"{TASKS} AND (StartTime > '{at}' OR CloseTime > '{at}')"
            async for listed in client.list_workflows(query):
                newest = max(newest, listed.start_time, listed.close_time or since)
                if task := await _task_of(listed):
                    tasks.setdefault(task.id, task)  # an open run comes before ended ones
            return list(tasks.values()), newest

        return self._hub.call(read)

    def counts(self) -> dict[Status, int]:
        """Count the tasks of each status."""

        async def count(client: Client, status: Status) -> int:
            return (await client.count_workflows(f"{TASKS} AND {STATUS.name} = '{status}'")).count

        statuses = list(Status)
        numbers = self._hub.call(lambda client: _together(count(client, status) for status in statuses))
        return dict(zip(statuses, numbers, strict=True))


async def heartbeat(client: Client, held: Held) -> bool:
    """Renew the lease of a task; return whether the task belongs to this node."""
    return await tell_attempt(client, held, lambda handle: handle.heartbeat())


def hub_number(local: int, node: int) -> int:
    """Return a task's number on the hub, given its number on a node and the number of that node."""
    return local * MOST_NODES + node


async def _start(client: Client, request: Request, policy: WorkflowIDReusePolicy) -> None:
    await client.start_workflow(
        "SharedTask", request, id=workflow_of(request.id), task_queue=WORKFLOWS, id_reuse_policy=policy
    )


async def _together(questions: Iterable[Awaitable[Any]]) -> list[Any]:
    """Run requests concurrently, up to a limit, and return their answers in order."""
    turns = asyncio.Semaphore(_AT_ONCE)

    async def ask(question: Awaitable[Any]) -> Any:
        async with turns:
            return await question

    return await asyncio.gather(*map(ask, questions))


async def tell_attempt(client: Client, held: Held, act: Callable[[AsyncActivityHandle], Awaitable[None]]) -> bool:
    """Act on an attempt at the server; return True if the attempt belongs to this node."""
    handle = client.get_async_activity_handle(
        workflow_id=workflow_of(held.task_id), run_id=None, activity_id=str(held.fence)
    )
    try:
        await act(handle)
    except AsyncActivityCancelledError:  # the attempt is this node's; cancelling it is handled elsewhere
        return True
    except RPCError as error:
        if is_unknown(error):
            return False
        raise
    return True


async def _facts(client: Client, task_id: int) -> Facts:
    """Return the state of a task.

    Raises:
        UnknownTask: there is no task with that id.
    """
    described = await describe(client, workflow_of(task_id))
    if described is None:
        raise UnknownTask(task_id)
    facts = await described.memo_value("task", None, type_hint=Facts)
    if facts is None:  # just submitted, and not processed by any node yet
        facts = facts_of(await _request(client, task_id), Status.QUEUED)
    return _settle(facts, described.status)


def _settle(facts: Facts, status: WorkflowExecutionStatus | None) -> Facts:
    """Return the state of a task. If its workflow was ended directly at the server, the task counts as cancelled."""
    if status is WorkflowExecutionStatus.RUNNING or facts.status in ENDED:
        return facts
    return replace(
        facts, status=Status.CANCELLED, ending=Ending.USER, reason="the task's workflow was ended at the server"
    )


async def _request(client: Client, task_id: int) -> Request:
    handle = client.get_workflow_handle(workflow_of(task_id))
    try:
        async for event in handle.fetch_history_events(page_size=1):
            sent = event.workflow_execution_started_event_attributes.input.payloads
            (request,) = await client.data_converter.decode(sent, [Request])
            assert isinstance(request, Request), "a task's workflow begins with its request"
            return request
    except RPCError as error:
        if not is_unknown(error):
            raise
    raise UnknownTask(task_id)


async def _list_tasks(client: Client, query: str) -> AsyncIterator[HubTask]:
    """Yield each task once. A task that was tried again has two runs until the older run is removed."""
    seen = set[int]()
    async for listed in client.list_workflows(query):
        if (task := await _task_of(listed)) and task.id not in seen:
            seen.add(task.id)
            yield task


async def _task_of(listed: Listed) -> HubTask | None:
    """Return a task from an entry of the server's list; None if no node has processed the task yet."""
    facts = await listed.memo_value("task", None, type_hint=Facts)
    return _task(_settle(facts, listed.status)) if facts else None


def _task(facts: Facts) -> HubTask:
    named = {name: getattr(facts, name) for name in HubTask.__dataclass_fields__}
    times = {name: named[name] for name in ("not_before", "created_at", "claimed_at", "ended_at")}
    return HubTask(
        **{
            **named,
            **{name: text and datetime.fromisoformat(text) for name, text in times.items()},
            "needs": tuple(facts.needs),
            "status": Status(facts.status),
            "ending": facts.ending and Ending(facts.ending),
            "spent": Spent(**json.loads(facts.spent)),
        }
    )
