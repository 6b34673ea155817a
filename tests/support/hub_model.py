"""The hub's queue in plain Python: what every call should do, without a database.

Each method does what the function of the same name in `nightshift/remote/hub/migrations/` promises, or returns the
error it should raise. Time is what a walk says: a lease holds until it is said to be over, and what is for later is
late until it is due.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from nightshift.core.errors import IllegalMove, InvalidTask, StaleFence, TaskError, UnknownTask
from nightshift.core.tasks.states import ENDED, Ending, Status, may_move
from nightshift.remote.hub.queue import Held

CRASHES = 3
LOST = {Status.FAILED, Status.CANCELLED}
HELD = {Status.RUNNING, Status.WAITING}
Refusal = type[TaskError]


@dataclass
class ModelledNode:
    """One node; `news` are the tasks that it has to learn of."""

    labels: frozenset[str]
    is_up: bool = False
    draining: bool = False
    news: set[int] = field(default_factory=set)


@dataclass
class ModelledTask:
    """One task; `is_late`: its time has not come, `is_old`: it was claimed longer ago than a lease lasts."""

    id: int
    origin: str
    share: str
    class_needs: frozenset[str]
    priority: int
    depends: tuple[int, ...]
    is_late: bool
    status: Status = Status.QUEUED
    ending: Ending | None = None
    attempt: int = 0
    crashes: int = 0
    node: str | None = None
    node_task: int | None = None
    fence: int = 0
    cancel: bool = False
    commit: str | None = None
    asks: str = ""
    checkpoint: str | None = None
    is_old: bool = False
    ran_on: set[str] = field(default_factory=set)

    @property
    def turn(self) -> tuple[int, int]:
        return -self.priority, self.id


class HubModel:
    """All tasks and nodes, by their ids."""

    def __init__(self) -> None:
        self.tasks: dict[int, ModelledTask] = {}
        self.nodes: dict[str, ModelledNode] = {}
        self.keys: dict[str, int] = {}
        self.fences = 0
        self.paused = False

    def of(self, *statuses: Status) -> list[ModelledTask]:
        return [task for task in self.tasks.values() if task.status in statuses]

    def held_by(self, node: str) -> list[ModelledTask]:
        return [task for task in self.of(*HELD) if task.node == node]

    def held(self, task_id: int, node: str, fence: int) -> ModelledTask | None:
        task = self.tasks[task_id]
        return task if (task.node, task.fence) == (node, fence) and task.status in HELD else None

    # What nodes do

    def submit(self, task: ModelledTask, key: str | None) -> int | Refusal:
        if key in self.keys:
            return self.keys[key or ""]
        if any(need not in self.tasks or self.tasks[need].status in LOST for need in task.depends):
            return InvalidTask
        self.tasks[task.id] = task
        if key:
            self.keys[key] = task.id
        task.status = Status.BLOCKED
        if not self._lacks(task):
            self._begin_waiting(task)
        return task.id

    def _lacks(self, task: ModelledTask) -> bool:
        return any(self.tasks[need].status is not Status.DONE for need in task.depends)

    @staticmethod
    def _begin_waiting(task: ModelledTask) -> None:
        task.status = Status.SCHEDULED if task.is_late else Status.QUEUED

    def claim(self, node: str, most: int) -> list[ModelledTask]:
        who = self.nodes[node]
        if self.paused or who.draining or not who.is_up:
            return []
        return [task for _ in range(most) if (task := self._claim_one(node, who.labels))]

    def _claim_one(self, node: str, labels: frozenset[str]) -> ModelledTask | None:
        heads: dict[tuple[str, frozenset[str]], ModelledTask] = {}
        for task in sorted(self.of(Status.QUEUED), key=lambda task: task.turn):
            if task.class_needs <= labels:
                heads.setdefault((task.share, task.class_needs), task)
        if not heads:
            return None
        running = [task.share for task in self.of(*HELD)]
        task = min(heads.values(), key=lambda head: (-head.priority, running.count(head.share), head.id))
        self.fences += 1
        task.status, task.node, task.node_task, task.fence = Status.RUNNING, node, None, self.fences
        task.attempt, task.is_old = task.attempt + 1, False
        task.ran_on.add(node)
        return task

    def beat(self, node: str, owned: Iterable[Held]) -> None:
        self.nodes[node].is_up = True
        named = {held.task_id for held in owned}
        for task in self.held_by(node):
            if task.id not in named and task.is_old:
                self._back(task)

    def adopted(self, held: tuple[int, str, int], number: int) -> Refusal | None:
        if not (task := self.held(*held)):
            return StaleFence
        task.node_task = number
        return None

    def confirm(self, held: tuple[int, str, int]) -> Refusal | None:
        if not self.held(*held):
            return StaleFence
        self.nodes[held[1]].is_up = True
        return None

    def keep(self, held: tuple[int, str, int], data: str) -> Refusal | None:
        if not (task := self.held(*held)):
            return StaleFence
        task.checkpoint, task.crashes = data, 0
        return None

    def finish(self, held: tuple[int, str, int], status: Status, ending: Ending, commit: str | None) -> Refusal | None:
        if status not in ENDED:
            return IllegalMove
        if task := self.held(*held):
            task.commit, task.asks = commit, ""
            self._end(task, status, ending, teller=held[1])
            return None
        said = self.tasks[held[0]]
        same = (said.node, said.fence, said.status, said.ending, said.commit) == (*held[1:], status, ending, commit)
        return None if same else StaleFence

    def put_back(self, held: tuple[int, str, int], *, later: bool) -> Refusal | None:
        if task := self.held(*held):
            task.asks = ""
            self._back(task, later=later and task.status is Status.RUNNING)
            return None
        said = self.tasks[held[0]]
        is_back = said.status in {Status.QUEUED, Status.SCHEDULED, Status.CANCELLED}
        return None if is_back and (said.node, said.fence) == held[1:] else StaleFence

    def _back(self, task: ModelledTask, *, later: bool = False) -> None:
        if task.cancel:
            self._end(task, Status.CANCELLED, Ending.USER)
        else:
            task.status, task.is_late = (Status.SCHEDULED, True) if later else (Status.QUEUED, task.is_late)

    def wait_for_owner(self, held: tuple[int, str, int], asks: str) -> Refusal | None:
        if not (task := self.held(*held)):
            return StaleFence
        task.asks, task.status = asks, Status.WAITING if asks else Status.RUNNING
        return None

    # What owners do

    def cancel(self, task_id: int) -> Refusal | None:
        if not (task := self.tasks.get(task_id)):
            return UnknownTask
        if task.status in ENDED:
            return IllegalMove
        if task.status in HELD:
            task.cancel = True
        else:
            self._end(task, Status.CANCELLED, Ending.USER)
        return None

    def retry(self, task_id: int) -> Refusal | None:
        if not (task := self.tasks.get(task_id)):
            return UnknownTask
        if task.status not in LOST or any(self.tasks[need].status in LOST for need in task.depends):
            return IllegalMove
        task.ending, task.crashes, task.node, task.node_task = None, 0, None, None
        task.status = Status.BLOCKED if self._lacks(task) else Status.QUEUED
        self.nodes[task.origin].news.add(task.id)
        return None

    def prioritise(self, task_id: int, priority: int) -> Refusal | None:
        task = self.tasks.get(task_id)
        if not task or task.status is Status.DONE:
            return UnknownTask
        task.priority = priority
        self.nodes[task.origin].news.add(task.id)
        return None

    def sweep(self) -> int:
        lost = [task for task in self.of(*HELD) if not self.nodes[task.node or ""].is_up]
        due = [task for task in self.of(Status.SCHEDULED) if not task.is_late]
        for task in lost:
            ran = task.status is Status.RUNNING
            task.crashes += ran
            if ran and task.crashes >= CRASHES and not task.cancel:
                self._end(task, Status.FAILED, Ending.CRASHED)
            else:
                self._back(task)
        for task in due:
            task.status = Status.QUEUED
        return len(lost) + len(due)

    def _end(self, task: ModelledTask, to: Status, ending: Ending, teller: str | None = None) -> None:
        task.status, task.ending, task.cancel, task.checkpoint = to, ending, False, None
        for node in {task.origin, *task.ran_on} - {teller}:
            self.nodes[node].news.add(task.id)
        for other in self.of(Status.BLOCKED):
            if task.id not in other.depends or other.status is not Status.BLOCKED:
                continue
            if to is not Status.DONE:
                self._end(other, Status.FAILED, Ending.DEPENDENCY)
            elif not self._lacks(other):
                self._begin_waiting(other)


def moves_told(events: Iterable[dict[str, Any]]) -> dict[int, str | None]:
    """Replay the log of the hub, in its order, to the state of each task; its moves are legal and follow each other."""
    where: dict[int, str | None] = {}
    for event in events:
        was, became = event["was"], event["became"]
        assert where.get(event["task"]) == was, event
        went_on = (was, became) == ("waiting", "running")  # by way of the queue, in one step
        assert was is None or went_on or may_move(Status(was), Status(became)), event
        where[event["task"]] = became
    return where
