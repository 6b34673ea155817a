"""The exchange between a node and the hub about tasks, turn by turn, without a daemon."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from psycopg import Connection
from psycopg.rows import DictRow

from nightshift.core.clock import utc_now
from nightshift.core.errors import InvalidTask
from nightshift.core.events import Kind
from nightshift.core.tasks.amending import Amendment
from nightshift.core.tasks.change_checks import Ask, AskKind
from nightshift.core.tasks.states import Ending, Status
from nightshift.core.tasks.task import TaskSpec
from nightshift.remote.hub import migrations
from nightshift.remote.hub.connection import HubConnections
from nightshift.remote.hub.nodes import keys, remove
from nightshift.remote.hub.queue import HubQueue
from nightshift.remote.hub.signing import Signed, result_is_signed
from tests.support.daemon import until
from tests.support.hub_node import HubNode, hub_node, workspace_of_all
from tests.support.postgres import PostgresServer, hub

MakeNode = Callable[[str], HubNode]


@pytest.fixture
def make_node(connections: HubConnections, server: PostgresServer, tmp_path: Path) -> Iterator[MakeNode]:
    row = connections.row("SELECT current_database() AS name")
    assert row
    workspace_of_all(connections, tmp_path)
    with ExitStack() as stack:
        yield lambda name: stack.enter_context(hub_node(HubConnections(server.url(row["name"])), tmp_path, name))


@pytest.fixture
def queue(connections: HubConnections) -> HubQueue:
    return HubQueue(connections, "observer")


def test_new_words_reach_the_hub_while_a_task_waits_there(make_node: MakeNode, queue: HubQueue) -> None:
    first, other = make_node("a"), make_node("b")
    one = first.submit("one")
    at = utc_now() + timedelta(hours=1)
    new = TaskSpec(description="two", priority=7, needs=("gpu",), not_before=at)
    first.queue.revise(one, new).result()
    first.turn()
    told = queue.get(first.number(one))
    assert (told.title, told.priority, told.needs, told.status) == ("two", 7, ("gpu",), Status.SCHEDULED)
    first.queue.revise(one, TaskSpec(description="three")).result()
    first.turn()
    assert (queue.get(told.id).status, queue.get(told.id).needs) == (Status.QUEUED, ())
    other.slots = 1
    other.turn()
    assert other.running().spec.description == "three"


def test_what_another_node_works_on_keeps_its_words_and_its_owner_is_told(make_node: MakeNode, queue: HubQueue) -> None:
    first, other = make_node("a"), make_node("b")
    one = first.submit("one")
    other.slots = 1
    other.turn()
    first.queue.revise(one, TaskSpec(description="two")).result()
    first.turn()
    assert first.queue.get(one).spec.description == "one"
    assert queue.get(first.number(one)).title == "one"
    assert "the new words were not taken: task 1 is being worked on by b; its words stay as they are" in first.said()


def test_the_node_that_has_a_task_may_revise_it_for_whoever_goes_on(make_node: MakeNode, queue: HubQueue) -> None:
    first, other = make_node("a"), make_node("b")
    one = first.submit("one")
    first.slots = 1
    first.turn()
    task = first.running()
    first.queue.revise(one, TaskSpec(description="two")).result()
    first.turn()
    assert "two" in queue.spec(first.number(one)).description
    first.queue.finish(task.id, task.fence, Ending.GAVE_UP).result()
    first.slots = 0
    first.turn()
    first.queue.retry(one, Amendment(note="three")).result()
    first.turn()
    other.slots = 1
    other.turn()
    assert other.running().spec.description.endswith("three")


def test_words_that_were_said_on_another_node_hold_where_the_task_came_from(
    make_node: MakeNode, queue: HubQueue
) -> None:
    first, other = make_node("a"), make_node("b")
    one = first.submit("one", key="k")
    other.slots = 1
    other.turn()
    task = other.running()
    other.queue.finish(task.id, task.fence, Ending.GAVE_UP).result()
    other.slots = 0
    other.turn()
    other.queue.retry(task.id, Amendment(note="two")).result()
    other.turn()
    first.slots = 1
    first.turn()
    mine = first.running()
    assert (mine.id, mine.spec.key, mine.spec.description.endswith("two")) == (one, "k", True)


def test_what_the_hub_could_not_give_to_others_is_refused_at_once(make_node: MakeNode) -> None:
    node = make_node("a")
    one = node.submit("one")
    with pytest.raises(InvalidTask, match="only this machine can do"):
        node.queue.revise(one, TaskSpec(description="two", mcp=("a.b",))).result()
    assert node.queue.get(one).spec.description == "one"


def test_a_result_that_the_node_did_not_sign_is_not_taken_over(
    make_node: MakeNode, queue: HubQueue, connections: HubConnections
) -> None:
    first, other = make_node("a"), make_node("b")
    one, two = first.submit("one"), first.submit("two")
    other.slots = 2
    other.turn()
    for task in (other.running(), other.running()):
        other.queue.finish(task.id, task.fence, Ending.COMMITTED, commit="c0ffee").result()
    other.turn()
    known = keys(connections)
    assert {result_is_signed(task, known) for task in queue.find()} == {Signed.VALID}
    with connections.connection() as conn:
        conn.execute("UPDATE tasks SET commit_id = 'beef' WHERE id = %s", (first.number(two),))
    assert result_is_signed(queue.get(first.number(two)), known) is Signed.NOT_VALID
    first.turn()
    good, bad = first.queue.get(one), first.queue.get(two)
    assert (good.status, good.commit) == (Status.DONE, "c0ffee")
    assert (bad.status, bad.ending, bad.commit) == (Status.FAILED, Ending.ERROR, None)
    assert bad.reason == "on b: the hub says done, but b has not signed that: nothing was taken over"
    assert "b has not signed that" in first.said()


def test_what_the_hub_ended_is_no_nodes_word(make_node: MakeNode, queue: HubQueue) -> None:
    node = make_node("a")
    one = node.submit("one")
    assert result_is_signed(queue.get(node.number(one)), {}) is None
    queue.cancel(node.number(one))
    assert result_is_signed(queue.get(node.number(one)), {}) is Signed.UNKNOWN
    node.turn()
    assert node.queue.get(one).status is Status.CANCELLED


def test_a_node_that_was_removed_says_so_and_gives_up_what_it_has(
    make_node: MakeNode, connections: HubConnections
) -> None:
    node = make_node("a")
    one = node.submit("one")
    node.slots = 1
    node.turn()
    remove(connections, "a")
    node.beat()
    assert node.dispatcher.trouble == "this node was removed by the owner of the hub"
    assert node.queue.get(one).status is Status.SHARED
    assert node.queue.claim("worker").result() is None


def test_what_a_lost_node_asked_is_not_asked_again_and_what_it_was_answered_holds(
    make_node: MakeNode, queue: HubQueue, connections: HubConnections
) -> None:
    first, other = make_node("a"), make_node("b")
    one, asks = first.submit("one"), [Ask(kind=AskKind.FINDING, subject=name, question=f"{name}?") for name in "xyz"]
    asks.append(Ask(kind=AskKind.QUESTION, subject="", question="which?"))
    other.submit("so that numbers differ")
    queue.cancel(other.number(1))
    first.slots = 1
    first.turn()
    task = first.running()
    first.queue.wait_for_owner(task.id, task.fence, "x?", asks).result()
    first.turn()
    numbers = {each.ask.subject: each.id for each in first.queue.approvals(task_id=one)}
    first.queue.decide(numbers["x"], True, "").result()  # it waits for the others
    first.turn()
    queue.answer(task.hub_id or 0, numbers["y"], granted=False, text="no")
    with connections.connection() as conn:
        conn.execute("UPDATE nodes SET lease_until = 'epoch' WHERE id = 'a'")
    queue.sweep()
    other.slots = 1
    other.turn()
    here = other.running()
    told = {each.ask.question: each.granted for each in other.queue.approvals(task_id=here.id, open_only=False)}
    assert told == {"x?": True, "y?": False, "z?": None, "which?": None}
    waiting = other.queue.wait_for_owner(here.id, here.fence, "x?", asks).result()
    assert waiting.status is Status.WAITING
    assert [each.ask.question for each in other.queue.approvals(task_id=here.id)] == ["z?", "which?"]
    assert [event.kind for event in other.events.after(0, limit=999)].count(Kind.ASKED) == 0
    other.turn()
    assert [each["question"] for each in json.loads(queue.get(here.hub_id or 0).asks)] == ["z?", "which?"]
    assert connections.rows("SELECT 1 FROM answers") == []


class Counted(HubConnections):
    """Counts how often one of them is taken."""

    taken = 0

    @contextmanager
    def connection(self) -> Iterator[Connection[DictRow]]:
        self.taken += 1
        with super().connection() as conn:
            yield conn


def test_a_turn_asks_the_hub_once(server: PostgresServer, tmp_path: Path) -> None:
    with hub(server.ready()) as owner:
        workspace_of_all(owner, tmp_path)
        (row,) = owner.rows("SELECT current_database() AS name")
        counted = Counted(server.url(row["name"]))
        with hub_node(counted, tmp_path, "a") as node:
            node.slots = 1
            node.turn()
            before = counted.taken
            node.turn()
            assert counted.taken - before == 1


def test_a_node_whose_schema_is_not_there_joins_when_it_is(server: PostgresServer, tmp_path: Path) -> None:
    url = server.database()
    with hub_node(HubConnections(url), tmp_path, "a") as node:
        assert "type `nightshift hub init`" in (node.dispatcher.trouble or "")
        waits = [node.turn() for _ in range(6)]
        assert waits == [4, 8, 16, 32, 60, 60]
        node.dispatcher.start()
        time.sleep(0.5)  # it listens, and waits for a minute
        owner = HubConnections(url)
        migrations.migrate(owner)
        until(lambda: not node.dispatcher.trouble, within_s=30)
        owner.close()
        node.dispatcher.stop()
