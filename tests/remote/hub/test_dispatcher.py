"""The exchange of tasks between a node and the hub, one exchange at a time, without a daemon."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import Protocol

import pytest

from nightshift.core.clock import utc_now
from nightshift.core.errors import IllegalMove, InvalidTask
from nightshift.core.tasks.amending import Amendment
from nightshift.core.tasks.change_checks import Ask, AskKind
from nightshift.core.tasks.states import Ending, Status
from nightshift.core.tasks.task import Task, TaskSpec
from nightshift.remote.hub import control, nodes
from nightshift.remote.hub.connection import HubConnection
from nightshift.remote.hub.queue import HubQueue
from nightshift.remote.hub.worker import workflows_served
from nightshift.remote.hub.workflows import workflow_of
from tests.support.daemon import until
from tests.support.hub_node import LEASE_S, HubNode, hub_node, workspace_of_all
from tests.support.light_node import backlog


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


def test_new_words_reach_the_hub_while_a_task_waits_there(make_node: MakeNode, queue: HubQueue) -> None:
    first, other = make_node("a"), make_node("b")
    task_id = first.submit("one")
    at = utc_now() + timedelta(hours=1)
    first.queue.revise(task_id, TaskSpec(description="two", priority=7, needs=("gpu",), not_before=at)).result()
    first.turn()
    until(lambda: queue.get(first.number(task_id)).status is Status.SCHEDULED)
    hub_task = queue.get(first.number(task_id))
    assert (hub_task.title, hub_task.priority, hub_task.needs) == ("two", 7, ("gpu",))
    first.queue.revise(task_id, TaskSpec(description="three")).result()
    first.turn()
    assert other.take().spec.description == "three"


def test_what_another_node_works_on_keeps_its_words_and_its_owner_is_told(make_node: MakeNode, queue: HubQueue) -> None:
    first, other = make_node("a"), make_node("b")
    task_id = first.submit("one")
    other.take()
    first.queue.revise(task_id, TaskSpec(description="two")).result()
    first.turn()
    assert first.queue.get(task_id).spec.description == "one"
    assert queue.get(first.number(task_id)).title == "one"
    until(lambda: "the new description was not accepted" in first.read_messages())


def test_words_that_were_said_on_another_node_hold_where_the_task_came_from(make_node: MakeNode) -> None:
    first, other = make_node("a"), make_node("b")
    task_id = first.submit("one", key="k")
    task = other.take()
    end(other, task, Ending.GAVE_UP)
    other.queue.retry(task.id, Amendment(note="two")).result()
    other.turn()
    mine = first.take()
    assert (mine.id, mine.spec.key, mine.spec.description.endswith("two")) == (task_id, "k", True)


def test_what_the_hub_could_not_give_to_others_is_refused_at_once(make_node: MakeNode) -> None:
    node = make_node("a")
    task_id = node.submit("one")
    with pytest.raises(InvalidTask, match="only this machine could do"):
        node.queue.revise(task_id, TaskSpec(description="two", mcp=("a.b",))).result()
    assert node.queue.get(task_id).spec.description == "one"


def test_a_task_is_cancelled_from_any_node_and_tried_again(make_node: MakeNode, queue: HubQueue) -> None:
    first, other = make_node("a"), make_node("b")
    task_id = first.submit("one")
    assert queue.cancel(first.number(task_id)) is Status.CANCELLED
    assert until_stands(first, task_id, Status.CANCELLED).ending is Ending.USER
    with pytest.raises(IllegalMove):
        queue.cancel(first.number(task_id))
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


@pytest.mark.full  # one run in five fails: the server loads its levels concurrently, even if it reports a full backlog
def test_higher_steps_come_first_and_a_task_that_waits_may_change_its_own(
    make_node: MakeNode, queue: HubQueue, hub: HubConnection
) -> None:
    first, other = make_node("a"), make_node("b")
    low, usual, late = (first.submit(text, priority=number) for text, number in (("low", -20), ("usual", 1), ("x", 1)))
    first.queue.prioritise(late, 20).result()
    first.turn()
    assert queue.prioritise(first.number(low), -19) is Status.QUEUED
    until(lambda: backlog(hub) >= 4)  # the backlog includes the recalled task
    order = list[int]()
    for _ in range(3):
        task = other.take()
        order.append(task.hub_id or 0)
        end(other, task, Ending.GAVE_UP)
    assert order[0] == first.number(late)  # the server may reorder tasks behind a recalled task
    assert set(order[1:]) == {first.number(number) for number in (usual, low)}


def test_a_task_waits_for_what_it_depends_on_and_fails_with_it(make_node: MakeNode, queue: HubQueue) -> None:
    first, other = make_node("a"), make_node("b")
    needed_id = first.submit("one")
    waiting_id = first.submit("two", depends_on=(needed_id,))
    last_id = first.submit("three", depends_on=(waiting_id,))
    until(lambda: queue.get(first.number(last_id)).status is Status.BLOCKED)
    task = other.take()
    assert task.spec.description == "one"
    end(other, task, Ending.COMMITTED)
    task = other.take()
    assert task.spec.description == "two"
    end(other, task, Ending.GAVE_UP)
    assert until_stands(first, last_id, Status.FAILED).ending is Ending.DEPENDENCY


def test_what_a_task_asks_is_answered_from_anywhere(make_node: MakeNode, queue: HubQueue) -> None:
    first, other = make_node("a"), make_node("b")
    first.submit("one")
    task = other.take()
    ask = Ask(kind=AskKind.QUESTION, subject="", question="Which?")
    other.slots = 0
    other.queue.wait_for_owner(task.id, task.fence, "Which?", [ask]).result()
    other.turn()
    number = task.hub_id or 0
    until(lambda: queue.get(number).status is Status.WAITING)
    (asked,) = json.loads(queue.get(number).asks)
    assert asked["question"] == "Which?"
    queue.answer(number, asked["id"], granted=True, text="this")
    until_stands(other, task.id, Status.QUEUED)
    other.turn()
    until(lambda: queue.get(number).status is Status.RUNNING)
    with pytest.raises(IllegalMove):
        queue.answer(number, asked["id"], granted=True)


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


def test_a_node_that_stops_gives_back_what_has_not_begun(make_node: MakeNode, queue: HubQueue) -> None:
    first, other = make_node("a"), make_node("b")
    number = first.submit("one")
    first.slots = 1
    until(lambda: first.queue.get(number).status is Status.QUEUED, within_s=30)
    first.turn()
    first.dispatcher._stopping.set()
    first.turn()
    assert first.queue.get(number).status is Status.SHARED
    assert other.take().hub_id == first.number(number)


def test_a_paused_hub_and_a_node_that_drains_take_nothing(make_node: MakeNode, hub: HubConnection) -> None:
    first, other = make_node("a"), make_node("b")
    control.pause(hub, "backup")
    nodes.drain(hub, "b", draining=True)
    first.slots = other.slots = 1
    first.turn()
    number = first.submit("one")
    other.turn()
    assert nodes.overview(hub).paused == "backup"
    control.pause(hub, None)
    until(lambda: first.turn() > 0 and first.queue.get(number).status is Status.QUEUED, within_s=40)
    assert [node.draining for node in nodes.nodes(hub)] == [False, True]


def test_a_task_goes_to_a_node_that_has_all_labels(make_node: MakeNode, queue: HubQueue) -> None:
    first = make_node("a", labels=("gpu",))
    both = make_node("b", labels=("gpu", "linux", "big"))
    number = first.submit("one", needs=("gpu", "big"))
    first.slots = 1
    first.turn()
    assert both.take().hub_id == first.number(number)


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


def test_a_long_task_goes_by_way_of_the_remote(make_node: MakeNode, queue: HubQueue) -> None:
    first, other = make_node("a"), make_node("b")
    tests = {f"test_{number}.py": "# " + "x" * 40_000 for number in range(10)}
    number = first.submit("one", tests=tests)
    request = queue.request(first.number(number))
    assert (request.spec, len(request.blob)) == ("", 40)
    assert other.take().spec.tests == tests


def test_a_workflow_that_was_ended_at_the_server_is_a_cancelled_task(
    make_node: MakeNode, queue: HubQueue, hub: HubConnection
) -> None:
    first = make_node("a")
    number = first.submit("one")
    hub.call(lambda client: client.get_workflow_handle(workflow_of(first.number(number))).terminate())
    assert queue.get(first.number(number)).status is Status.CANCELLED
    until_stands(first, number, Status.CANCELLED)


def test_tasks_that_the_hub_does_not_know_are_told_of_and_can_be_cancelled(
    make_node: MakeNode, url: str, tmp_path: Path
) -> None:
    with hub_node(url, tmp_path, "b") as node:
        number = node.queue.submit(TaskSpec(description="one")).result().task_id
        node.queue.apply(lambda tx: tx.conn.execute("UPDATE tasks SET hub_id = 17 WHERE id = ?", (number,))).result()
        node.queue.apply(lambda tx: tx.conn.execute("DELETE FROM hub_outbox")).result()
    with hub_node(url, tmp_path, "b") as node:
        until(lambda: "does not know 1 shared tasks" in node.read_messages())
        node.queue.cancel(number).result()
        node.turn()
        assert node.queue.get(number).status is Status.CANCELLED
