"""The queue of a hub, whose tasks are workflows at Temporal.

Each task ends once, in the right order, and as its owner decides.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from nightshift.core.errors import HubAway, InvalidTask, StaleFence
from nightshift.core.tasks.states import ENDED, Status
from nightshift.remote.hub.workflows import Assignment
from tests.support import tiers
from tests.support.daemon import until
from tests.support.light_node import LightNode, held, light_node
from tests.support.temporal import TemporalServer, needs_server

STEPS = (-20, 1, 20)
"""Priorities that Temporal maps to different levels."""


class Shared:
    """The tasks of a hub that has one node. Tests refer to a task by the number that `submit` returns."""

    def __init__(self, node: LightNode) -> None:
        self.node, self.taken = node, dict[int, Assignment]()

    def submit(self, priority: int) -> int:
        number = self.node.submit("x", priority=priority)
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

    def status(self, number: int) -> Status:
        return self.node.queue.get(number).status


class Walk:
    """Random actions on a queue; after each one the status of all tasks is compared with a model."""

    def __init__(self, tasks: Shared, seed: int) -> None:
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
            yield lambda: self.act(self.tasks.node.queue.cancel, queued[0], Status.CANCELLED)
        if closed := self.some(Status.FAILED, Status.CANCELLED):
            yield lambda: self.act(self.tasks.node.queue.retry, closed[0], Status.QUEUED)

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
        assert self.priorities[number] == highest or self.has_cancelled  # tasks behind a recalled one come in any order
        self.model[number] = Status.RUNNING

    def act(self, act: Callable[[int], object], number: int, status: Status) -> None:
        act(number)
        self.model[number] = status
        self.has_cancelled |= status is Status.CANCELLED


@needs_server
@pytest.mark.parametrize("seed", tiers.choose(range(3), 1))
def test_walks(url: str, seed: int) -> None:
    with light_node(url) as node:
        Walk(Shared(node), seed).run(60 if tiers.ALL else 25)


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
