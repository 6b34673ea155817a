"""The tasks that nodes share, as any thread reads and steers them: each is a workflow (`remote.hub.workflows`).

An attempt is given to a node under a fence, which names the attempt at Temporal: whoever was overtaken gets
`StaleFence`. Telling the same end twice is harmless, since an answer may be lost on the way. Numbers of tasks are the
hub's: the number on the node that took the task in, and three digits for that node.
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
"""So many questions are open at the server at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A node's right to a task of the hub."""

    task_id: int
    fence: int


class HubQueue:
    """The shared tasks; every method may raise `HubAway` or `HubRefused`."""

    def __init__(self, connection: HubConnection) -> None:
        self._hub = connection

    # What nodes do

    def submit(self, request: Request) -> None:
        """Start a task's workflow, or find that it was started.

        Raises:
            InvalidTask: another task has its number.
        """

        async def start(client: Client) -> None:
            if request.needs:
                await client.get_workflow_handle(CONTROL).signal("poll", request.needs)
            try:
                await _start(client, request, WorkflowIDReusePolicy.REJECT_DUPLICATE)
            except WorkflowAlreadyStartedError:
                facts = await _facts(client, request.id)
                if (facts.origin, facts.created_at) != (request.origin, request.created_at):
                    raise InvalidTask({"id": f"the hub has another task {request.id}"}) from None

        self._hub.call(start)

    def confirm(self, held: Held) -> None:
        """Make sure that a task is this node's for as long as a lease lasts from now on.

        Raises:
            StaleFence: it is not this node's any more.
        """
        if not self._hub.call(lambda client: heartbeat(client, held)):
            raise StaleFence

    def tell_taken(self, held: Held, taker: Taker) -> None:
        """Tell which node has the attempt, and under which number."""
        self._signal(held.task_id, "taken", taker)

    def tell_asks(self, held: Held, asks: str) -> None:
        """Tell what the attempt asks its owner, as JSON; empty: nothing any more, it goes on."""
        self._signal(held.task_id, "asks", held.fence, asks)

    def read_replies(self, task_id: int, numbers: Collection[int]) -> None:
        """Remove answers that this node has taken."""
        self._signal(task_id, "read_replies", list(numbers))

    def end(self, held: Held, outcome: Outcome) -> None:
        """Tell how an attempt ended.

        Raises:
            StaleFence: the task is not this node's any more, or this was told before.
        """
        if not self._hub.call(lambda client: tell_attempt(client, held, lambda handle: handle.complete(outcome))):
            raise StaleFence

    def _signal(self, task_id: int, name: str, *values: object) -> None:
        """Signal a task's workflow; one that has ended needs no word."""

        async def signal(client: Client) -> None:
            try:
                await client.get_workflow_handle(workflow_of(task_id)).signal(name, args=list(values))
            except RPCError as error:
                if not is_unknown(error):
                    raise

        self._hub.call(signal)

    # What owners do, from any node

    def cancel(self, task_id: int) -> Status:
        """Cancel a task at once, or ask the node that has it to; its status then.

        Raises:
            UnknownTask: there is none with that id.
            IllegalMove: it has ended.
        """
        return self._act(task_id, "cancel")

    def prioritise(self, task_id: int, priority: int) -> Status:
        """Let a task be taken sooner (higher) or later; raises as `cancel`."""
        return self._act(task_id, "prioritise", priority)

    def answer(self, task_id: int, approval_id: int, *, granted: bool, text: str = "") -> Status:
        """Answer what a task asks; the node that has it decides by it. `approval_id` is that node's number.

        Raises:
            UnknownTask: there is none with that id.
            IllegalMove: it asks nothing.
        """
        return self._act(task_id, "answer", approval_id, granted, text)

    def revise(self, request: Request) -> Status:
        """Put another specification in the place of a task's; what it depends on stays.

        Raises:
            UnknownTask: there is none with that id.
            IllegalMove: a node works on it, or it has ended.
        """
        if request.needs:
            self._hub.call(lambda client: client.get_workflow_handle(CONTROL).signal("poll", request.needs))
        return self._act(request.id, "revise", request)

    def retry(self, task_id: int, words: Request | None = None) -> Status:
        """Start a task again that failed or was cancelled, maybe with other words; raises as `cancel`."""

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
            except WorkflowAlreadyStartedError:  # somebody else was first
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
                raise IllegalMove(f"task {task_id} of the hub is {facts.status}")
            try:
                handle = client.get_workflow_handle(workflow_of(task_id))
                return Status(await handle.execute_update(update, args=list(values), result_type=str))
            except RPCError as error:
                if not is_unknown(error):
                    raise
                raise IllegalMove(f"task {task_id} of the hub has just ended") from error

        return self._hub.call(act)

    # Reading

    def get(self, task_id: int) -> HubTask:
        """One task.

        Raises:
            UnknownTask: there is none with that id.
        """
        return _task(self._hub.call(lambda client: _facts(client, task_id)))

    def look(self, task_ids: Iterable[int]) -> dict[int, Facts]:
        """The state of the tasks of these that the hub has."""

        async def read(client: Client, task_id: int) -> Facts | None:
            try:
                return await _facts(client, task_id)
            except UnknownTask:
                return None

        states = self._hub.call(lambda client: _together(read(client, number) for number in task_ids))
        return {facts.id: facts for facts in states if facts}

    def request(self, task_id: int) -> Request:
        """Return a task as it was last submitted; raises as `get`."""
        return self._hub.call(lambda client: _request(client, task_id))

    def find(self, status: Status | None = None, limit: int = 50, after: int | None = None) -> list[HubTask]:
        """Tasks, open ones first, then the newest that ended; `after` is the last id of the page before."""

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
        """Tasks that began or ended since a time of the server's, and the newest such time."""

        async def read(client: Client) -> tuple[list[HubTask], datetime]:
            at, newest, tasks = since.isoformat(), since, dict[int, HubTask]()
            query = f"{TASKS} AND (StartTime > '{at}' OR CloseTime > '{at}')"
            async for listed in client.list_workflows(query):
                newest = max(newest, listed.start_time, listed.close_time or since)
                if task := await _task_of(listed):
                    tasks.setdefault(task.id, task)  # an open run comes before those that ended
            return list(tasks.values()), newest

        return self._hub.call(read)

    def counts(self) -> dict[Status, int]:
        """How many tasks have each status."""

        async def count(client: Client, status: Status) -> int:
            return (await client.count_workflows(f"{TASKS} AND {STATUS.name} = '{status}'")).count

        statuses = list(Status)
        numbers = self._hub.call(lambda client: _together(count(client, status) for status in statuses))
        return dict(zip(statuses, numbers, strict=True))


async def heartbeat(client: Client, held: Held) -> bool:
    """Renew the right to a task; whether it is this node's."""
    return await tell_attempt(client, held, lambda handle: handle.heartbeat())


def hub_number(local: int, node: int) -> int:
    """Return the number in the hub of a task with a number on a node."""
    return local * MOST_NODES + node


async def _start(client: Client, request: Request, policy: WorkflowIDReusePolicy) -> None:
    await client.start_workflow(
        "SharedTask", request, id=workflow_of(request.id), task_queue=WORKFLOWS, id_reuse_policy=policy
    )


async def _together(questions: Iterable[Awaitable[Any]]) -> list[Any]:
    """Return the answers to several questions, of which some are open at once."""
    turns = asyncio.Semaphore(_AT_ONCE)

    async def ask(question: Awaitable[Any]) -> Any:
        async with turns:
            return await question

    return await asyncio.gather(*map(ask, questions))


async def tell_attempt(client: Client, held: Held, act: Callable[[AsyncActivityHandle], Awaitable[None]]) -> bool:
    """Tell something of an attempt; whether it is this node's."""
    handle = client.get_async_activity_handle(
        workflow_id=workflow_of(held.task_id), run_id=None, activity_id=str(held.fence)
    )
    try:
        await act(handle)
    except AsyncActivityCancelledError:  # the workflow wanted it back, and learns now that it has begun
        return True
    except RPCError as error:
        if is_unknown(error):
            return False
        raise
    return True


async def _facts(client: Client, task_id: int) -> Facts:
    """Return the state of a task.

    Raises:
        UnknownTask: there is none with that id.
    """
    described = await describe(client, workflow_of(task_id))
    if described is None:
        raise UnknownTask(task_id)
    facts = await described.memo_value("task", None, type_hint=Facts)
    if facts is None:  # it was submitted just now, and no node has looked at it yet
        facts = facts_of(await _request(client, task_id), Status.QUEUED)
    return _settle(facts, described.status)


def _settle(facts: Facts, status: WorkflowExecutionStatus | None) -> Facts:
    """Return the state of a task; one whose workflow somebody ended at the server is cancelled."""
    if status is WorkflowExecutionStatus.RUNNING or facts.status in ENDED:
        return facts
    return replace(facts, status=Status.CANCELLED, ending=Ending.USER, reason="its workflow was ended at the server")


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
    """Yield tasks, each once: one that was tried again has two runs until the older is removed."""
    seen = set[int]()
    async for listed in client.list_workflows(query):
        if (task := await _task_of(listed)) and task.id not in seen:
            seen.add(task.id)
            yield task


async def _task_of(listed: Listed) -> HubTask | None:
    """Return a task as the server lists it; None where no node has looked at it yet."""
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
