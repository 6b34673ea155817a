"""A node's side of the hub: tells it what was submitted here, takes tasks while workers are free, hands in what became.

One thread, one turn after another. Each turn compares what this node's database says with what the hub was told, so a
turn that was broken off, by a crash or by a hub that went away, is only begun again. While the hub is away, tasks that
are here go on to their commit; what moves a shared branch waits for it (`remote.hub.landing`), results wait in the
database.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from nightshift.core.clock import Clock, utc_now
from nightshift.core.errors import (
    GitError,
    HubAway,
    HubError,
    HubRefused,
    IllegalMove,
    InvalidTask,
    NodeRemoved,
    StaleFence,
    TaskError,
    UnknownTask,
)
from nightshift.core.events import Emitter, ErrorData, Event, Kind, Level
from nightshift.core.ports import Sink
from nightshift.core.tasks.states import ENDED, Ending, Status
from nightshift.core.tasks.task import Spent, Task, TaskSpec
from nightshift.queue import outbox, shared
from nightshift.queue.manager import QueueManager
from nightshift.queue.outbox import Outgoing, Wish
from nightshift.remote.hub import migrations, nodes
from nightshift.remote.hub.connection import HubConnections
from nightshift.remote.hub.nodes import Node
from nightshift.remote.hub.queue import NEWS, Answer, Claim, Held, HubQueue, HubTask, Result
from nightshift.remote.hub.repositories import SharedRepositories
from nightshift.remote.hub.signing import NodeKey, Signed, result_is_signed, signed_text
from nightshift.storage.db import checkpoint_copy

IDLE_S = 5.0
"""How long nothing is looked at when nothing is heard: notices may be lost with their connection."""
AWAY_S = 3.0
LISTEN_S = 30.0
"""How often the connection that listens is tried."""
REFUSED_FIRST_S, REFUSED_S = 2.0, 60.0
"""A refusal may be over soon, as when the schema is just being brought up to date: later ones are waited for longer."""
MAX_CRASHES = 5
PARKED_S = 60.0
"""A task that waits for a model is offered to other nodes, and to this one no sooner than this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeState:
    """The state of this node for the hub: whether it takes tasks now, how many at once, and its state in a line."""

    takes: bool
    slots: int
    says: Callable[[], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeServices:
    """The services of the node for the dispatcher; `state` and `share_lessons` are called on its thread."""

    queue: QueueManager
    repositories: SharedRepositories
    state: Callable[[], NodeState]
    emit: Sink
    share_lessons: Callable[[], None] = lambda: None
    clock: Clock = utc_now


class Dispatcher:
    """Runs on a thread of its own from `start` to `stop`.

    Args:
        connections: of the hub.
        node: what this node is called; its key is that of `key`.
        key: signs its results.
        services: of the node.
        lease_s: how long the hub waits for a word of this node.
    """

    def __init__(
        self, connections: HubConnections, node: Node, key: NodeKey, services: NodeServices, lease_s: float
    ) -> None:
        self.node, self._key = replace(node, public_key=key.public), key
        self._connections, self._local, self._repositories = connections, services.queue, services.repositories
        self._state, self._clock, self._lease_s = services.state, services.clock, lease_s
        self._events, self._share_lessons = Emitter(services.emit), services.share_lessons
        self.hub = HubQueue(connections, node.id, lease_s)
        self._woken, self._stopping = threading.Event(), threading.Event()
        self._threads = [
            threading.Thread(target=target, name=name, daemon=True)
            for target, name in ((self._run, "hub"), (self._listen, "hub-listener"))
        ]
        self._joined = False
        self.trouble: str | None = None  # not tried yet, which is no trouble
        self._beat_at, self._refused_s = -lease_s, REFUSED_FIRST_S / 2
        self._kept: dict[int, object] = {}
        self._asked: dict[int, str] = {}

    # Life

    def start(self) -> None:
        """Begin; returns at once."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Tell the hub what has ended, if it can be told, and end."""
        self._stopping.set()
        self._woken.set()
        self._threads[0].join(timeout=10)

    def wake(self) -> None:
        """Something has happened that the hub or this node should know; for any thread."""
        self._woken.set()

    def beat_soon(self) -> None:
        """Renew the lease in the next turn; for any thread."""
        self._beat_at = -self._lease_s

    def on_events(self, events: Sequence[Event]) -> None:
        """Wake at what the hub is told; a subscriber of the event log."""
        if any(event.kind in _TOLD for event in events):
            self.wake()

    def _run(self) -> None:
        while True:
            self._woken.clear()
            stopping = self._stopping.is_set()
            wait_s = self.turn()
            if stopping:
                return
            self._woken.wait(wait_s)

    def turn(self) -> float:
        """One turn; how long to wait for the next one, in seconds."""
        try:
            if not self._joined:
                self._join()
            self._turn()
        except HubAway as away:
            self._note_trouble(str(away), Kind.HUB_AWAY)
            return AWAY_S
        except HubRefused as refused:
            self._joined = False
            if isinstance(refused, NodeRemoved):
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
            self._events.emit(Kind.HUB_JOINED, f"{self.node.name} works with the hub")
        return min(IDLE_S, self._lease_s / 3)

    def _note_trouble(self, text: str, kind: Kind) -> None:
        if text != self.trouble:
            self._events.emit(kind, f"{text}; what is here goes on, and is handed in later", level=Level.WARNING)
        self.trouble = text

    def _listen(self) -> None:
        while not self._stopping.is_set():
            try:
                with self._connections.listening() as conn:
                    self.beat_soon()  # the lease may be over since the last connection ended
                    self.wake()
                    tried_at = time.monotonic()
                    while not self._stopping.is_set():
                        for notice in conn.notifies(timeout=1.0):
                            if notice.payload in {"queued", self.node.id}:
                                self.wake()
                        if time.monotonic() - tried_at >= LISTEN_S:
                            conn.execute("SELECT 1")  # whether anything could be heard at all
                            tried_at = time.monotonic()
            except HubError:
                self._stopping.wait(AWAY_S)

    def _join(self) -> None:
        migrations.check(self._connections)
        if remote := migrations.option(self._connections, migrations.WORKSPACE):
            self._repositories.git.set_remote(remote)
        nodes.join(self._connections, self.node)
        self._repositories.has_asked = True
        self._local.apply(shared.share_waiting).result()
        self._local.apply(shared.keep_what_stays).result()
        self._joined, self._beat_at, self._asked = True, -self._lease_s, {}

    # A turn

    def _turn(self) -> None:
        held = self._local.read(shared.held)
        if time.monotonic() - self._beat_at >= self._lease_s / 3:
            self._beat(held)
        for task in self._local.read(shared.held):
            self._hand_in(task)
            if self._stopping.is_set():
                self._hand_over(task)
        for entry in self._local.read(outbox.outbox):
            self._tell(entry)
        heard = self.hub.turn(self._free())
        for claim in heard.claims:
            self._adopt(claim)
        self._take_answers(heard.answers)
        self._read_news(heard.news)

    def _beat(self, held: Sequence[Task]) -> None:
        state, busy = self._state(), self._local.read(shared.busy)
        if state.slots != self.node.slots:
            self.node = replace(self.node, slots=state.slots)
            nodes.join(self._connections, self.node)
        beat, priorities = self.hub.beat([_held(task) for task in held], busy, state.says())
        self._beat_at = time.monotonic()
        for task in held:
            hub_id = task.hub_id or 0
            if hub_id in beat.lost:
                self._lose(task)
            elif task.status not in ENDED:
                if hub_id in beat.cancelled and not task.cancel_requested:
                    self._quietly(self._local.cancel, task.id)
                if priorities.get(hub_id, task.spec.priority) != task.spec.priority:
                    self._prioritise(task.id, priorities[hub_id])
        self.hub.sweep(MAX_CRASHES)
        self._connections.rows("SELECT count_lost_spending()")
        self._share_lessons()

    def _lose(self, task: Task) -> None:
        reason = "the hub has given it to another node, or taken it back"
        self._give_up(task, reason)
        if task.status not in ENDED:
            self._events.bind(task_id=task.id).emit(Kind.HUB_TASK, f"lost: {reason}", level=Level.WARNING)

    def _lose_all(self, reason: str) -> None:
        for task in self._local.read(shared.held):
            self._give_up(task, reason)

    def _give_up(self, task: Task, reason: str) -> None:
        self._local.apply(lambda tx: shared.taken_back(tx, task.id, task.hub_fence or 0, reason)).result()
        self._kept.pop(task.id, None)

    def _hand_in(self, task: Task) -> None:
        """Tell the hub what has changed with a task of this node."""
        held = _held(task)
        try:
            if task.status in ENDED:
                self.hub.finish(held, self._result(task))
                self._local.apply(lambda tx: shared.let_go(tx, task.id, held.fence)).result()
                self._kept.pop(task.id, None)
                return
            self._keep(task, held)
            self._tell_asks(task, held)
            if task.status is Status.SCHEDULED and task.not_before is None:
                self.hub.put_back(held, task.reason, self._in(PARKED_S))
                self._give_up(task, "no model can be had here; the hub may give it to another node")
        except StaleFence:
            self._lose(task)

    def _hand_over(self, task: Task) -> None:
        """Give back what waits here for a worker: this node stops, and another one may go on with it at once."""
        if task.status not in {Status.QUEUED, Status.SCHEDULED}:
            return
        reason = f"{self.node.name} stops"
        with contextlib.suppress(StaleFence):  # it is somebody else's by now
            self.hub.put_back(_held(task), reason, task.not_before)
        self._give_up(task, reason)

    def _result(self, task: Task) -> Result:
        ending = task.ending
        assert ending, "a task that has ended has an ending"
        text = signed_text(self.node.id, task.hub_id or 0, task.status, ending, task.commit, task.branch)
        return Result(
            status=task.status,
            ending=ending,
            reason=task.reason,
            commit=task.commit,
            branch=task.branch,
            iterations=task.iterations,
            spent=task.spent,
            signature=self._key.sign(text),
        )

    def _keep(self, task: Task, held: Held) -> None:
        """Copy the attempt to the hub where it has got on since the last copy."""
        mark = self._local.read(lambda conn: checkpoint_copy.mark(conn, task.id))
        if mark is None or self._kept.get(task.id) == mark:
            return
        copy = self._local.read(lambda conn: checkpoint_copy.take_copy(conn, task.id))
        if copy:
            self.hub.keep(held, copy)
        self._kept[task.id] = mark

    def _tell_asks(self, task: Task, held: Held) -> None:
        asks = ""
        if task.status is Status.WAITING:
            asked = self._local.approvals(task_id=task.id)
            asks = json.dumps([{"id": each.id, "kind": each.ask.kind, "question": each.ask.question} for each in asked])
        if self._asked.get(task.id) != asks:
            self.hub.wait_for_owner(held, asks)
            self._asked[task.id] = asks

    def _tell(self, entry: Outgoing) -> None:
        """Tell one entry of the outbox, and remove it; what the hub refuses is told the task's owner."""
        task = self._local.get(entry.task_id)
        try:
            if entry.wish is Wish.SUBMIT:
                self._submit(entry, task)
                return
            self._wish(entry, task)
        except (InvalidTask, IllegalMove, UnknownTask, GitError) as error:
            text = str(error)
            if entry.wish is Wish.REVISE and not isinstance(error, UnknownTask):
                said = self.hub.spec(task.hub_id or 0)
                self._local.apply(lambda tx: shared.not_revised(tx, entry, said, text)).result()
                return
            self._local.apply(lambda tx: shared.refused(tx, entry, text)).result()
            return
        self._local.apply(lambda tx: outbox.told(tx, entry.id)).result()

    def _submit(self, entry: Outgoing, task: Task) -> None:
        spec, repository = self._named(task)
        sent = self.hub.submit(spec, repository=repository, created_at=task.created_at, origin_task=task.id)
        self._local.apply(lambda tx: shared.submitted(tx, entry, sent.task_id)).result()

    def _named(self, task: Task) -> tuple[TaskSpec, str]:
        """Return a task's request as all nodes understand it, and the name of its repository."""
        spec, repository = self._repositories.named(task.spec)
        needed = [self._local.get(number) for number in spec.depends_on]
        waits = tuple(one.hub_id for one in needed if one.status is not Status.DONE and one.hub_id is not None)
        return replace(spec, depends_on=waits, key=f"{self.node.id}:{task.id}"), repository

    def _wish(self, entry: Outgoing, task: Task) -> None:
        hub_id = task.hub_id or 0
        match entry.wish:
            case Wish.RETRY:
                self.hub.retry(hub_id)
            case Wish.CANCEL:
                self.hub.cancel(hub_id)
            case Wish.WITHDRAW:
                if self.hub.get(hub_id).status in {Status.QUEUED, Status.SCHEDULED, Status.BLOCKED}:
                    self.hub.cancel(hub_id)
            case Wish.PRIORITISE:
                self.hub.prioritise(hub_id, entry.value or 0)
            case Wish.REVISE:
                spec, repository = self._named(task)
                self.hub.revise(hub_id, spec, repository=repository)

    def _read_news(self, found: Sequence[tuple[int, HubTask]]) -> None:
        while found:
            keys = nodes.keys(self._connections)
            for _, task in found:
                is_forged = result_is_signed(task, keys) is Signed.NOT_VALID
                told = self._not_believed(task) if is_forged else task
                elsewhere = shared.Elsewhere(
                    hub_id=told.id,
                    status=told.status,
                    ending=told.ending,
                    reason=told.reason,
                    commit=told.commit,
                    branch=told.branch,
                    iterations=told.iterations,
                    spent=told.spent,
                    priority=told.priority,
                )
                self._take_over(elsewhere, f"on {told.node_name}" if told.node_name else "in the hub")
            self.hub.read_news([number for number, _ in found])
            found = self.hub.news() if len(found) == NEWS else ()

    def _not_believed(self, told: HubTask) -> HubTask:
        """A task whose result somebody else wrote than the node that had it: nothing of it is taken over."""
        reason = f"the hub says {told.status}, but {told.node_name} has not signed that: nothing was taken over"
        self._events.emit(Kind.HUB_TASK, f"task {told.id} of the hub: {reason}", level=Level.WARNING)
        return replace(
            told, status=Status.FAILED, ending=Ending.ERROR, reason=reason, commit=None, branch=None, spent=Spent()
        )

    def _take_answers(self, found: Sequence[Answer]) -> None:
        for one in found:
            try:
                self._local.decide(one.approval_id, one.granted, one.text).result()
            except TaskError as error:  # somebody answered here, or it asks something else by now
                self._events.emit(Kind.HUB_TASK, f"an answer came too late: {error}")
            self.hub.read_answers([one.id])

    def _take_over(self, found: shared.Elsewhere, on: str) -> None:
        self._local.apply(lambda tx: shared.stands_elsewhere(tx, found, on)).result()

    def _prioritise(self, task_id: int, priority: int) -> None:
        self._local.apply(lambda tx: shared.prioritised(tx, task_id, priority)).result()

    # Taking tasks

    def _free(self) -> int:
        """How many tasks this node takes now."""
        state = self._state()
        if self._stopping.is_set() or not state.takes:
            return 0
        return max(0, state.slots - self._local.read(shared.busy))

    def _adopt(self, claim: Claim) -> None:
        own = claim.origin_task if claim.origin == self.node.id else None
        try:
            spec = self._here(claim, own)
        except (GitError, UnknownTask) as error:
            self.hub.put_back(claim.held, f"on {self.node.name}: {error}", self._in(PARKED_S))
            self._events.emit(Kind.HUB_TASK, f"given back: {error}", level=Level.WARNING)
            return
        given = shared.Adopted(
            hub_id=claim.held.task_id,
            fence=claim.held.fence,
            spec=spec,
            priority=claim.priority,
            created_at=claim.created_at,
            own_task=own,
            checkpoint=claim.checkpoint,
            answers=self._inherited(claim) if claim.checkpoint else (),
        )
        task = self._local.apply(lambda tx: shared.adopt(tx, given)).result()
        self._kept.pop(task.id, None)
        self._asked.pop(task.id, None)
        try:
            self.hub.adopted(claim.held, task.id)
        except StaleFence:
            self._lose(task)

    def _inherited(self, claim: Claim) -> tuple[shared.Inherited, ...]:
        return tuple(
            shared.Inherited(approval_id=one.approval_id, granted=one.granted, text=one.text)
            for one in self.hub.inherit_answers(claim.held)
        )

    def _here(self, claim: Claim, own: int | None) -> TaskSpec:
        """The task as this node works on it, with its repository at the remote's newest."""
        if own is None:
            return self._repositories.here(claim.spec, claim.repository)
        spec = self._local.get(own).spec
        self._repositories.refresh(spec)
        return replace(claim.spec, repo=spec.repo, base=spec.base)

    def _in(self, seconds: float) -> datetime:
        return self._clock() + timedelta(seconds=seconds)

    def _quietly(self, act: Callable[[int], Future[Task]], task_id: int) -> None:
        """Do what may have become needless meanwhile."""
        try:
            act(task_id).result()
        except (IllegalMove, UnknownTask) as error:
            self._events.emit(Kind.HUB_TASK, str(error))


_TOLD = {
    Kind.TASK_SUBMITTED, Kind.TASK_MOVED, Kind.TASK_CLAIMED, Kind.TASK_CANCEL_REQUESTED, Kind.TASK_PRIORITISED,
    Kind.STEP_FINISHED, Kind.TOOL_CALLED, Kind.ASKED,
}  # fmt: skip
"""Events after which the hub has something to learn, or this node has a worker free."""


def _held(task: Task) -> Held:
    return Held(task_id=task.hub_id or 0, fence=task.hub_fence or 0)
