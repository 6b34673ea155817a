"""A node's side of the hub: submits tasks to it, takes attempts while workers are free, and hands in results.

The dispatcher runs in one thread and repeats one routine, called a turn. Each turn compares this node's database with
what the hub was told, so a turn that was interrupted by a crash or an unavailable hub is simply repeated. While the hub
is unavailable, tasks on this node continue up to their commit. Moving a shared branch waits for the hub
(`remote.hub.landing`), and results wait in the database. Attempts arrive between the turns, on threads of the node's
Temporal workers (`remote.hub.worker`).
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from nightshift.core.clock import Clock, utc_now
from nightshift.core.errors import (
    GitError,
    HubAway,
    HubRefused,
    IllegalMove,
    InvalidTask,
    NodeRemoved,
    StaleFence,
    TaskError,
    UnknownTask,
)
from nightshift.core.events import Emitter, ErrorData, Event, Kind, Level
from nightshift.core.hub import HubTask, NodeState, Signed
from nightshift.core.ports import Sink
from nightshift.core.tasks.states import ENDED, Ending, Status
from nightshift.core.tasks.task import Spent, Task, TaskSpec
from nightshift.core.text.masking import Masker
from nightshift.queue import outbox, shared
from nightshift.queue.manager import QueueManager
from nightshift.queue.outbox import Outgoing, Wish
from nightshift.remote.hub import control, nodes
from nightshift.remote.hub.connection import HubConnection
from nightshift.remote.hub.queue import TITLE_CHARS, Held, HubQueue, hub_number
from nightshift.remote.hub.repositories import SharedRepositories
from nightshift.remote.hub.signing import NodeKey, make_signed_text, result_is_signed
from nightshift.remote.hub.worker import NodeWorkers
from nightshift.remote.hub.workflows import ANY, Assignment, Facts, Outcome, Presence, Request, Settings, Taker
from nightshift.storage.db.codec import decode, encode, storable

if TYPE_CHECKING:
    from temporalio.client import Client

IDLE_S = 5.0
"""Seconds until the next turn if nothing wakes the dispatcher."""
LOOK_S = 2.0
"""Minimum seconds between two reads of the hub's state of this node's tasks. Turns may be more frequent."""
AWAY_S = 3.0
REFUSED_FIRST_S, REFUSED_S = 2.0, 60.0
"""Seconds until the next try after a refusal: the first wait, and the longest wait. A refusal may be short, for example
while the namespace is being created, so waits begin short and become longer.
"""
PARKED_S = 60.0
"""Seconds until any node may take a task that this node gave back. A task is given back if it waits for a model or
cannot be started.
"""
PAUSED_S = 2.0
"""Seconds until a task returns to its task queue if it reached a node while the hub is paused."""
OVERLAP = timedelta(seconds=60)
"""The time by which the server's list of tasks may be out of date."""
BLOB_BYTES = 256 * 1024
"""Maximum bytes of a text that is sent directly. Longer texts of tasks are stored in the remote repository, because
Temporal accepts at most 2 MB.
"""
_LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeServices:
    """The services of the node that the dispatcher uses.

    `share_lessons` is called on the dispatcher's thread, and `state` on any thread.
    """

    queue: QueueManager
    repositories: SharedRepositories
    state: Callable[[], NodeState]
    emit: Sink
    mask: Masker
    share_lessons: Callable[[], None] = lambda: None
    clock: Clock = utc_now


class Dispatcher:
    """A node's connection to the queue of the hub. Runs in its own thread from `start` to `stop`.

    Args:
        connection: the connection to the hub.
        node: the description of this node for the hub; its public key is set from `key`.
        key: signs this node's results.
        services: the node's services.
    """

    def __init__(self, connection: HubConnection, node: Presence, key: NodeKey, services: NodeServices) -> None:
        self.node, self._key, self._lease_s = replace(node, public_key=key.public), key, node.lease_s
        self._connection, self._local, self._repositories = connection, services.queue, services.repositories
        self._state, self._clock, self._mask = services.state, services.clock, services.mask
        self._events, self._share_lessons = Emitter(services.emit), services.share_lessons
        self.hub, self._settings, self._number = HubQueue(connection), Settings(), 0
        self._woken, self._stopping, self._taking = threading.Event(), threading.Event(), threading.Lock()
        self._thread = threading.Thread(target=self._run, name="hub", daemon=True)
        self._workers: NodeWorkers | None = None
        self._is_joined = False
        self.trouble: str | None = None  # None until the first turn
        self._refused_s, self._is_draining, self._since = REFUSED_FIRST_S / 2, False, _LONG_AGO
        self._beat_at = self._looked_at = -self._lease_s - LOOK_S
        self._asked, self._taken = dict[int, str](), dict[int, int]()

    # Start, stop and wake-up of the thread.

    def start(self) -> None:
        """Start the thread; returns immediately."""
        self._thread.start()

    def stop(self) -> None:
        """Hand in results if the hub can be reached, and end the thread."""
        self._stopping.set()
        self._woken.set()
        self._thread.join(timeout=15)

    def wake(self) -> None:
        """Start the next turn now, because there is news from the hub or this node. May be called in any thread."""
        self._woken.set()

    def beat_soon(self) -> None:
        """Send a heartbeat and read the hub's state in the next turn. May be called in any thread."""
        self._beat_at = self._looked_at = -self._lease_s - LOOK_S

    def on_events(self, events: Sequence[Event]) -> None:
        """Wake up for events that must be reported to the hub. Subscribed to the event log."""
        if any(event.kind in _TOLD for event in events):
            self.wake()
            if workers := self._workers:
                workers.slots.wake()

    def _run(self) -> None:
        while True:
            self._woken.clear()
            stopping = self._stopping.is_set()
            wait_s = self.turn()
            if stopping:
                with contextlib.suppress(HubAway, HubRefused):
                    self.stop_workers()
                return
            self._woken.wait(wait_s)

    def turn(self) -> float:
        """Run one turn; return the seconds to wait for the next one."""
        try:
            self._turn()
        except HubAway as away:
            self._note_trouble(str(away), Kind.HUB_AWAY)
            return AWAY_S
        except HubRefused as refused:
            self._is_joined = False
            if isinstance(refused, NodeRemoved):
                with contextlib.suppress(HubAway, HubRefused):
                    self.stop_workers()
                self._lose_all(str(refused))
            self._note_trouble(str(refused), Kind.HUB_REFUSED)
            self._refused_s = min(REFUSED_S, 2 * self._refused_s)
            return self._refused_s
        except Exception as error:  # noqa: BLE001  a thread that ends in silence would look like one that works
            trace = "".join(traceback.format_exception(error))
            self._events.emit(Kind.WORKER_ERROR, f"hub: {error!r}", level=Level.ERROR, **ErrorData(trace=trace))
            return AWAY_S
        self._refused_s = REFUSED_FIRST_S / 2
        if self.trouble != "":
            self.trouble = ""
            self._events.emit(Kind.HUB_JOINED, f"{self.node.name} is connected to the hub")
        return min(IDLE_S, self._lease_s / 3)

    def _note_trouble(self, text: str, kind: Kind) -> None:
        if text != self.trouble:
            self._events.emit(
                kind, f"{text}; this node continues its tasks and reports their results later", level=Level.WARNING
            )
        self.trouble = text

    def _join(self) -> None:
        control.check(self._connection)
        if not self._workers:
            self._start_workers()  # first, because the workflow that answers the request to join may run on this node
        self._number = control.join(self._connection, self.node.id, self.node.public_key)
        self._settings = control.read_settings(self._connection)
        if self._settings.workspace:
            self._repositories.git.set_remote(self._settings.workspace)
        self._repositories.has_asked = True
        self._local.apply(shared.share_waiting).result()
        self._local.apply(shared.keep_what_stays).result()
        self._tell_of_unknown()

    def _tell_of_unknown(self) -> None:
        """Report shared tasks of this node that the hub does not know, for example after a change of hubs."""
        numbers = self._local.read(shared.elsewhere)
        if unknown := sorted(numbers - self.hub.look(numbers).keys()):
            text = (
                f"the hub does not know {len(unknown)} shared tasks of this node (hub-{unknown[0]}): either "
                "another hub has them and must end them first, or they ended long ago; cancel these tasks here"
            )
            self._events.emit(Kind.HUB_TASK, text, level=Level.WARNING)

    def _start_workers(self) -> None:
        async def start(client: Client) -> NodeWorkers:
            return NodeWorkers(client, self._free, self._take, self._lease_s)

        self._workers = self._connection.call(start)

    def stop_workers(self) -> None:
        """Take no more attempts."""
        workers, self._workers = self._workers, None

        async def stop(_: Client) -> None:
            assert workers, "only workers that run are stopped"
            await workers.stop()

        if workers:
            self._connection.call(stop)

    def _supervise(self) -> None:
        """Join the hub and take attempts.

        If a Temporal worker has ended, stop all of them, so that the next turn starts them again.

        Raises:
            HubRefused: a Temporal worker has ended.
        """
        if self._workers and (fault := self._workers.fault):
            self._is_joined = False
            self.stop_workers()
            raise HubRefused(f"the hub refuses this node: {fault}")
        if not self._is_joined:
            self._join()
            self._is_joined = True
            self.beat_soon()
        queues = {queue for queue, needs in self._settings.queues.items() if set(needs) <= set(self.node.labels)}

        async def poll(_: Client) -> None:
            if workers := self._workers:
                workers.poll({ANY, *queues})

        if not self._stopping.is_set():
            self._connection.call(poll)

    # The steps of a turn.

    def _turn(self) -> None:
        self._supervise()
        held = self._local.read(shared.list_held)
        lost = self._workers.hold([_hold(task) for task in held]) if self._workers else frozenset()
        for task in held:
            if _hold(task) in lost and task.status not in ENDED:
                self._lose(task)
        if time.monotonic() - self._beat_at >= self._lease_s / 3:
            self._beat(held)
        for task in self._local.read(shared.list_held):
            self._hand_in(task)
            if self._stopping.is_set():
                self._hand_over(task)
        for entry in self._local.read(outbox.outbox):
            self._tell(entry)
        if time.monotonic() - self._looked_at >= LOOK_S:
            self._looked_at = time.monotonic()
            self._settings = control.read_settings(self._connection)
            if self.node.id in self._settings.removed:
                raise NodeRemoved("the hub's owner has removed this node")
            self._look(self._local.read(shared.list_held))
            self._read_news()

    def _beat(self, held: Sequence[Task]) -> None:
        state, busy = self._state(), self._local.read(shared.busy)
        presence = replace(self.node, slots=state.slots, busy=busy, held=len(held), state=state.says())
        self._is_draining = nodes.beat(self._connection, presence)
        self._beat_at = time.monotonic()
        self._share_lessons()

    def _look(self, held: Sequence[Task]) -> None:
        """Apply the owners' requests that the hub stores for this node's tasks, such as cancellations."""
        open_tasks = {task.hub_id or 0: task for task in held if task.status not in ENDED}
        for number, facts in self.hub.look(open_tasks).items():
            task = open_tasks[number]
            if facts.fence != task.hub_fence:
                continue
            if facts.cancel_requested and not task.cancel_requested:
                self._quietly(self._local.cancel, task.id)
            if facts.priority != task.spec.priority and not self._has_told_priority(task):
                self._prioritise(task.id, facts.priority)
            self._take_replies(facts)

    def _has_told_priority(self, task: Task) -> bool:
        return self._local.read(lambda conn: outbox.is_noted(conn, task.id, Wish.PRIORITISE))

    def _lose(self, task: Task) -> None:
        reason = "the hub gave the task to another node, or took the task back"
        self._give_up(task, reason)
        if task.status not in ENDED:
            self._events.bind(task_id=task.id).emit(Kind.HUB_TASK, f"lost: {reason}", level=Level.WARNING)

    def _lose_all(self, reason: str) -> None:
        for task in self._local.read(shared.list_held):
            self._give_up(task, reason)

    def _give_up(self, task: Task, reason: str) -> None:
        self._local.apply(lambda tx: shared.take_back(tx, task.id, task.hub_fence or 0, reason)).result()

    def _hand_in(self, task: Task) -> None:
        """Report to the hub what has changed about a task of this node."""
        held = _hold(task)
        if self._taken.get(task.id) != held.fence:
            node = self.node
            self.hub.tell_taken(held, Taker(fence=held.fence, node=node.id, name=node.name, url=node.url, task=task.id))
            self._taken[task.id] = held.fence
        try:
            if task.status in ENDED:
                self.hub.end(held, self._outcome(task))
                self._local.apply(lambda tx: shared.let_go(tx, task.id, held.fence)).result()
                return
            self._tell_asks(task, held)
            if task.status is Status.SCHEDULED and task.not_before is None and not self._has_begun(task):
                self._put_back(task, task.reason, self._in(PARKED_S))
                self._give_up(task, "no model is available on this node; the hub may give the task to another node")
        except StaleFence:
            self._lose(task)

    def _hand_over(self, task: Task) -> None:
        """Give back a task that has not begun.

        This node is stopping, and another node can begin the task at once.
        """
        if task.status not in {Status.QUEUED, Status.SCHEDULED} or self._has_begun(task):
            return
        reason = f"{self.node.name} stops"
        with contextlib.suppress(StaleFence):  # another node has the task by now
            self._put_back(task, reason, task.not_before)
        self._give_up(task, reason)

    def _has_begun(self, task: Task) -> bool:
        """Check whether the task has already cost money here. Another node would have to spend that money again."""
        return self._local.read(lambda conn: shared.has_begun(conn, task.id))

    def _put_back(self, task: Task, reason: str, not_before: datetime | None) -> None:
        self.hub.end(_hold(task), _back(reason, not_before))

    def _outcome(self, task: Task) -> Outcome:
        ending = task.ending
        assert ending, "a task that has ended has an ending"
        text = make_signed_text(self.node.id, task.hub_id or 0, task.status, ending, task.commit, task.branch)
        return Outcome(
            status=task.status,
            ending=ending,
            reason=task.reason,
            commit=task.commit,
            branch=task.branch,
            iterations=task.iterations,
            spent=json.dumps(asdict(task.spent)),
            signature=self._key.sign(text),
        )

    def _tell_asks(self, task: Task, held: Held) -> None:
        asks = ""
        if task.status is Status.WAITING:
            asked = self._local.approvals(task_id=task.id)
            asks = json.dumps([{"id": each.id, "kind": each.ask.kind, "question": each.ask.question} for each in asked])
        if self._asked.get(task.id, "") != asks:
            self.hub.tell_asks(held, asks)
            self._asked[task.id] = asks

    def _tell(self, entry: Outgoing) -> None:
        """Send one entry of the outbox to the hub, and remove the entry. A refusal is reported to the task's owner."""
        task = self._local.get(entry.task_id)
        try:
            if entry.wish is Wish.SUBMIT:
                request = self._request(task, hub_number(task.id, self._number))
                self.hub.submit(request)
                self._local.apply(lambda tx: shared.note_submitted(tx, entry, request.id)).result()
                return
            self._wish(entry, task)
        except (InvalidTask, IllegalMove, UnknownTask, GitError) as error:
            text = str(error)
            if entry.wish is Wish.CANCEL and isinstance(error, UnknownTask):
                self._local.apply(lambda tx: shared.cancel_unknown(tx, entry)).result()
                return
            if entry.wish is Wish.REVISE and not isinstance(error, UnknownTask):
                spec = self._spec(self.hub.request(task.hub_id or 0))
                self._local.apply(lambda tx: shared.take_words_back(tx, entry, spec, text)).result()
                return
            self._local.apply(lambda tx: shared.refuse(tx, entry, text)).result()
            return
        self._local.apply(lambda tx: outbox.remove(tx, entry.id)).result()

    def _request(self, task: Task, number: int) -> Request:
        """Return the task in a form that does not depend on this node."""
        spec, repository = self._repositories.name_for_all(task.spec)
        needed = [self._local.get(other) for other in spec.depends_on]
        waits = [
            dependency.hub_id
            for dependency in needed
            if dependency.status is not Status.DONE and dependency.hub_id is not None
        ]
        description = self._mask.shown(spec.description)
        text = encode(replace(spec, depends_on=(), key=None, description=description))
        blob = self._repositories.keep(task.spec.repo, text) if len(text.encode()) > BLOB_BYTES else ""
        return Request(
            id=number,
            spec="" if blob else text,
            blob=blob,
            title=storable(description.strip().partition("\n")[0][:TITLE_CHARS]),
            repository=repository,
            share=repository,
            needs=sorted(set(spec.needs)),
            priority=spec.priority,
            not_before=spec.not_before.isoformat() if spec.not_before else None,
            depends_on=waits,
            origin=self.node.id,
            origin_name=self.node.name,
            origin_url=self.node.url,
            origin_task=task.id,
            created_at=task.created_at.isoformat(),
            lease_s=self._lease_s,
        )

    def _spec(self, request: Request, repo: str | None = None) -> TaskSpec:
        text = self._repositories.read_kept(repo, request.blob) if request.blob else request.spec
        return decode(TaskSpec, text)

    def _wish(self, entry: Outgoing, task: Task) -> None:
        number = task.hub_id or 0
        match entry.wish:
            case Wish.RETRY:
                self._retry(task, number)
            case Wish.CANCEL:
                self.hub.cancel(number)
            case Wish.WITHDRAW:
                if self.hub.get(number).status in {Status.QUEUED, Status.SCHEDULED, Status.BLOCKED}:
                    self.hub.cancel(number)
            case Wish.PRIORITISE:
                self.hub.prioritise(number, entry.value or 0)
            case Wish.REVISE:
                if self.hub.get(number).status not in {Status.FAILED, Status.CANCELLED}:  # else a retry sends the spec
                    self.hub.revise(self._request(task, number))

    def _retry(self, task: Task, number: int) -> None:
        request = self._request(task, number)
        try:
            self.hub.retry(number, request)
        except UnknownTask:  # the server keeps ended tasks only for a while
            self.hub.submit(request)

    def _read_news(self) -> None:
        tasks, newest = self.hub.list_changed(self._since)
        followed = self._local.read(lambda conn: shared.list_followed(conn, [task.id for task in tasks]))
        if news := [task for task in tasks if task.id in followed]:
            keys = nodes.keys(self._connection)
            for task in news:
                is_forged = result_is_signed(task, keys) is Signed.NOT_VALID
                self._take_over(self._not_believed(task) if is_forged else task)
        self._since = max(_LONG_AGO, newest - OVERLAP)

    def _not_believed(self, task: HubTask) -> HubTask:
        """Return the task as failed, because its node has not signed its result. No part of the result is used."""
        reason = f"the hub says {task.status}, but {task.node_name} has not signed this result, so this node ignores it"
        self._events.emit(Kind.HUB_TASK, f"task {task.id} of the hub: {reason}", level=Level.WARNING)
        return replace(
            task, status=Status.FAILED, ending=Ending.ERROR, reason=reason, commit=None, branch=None, spent=Spent()
        )

    def _take_replies(self, facts: Facts) -> None:
        for reply in facts.replies:
            try:
                self._local.decide(reply.approval_id, reply.granted, reply.text).result()
            except TaskError as error:  # it was answered on this node, or asks another question
                self._events.emit(Kind.HUB_TASK, f"an answer came too late: {error}")
        if facts.replies:
            self.hub.read_replies(facts.id, [reply.id for reply in facts.replies])

    def _take_over(self, task: HubTask) -> None:
        on = f"on {task.node_name}" if task.node_name else "in the hub"
        self._local.apply(lambda tx: shared.stands_elsewhere(tx, task, on)).result()

    def _prioritise(self, task_id: int, priority: int) -> None:
        self._local.apply(lambda tx: shared.prioritise(tx, task_id, priority)).result()

    # Taking attempts. Runs on threads and on the event loop of the node's Temporal workers.

    def _free(self) -> int:
        """Return how many attempts this node could take now."""
        state = self._state()
        if self._stopping.is_set() or not state.takes or self._is_draining or self._settings.paused is not None:
            return 0
        return max(0, state.slots - self._local.read(shared.busy))

    def _take(self, assignment: Assignment) -> Outcome | None:
        """Add an attempt to the local queue. If this node cannot take it, return an outcome that gives it back."""
        request = assignment.request
        if control.read_settings(self._connection).paused is not None:
            return _back("", self._in(PAUSED_S))
        try:
            given = self._adopt(assignment)
        except (GitError, UnknownTask, ValueError) as error:
            self._events.emit(Kind.HUB_TASK, f"given back: {error}", level=Level.WARNING)
            return _back(self._mask.shown(f"on {self.node.name}: {error}"[:500]), self._in(PARKED_S))
        with self._taking:
            if not self._free():
                return _back("", None)
            task = self._local.apply(lambda tx: shared.adopt(tx, given)).result()
        self._events.bind(task_id=task.id).emit(Kind.HUB_TASK, f"taken from the hub as hub-{request.id}")
        self._asked.pop(task.id, None)
        self.wake()
        return None

    def _adopt(self, assignment: Assignment) -> shared.Adopted:
        request = assignment.request
        own = request.origin_task if request.origin == self.node.id else None
        return shared.Adopted(
            hub_id=request.id,
            fence=assignment.fence,
            spec=replace(self._here(request, own), priority=assignment.priority),
            created_at=datetime.fromisoformat(request.created_at),
            own_task=own,
        )

    def _here(self, request: Request, own: int | None) -> TaskSpec:
        """Return the task with the path of its repository on this node, after updating it from the remote."""
        if own is None:
            path = self._repositories.ready(request.repository)
            return self._repositories.here(self._spec(request, path), request.repository)
        spec = self._local.get(own).spec
        self._repositories.refresh(spec)
        return replace(self._spec(request, spec.repo), repo=spec.repo, base=spec.base)

    def _in(self, seconds: float) -> datetime:
        return self._clock() + timedelta(seconds=seconds)

    def _quietly(self, act: Callable[[int], Future[Task]], task_id: int) -> None:
        """Apply an action to a task. If the action is no longer possible, only report that."""
        try:
            act(task_id).result()
        except (IllegalMove, UnknownTask) as error:
            self._events.emit(Kind.HUB_TASK, str(error))


_TOLD = {
    Kind.TASK_SUBMITTED, Kind.TASK_MOVED, Kind.TASK_CLAIMED, Kind.TASK_CANCEL_REQUESTED, Kind.TASK_PRIORITISED,
    Kind.ASKED,
}  # fmt: skip
"""Events after which the dispatcher is woken: the hub must be told something, or a worker of this node has become free.
"""


def _hold(task: Task) -> Held:
    return Held(task_id=task.hub_id or 0, fence=task.hub_fence or 0)


def _back(reason: str, not_before: datetime | None) -> Outcome:
    return Outcome(is_back=True, reason=reason, not_before=not_before.isoformat() if not_before else None)
