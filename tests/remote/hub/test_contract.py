"""One test suite for the local queue and the Temporal queue.

Each task ends once, in the right order, and as its owner decides.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import pytest

from nightshift.core.errors import HubAway, IllegalMove, InvalidTask, StaleFence, UnknownTask
from nightshift.core.tasks.change_checks import Ask, AskKind
from nightshift.core.tasks.states import ENDED, Ending, Status
from nightshift.core.tasks.task import Task, TaskSpec
from nightshift.queue.manager import QueueManager, RetryPolicy
from nightshift.remote.hub.workflows import Assignment
from nightshift.storage.db.database import Database
from nightshift.storage.db.event_log import EventLog
from tests.support import tiers
from tests.support.daemon import until
from tests.support.light_node import LightNode, backlog, held, light_node
from tests.support.ready_database import ready
from tests.support.temporal import TemporalServer, needs_server

STEPS = (-20, 1, 20)
"""Priorities that Temporal maps to different levels."""


class Tasks(Protocol):
    """A queue with one worker. Tests refer to a task by the number that `submit` returns.

    If the queue is not strict, tasks behind a recalled task may come in any order.
    """

    is_strict: bool

    def submit(self, priority: int = 1, needed: int | None = None) -> int: ...
    def take(self) -> int: ...
    def end(self, number: int, status: Status) -> None: ...
    def ask(self, number: int) -> None: ...
    def answer(self, number: int) -> None: ...
    def cancel(self, number: int) -> None: ...
    def retry(self, number: int) -> None: ...
    def prioritise(self, number: int, priority: int) -> None: ...
    def status(self, number: int) -> Status: ...


class Local:
    is_strict = True

    def __init__(self, folder: Path) -> None:
        self.db = Database(ready(folder / "queue.sqlite"))
        self.queue = QueueManager(self.db, EventLog(self.db), retry=RetryPolicy(attempts=1))
        self.taken = dict[int, Task]()

    def submit(self, priority: int = 1, needed: int | None = None) -> int:
        needs = () if needed is None else (needed,)
        return self.queue.submit(TaskSpec(description="x", priority=priority, depends_on=needs)).result().task_id

    def take(self) -> int:
        task = self.queue.claim("worker").result()
        assert task
        self.taken[task.id] = task
        return task.id

    def end(self, number: int, status: Status) -> None:
        endings = {Status.DONE: Ending.COMMITTED, Status.FAILED: Ending.GAVE_UP, Status.CANCELLED: Ending.USER}
        task = self.taken.pop(number)
        self.queue.finish(number, task.fence, endings[status]).result()

    def ask(self, number: int) -> None:
        ask = Ask(kind=AskKind.QUESTION, subject="", question="?")
        self.queue.wait_for_owner(number, self.taken[number].fence, "?", [ask]).result()

    def answer(self, number: int) -> None:
        asked = self.queue.approvals(task_id=number)
        if not asked:
            raise IllegalMove
        self.queue.decide(asked[0].id, True, "this").result()
        self.take()

    def cancel(self, number: int) -> None:
        self.queue.cancel(number).result()

    def retry(self, number: int) -> None:
        self.queue.retry(number).result()

    def prioritise(self, number: int, priority: int) -> None:
        self.queue.prioritise(number, priority).result()

    def status(self, number: int) -> Status:
        return self.queue.get(number).status


class Shared:
    is_strict = False

    def __init__(self, node: LightNode) -> None:
        self.node, self.taken = node, dict[int, Assignment]()

    def submit(self, priority: int = 1, needed: int | None = None) -> int:
        number = self.node.submit("x", priority=priority, depends_on=[] if needed is None else [needed])
        until(lambda: self.node.is_looked_at(number))
        return number

    def take(self) -> int:
        assignment = self.node.take()
        self.taken[assignment.request.id] = assignment
        return assignment.request.id

    def end(self, number: int, status: Status) -> None:
        self.node.end(self.taken.pop(number), status)

    def ask(self, number: int) -> None:
        self.node.queue.tell_asks(held(self.taken[number]), "[]")
        until(lambda: self.status(number) is Status.WAITING)

    def answer(self, number: int) -> None:
        self.node.queue.answer(number, 1, granted=True, text="this")
        (reply,) = self.node.queue.look([number])[number].replies
        self.node.queue.read_replies(number, [reply.id])
        self.node.queue.tell_asks(held(self.taken[number]), "")
        until(lambda: self.status(number) is Status.RUNNING)

    def cancel(self, number: int) -> None:
        self.node.queue.cancel(number)

    def retry(self, number: int) -> None:
        self.node.queue.retry(number)

    def prioritise(self, number: int, priority: int) -> None:
        waiting = backlog(self.node.connection)
        self.node.queue.prioritise(number, priority)
        until(lambda: backlog(self.node.connection) > waiting)

    def status(self, number: int) -> Status:
        return self.node.queue.get(number).status


@pytest.fixture(params=["local", pytest.param("temporal", marks=needs_server)])
def tasks(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Tasks]:
    if request.param == "local":
        local = Local(tmp_path)
        yield local
        local.db.close()
        return
    with light_node(request.getfixturevalue("url")) as node:
        yield Shared(node)


def test_the_highest_priority_comes_first_also_where_it_changed(tasks: Tasks) -> None:
    low, usual, high, late = (tasks.submit(priority) for priority in (-20, 1, 20, -20))
    tasks.prioritise(late, 1)
    tasks.prioritise(low, 30)
    order = list[int]()
    for _ in range(4):
        order.append(tasks.take())
        tasks.end(order[-1], Status.DONE)
    assert order[0] in {low, high}
    assert set(order) == {low, usual, high, late}
    assert not tasks.is_strict or set(order[:2]) == {low, high}


def test_what_waits_is_cancelled_at_once_and_what_runs_by_its_worker(tasks: Tasks) -> None:
    first, second = tasks.submit(20), tasks.submit()
    assert tasks.take() == first
    tasks.cancel(first)
    tasks.cancel(second)
    assert (tasks.status(first), tasks.status(second)) == (Status.RUNNING, Status.CANCELLED)
    tasks.end(first, Status.CANCELLED)
    assert tasks.status(first) is Status.CANCELLED
    for act in (tasks.cancel, tasks.answer):
        with pytest.raises((IllegalMove, ValueError)):
            act(second)
    with pytest.raises(UnknownTask):
        tasks.cancel(99)


def test_what_failed_is_tried_again_and_what_is_done_stays_so(tasks: Tasks) -> None:
    number = tasks.submit()
    for status in (Status.FAILED, Status.DONE):
        assert tasks.take() == number
        with pytest.raises(IllegalMove):
            tasks.retry(number)
        tasks.end(number, status)
        if status is Status.FAILED:
            tasks.retry(number)
    with pytest.raises(IllegalMove):
        tasks.retry(number)


def test_a_task_waits_for_what_it_depends_on_and_fails_with_it(tasks: Tasks) -> None:
    first = tasks.submit()
    second = tasks.submit(20, needed=first)
    third = tasks.submit(20, needed=second)
    until(lambda: tasks.status(third) is Status.BLOCKED)
    for status in (Status.DONE, Status.FAILED):
        tasks.end(tasks.take(), status)
    until(lambda: tasks.status(third) is Status.FAILED)
    assert [tasks.status(number) for number in (first, second)] == [Status.DONE, Status.FAILED]


def test_an_answer_lets_a_task_go_on(tasks: Tasks) -> None:
    number = tasks.submit()
    tasks.take()
    tasks.ask(number)
    assert tasks.status(number) is Status.WAITING
    tasks.answer(number)
    assert tasks.status(number) is Status.RUNNING
    tasks.end(number, Status.DONE)


class Walk:
    """Random actions on a queue; after each one the status of all tasks is compared with a model."""

    def __init__(self, tasks: Tasks, seed: int) -> None:
        self.tasks, self.draw = tasks, random.Random(seed)
        self.model, self.priorities, self.has_cancelled = dict[int, Status](), dict[int, int](), False

    def run(self, steps: int, between: Callable[[], None] = lambda: None) -> None:
        for _ in range(steps):
            between()
            self.draw.choice(list(self.acts()))()
            assert {number: self.tasks.status(number) for number in self.model} == self.model
        while left := [number for number, status in self.model.items() if status not in ENDED]:
            self.work_off(left)

    def acts(self) -> Iterator[Callable[[], None]]:
        yield self.submit
        if running := self.some(Status.RUNNING):
            yield lambda: self.act(self.tasks.ask, running[0], Status.WAITING)
            for status in (Status.DONE, Status.FAILED):
                yield lambda status=status: self.act(lambda n: self.tasks.end(n, status), running[0], status)  # type: ignore[misc]
        elif self.some(Status.QUEUED):
            yield from [self.take] * 2
        elif waiting := self.some(Status.WAITING):
            yield lambda: self.act(self.tasks.answer, waiting[0], Status.RUNNING)
        if queued := self.some(Status.QUEUED):
            yield lambda: self.act(self.tasks.cancel, queued[0], Status.CANCELLED)
        if closed := self.some(Status.FAILED, Status.CANCELLED):
            yield lambda: self.act(self.tasks.retry, closed[0], Status.QUEUED)

    def work_off(self, left: list[int]) -> None:
        if self.some(Status.RUNNING):
            number = self.some(Status.RUNNING)[0]
            self.act(lambda n: self.tasks.end(n, Status.DONE), number, Status.DONE)
        elif self.some(Status.QUEUED):
            self.take()
        else:
            self.act(self.tasks.answer, left[0], Status.RUNNING)

    def some(self, *statuses: Status) -> list[int]:
        return [number for number, status in self.model.items() if status in statuses]

    def submit(self) -> None:
        priority = self.draw.choice(STEPS)
        number = self.tasks.submit(priority)
        self.model[number], self.priorities[number] = Status.QUEUED, priority

    def take(self) -> None:
        number = self.tasks.take()
        assert self.model[number] is Status.QUEUED
        highest = max(self.priorities[other] for other in self.some(Status.QUEUED))
        assert self.priorities[number] == highest or (self.has_cancelled and not self.tasks.is_strict)
        self.model[number] = Status.RUNNING

    def act(self, act: Callable[[int], None], number: int, status: Status) -> None:
        act(number)
        self.model[number] = status
        self.has_cancelled |= status is Status.CANCELLED


@pytest.mark.parametrize("seed", tiers.choose(range(8), 1))
def test_walks(tasks: Tasks, seed: int) -> None:
    Walk(tasks, seed).run(60 if tiers.ALL else 25)


@needs_server
@pytest.mark.full
def test_a_walk_while_the_server_is_killed_between_calls(tmp_path: Path) -> None:
    draw = random.Random(3)
    with TemporalServer(tmp_path / "temporal.db", namespaces=1) as server, light_node(server.ready()) as node:

        def kill() -> None:
            if draw.random() < 0.15:
                server.kill()
                with pytest.raises(HubAway):
                    node.queue.counts()
                server.start()
                until(node.answers)

        Walk(Shared(node), 3).run(40, kill)


@needs_server
def test_a_task_that_is_submitted_twice_starts_once_and_a_late_end_is_refused(url: str) -> None:
    with light_node(url) as node:
        number = node.submit("x")
        request = node.queue.request(number)
        node.queue.submit(request)
        with pytest.raises(InvalidTask):
            node.queue.submit(replace(request, created_at="2020-01-01T00:00:00+00:00"))
        taken = node.take()
        node.end(taken)
        node.queue.submit(request)
        with pytest.raises(StaleFence):
            node.end(taken)
        assert len(node.queue.find()) <= 1
