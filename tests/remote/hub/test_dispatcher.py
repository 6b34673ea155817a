"""The exchange of tasks between a node and the hub, one exchange at a time, without a daemon."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

import pytest

from nightshift.core.tasks.states import Ending, Status
from nightshift.core.tasks.task import Task
from nightshift.remote.hub import control, nodes
from nightshift.remote.hub.connection import HubConnection
from nightshift.remote.hub.queue import HubQueue
from nightshift.remote.hub.worker import workflows_served
from tests.support.daemon import until
from tests.support.hub_node import LEASE_S, HubNode, hub_node, workspace_of_all


class MakeNode(Protocol):
    def __call__(self, name: str, *, lease_s: float = LEASE_S, labels: tuple[str, ...] = ()) -> HubNode: ...


@pytest.fixture
def make_node(hub: HubConnection, url: str, tmp_path: Path) -> Iterator[MakeNode]:
    with workflows_served(hub):
        control.prepare(hub)
        control.follow(hub, workspace_of_all(tmp_path))
    with ExitStack() as stack:
        yield lambda name, **more: stack.enter_context(hub_node(url, tmp_path, name, **more))


@pytest.fixture
def queue(hub: HubConnection) -> HubQueue:
    return HubQueue(hub)


def until_stands(node: HubNode, task_id: int, status: Status) -> Task:
    """Let a node exchange tasks with the hub until its task has this status; return the task."""

    def stands() -> bool:
        node.turn()
        return node.queue.get(task_id).status is status

    until(stands, within_s=40)
    return node.queue.get(task_id)


def end(node: HubNode, task: Task, ending: Ending) -> None:
    node.slots = 0
    node.queue.finish(task.id, task.fence, ending).result()
    node.turn()


def test_a_task_ends_on_another_node_and_its_own_learns_of_it(make_node: MakeNode, queue: HubQueue) -> None:
    first, other = make_node("a"), make_node("b")
    number = first.submit("one", priority=5)
    task = other.take()
    assert (task.spec.description, task.spec.priority, task.hub_id) == ("one", 5, first.number(number))
    until(lambda: queue.get(task.hub_id or 0).status is Status.RUNNING)
    hub_task = queue.get(task.hub_id or 0)
    assert (hub_task.node, hub_task.node_task, hub_task.origin, hub_task.origin_task) == ("b", task.id, "a", number)
    end(other, task, Ending.GAVE_UP)
    ended = until_stands(first, number, Status.FAILED)
    assert (ended.ending, ended.reason.startswith("on b")) == (Ending.GAVE_UP, True)


def test_a_task_is_cancelled_from_any_node_and_tried_again(make_node: MakeNode, queue: HubQueue) -> None:
    first, other = make_node("a"), make_node("b")
    task_id = first.submit("one")
    assert queue.cancel(first.number(task_id)) is Status.CANCELLED
    assert until_stands(first, task_id, Status.CANCELLED).ending is Ending.USER
    assert queue.retry(first.number(task_id)) is Status.QUEUED
    until_stands(first, task_id, Status.SHARED)
    task = other.take()
    first.queue.cancel(task_id).result()
    first.turn()

    def is_asked() -> bool:
        other.turn()
        return other.queue.get(task.id).cancel_requested

    until(is_asked)
    end(other, task, Ending.USER)
    until_stands(first, task_id, Status.CANCELLED)
    assert [each.id for each in queue.find(Status.CANCELLED)] == [task.hub_id]


def test_what_a_lost_node_had_another_one_begins_anew_and_its_late_end_is_refused(
    make_node: MakeNode, queue: HubQueue
) -> None:
    lost, other = make_node("b", lease_s=4), make_node("c", lease_s=4)
    number = lost.submit("one")
    task = lost.take()
    until(lambda: queue.get(task.hub_id or 0).status is Status.RUNNING)
    lost.die()
    again = other.take()
    assert (again.hub_id, (again.hub_fence or 0) > (task.hub_fence or 0)) == (task.hub_id, True)
    lost.queue.finish(task.id, task.fence, Ending.COMMITTED).result()
    lost.turn()
    assert queue.get(task.hub_id or 0).node == "c"
    assert lost.queue.get(number).hub_fence is None
    end(other, again, Ending.COMMITTED)
    assert queue.get(task.hub_id or 0).node == "c"


def test_a_node_that_starts_again_goes_on_with_what_it_had(
    make_node: MakeNode, queue: HubQueue, url: str, tmp_path: Path
) -> None:
    first = make_node("a")
    first.submit("one")
    with hub_node(url, tmp_path, "b") as other:
        task = other.take()
        other.turn()
    with hub_node(url, tmp_path, "b") as other:
        other.turn()
        held = other.queue.get(task.id)
        assert (held.hub_fence, held.status) == (task.hub_fence, Status.RUNNING)
        end(other, task, Ending.COMMITTED)
        until(lambda: queue.get(task.hub_id or 0).status is Status.DONE)


def test_a_result_that_the_node_did_not_sign_is_not_taken_over(make_node: MakeNode, hub: HubConnection) -> None:
    first, other = make_node("a"), make_node("b")
    number = first.submit("one")
    task = other.take()
    other.dispatcher._key = first.dispatcher._key
    end(other, task, Ending.COMMITTED)
    ended = until_stands(first, number, Status.FAILED)
    assert "has not signed" in ended.reason


def test_a_node_that_was_removed_says_so_and_others_have_its_tasks(make_node: MakeNode, hub: HubConnection) -> None:
    first, other, third = make_node("a"), make_node("b"), make_node("c")
    first.submit("one")
    task = other.take()
    until(lambda: HubQueue(hub).get(task.hub_id or 0).status is Status.RUNNING)
    until(lambda: bool(HubQueue(hub).find(Status.RUNNING)))
    gone, moved = nodes.remove(hub, "b")
    assert (gone.id, moved) == ("b", 1)
    other.turn()
    assert "removed this node" in (other.dispatcher.trouble or "")
    assert other.queue.get(task.id).hub_fence is None
    again = third.take()
    assert again.hub_id == task.hub_id
    nodes.let_back(hub, "b")
    other.turn()
    assert other.dispatcher.trouble == ""
