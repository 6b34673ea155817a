"""Random walks of several nodes through one hub, beside a model in plain Python: after every step both say the same.

Nodes say things under every fence that they ever had, so most of what a walk tries comes too late. The hub's clock is
not waited for: the schema's owner sets leases, times and claims back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial

import psycopg
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from nightshift.core.clock import utc_now
from nightshift.core.tasks.states import ENDED, Ending, Status, may_move
from nightshift.core.tasks.task import TaskSpec
from nightshift.remote.hub.connection import HubConnections
from nightshift.remote.hub.nodes import Node, drain, join
from nightshift.remote.hub.queue import Held, HubQueue, Result
from tests.support import tiers
from tests.support.hub_model import CRASHES, HubModel, ModelledNode, ModelledTask, Refusal, moves_told
from tests.support.postgres import PostgresServer, hub

LABELS = {"a": frozenset({"go"}), "b": frozenset({"go", "gpu"}), "c": frozenset[str]()}
LEASE_S = 3600.0
nodes = st.sampled_from(sorted(LABELS))
endings = st.sampled_from([
    (Status.DONE, Ending.COMMITTED), (Status.DONE, Ending.NO_CHANGE), (Status.FAILED, Ending.GAVE_UP),
    (Status.FAILED, Ending.CRASHED), (Status.CANCELLED, Ending.USER),
])  # fmt: skip
commits = st.sampled_from([None, "c0ffee", "beef"])


class HubWalk(RuleBasedStateMachine):
    """One walk; each node has connections of its own."""

    def __init__(self, owner: HubConnections, clients: dict[str, HubConnections]) -> None:
        super().__init__()
        self.owner, self.model = owner, HubModel()
        self.queues = {node: HubQueue(client, node, LEASE_S) for node, client in clients.items()}
        self.claims: list[tuple[int, str, int]] = []
        with owner.connection() as conn:
            conn.execute("TRUNCATE nodes, classes, tasks, mailbox, events, pauses RESTART IDENTITY CASCADE")
            conn.execute("ALTER SEQUENCE fences RESTART")
        for node, labels in LABELS.items():
            join(clients[node], Node(id=node, name=node, labels=tuple(labels), slots=4))
            self.model.nodes[node] = ModelledNode(labels)

    def a_claim(self, data: st.DataObject) -> tuple[int, str, int]:
        """The tasks that some node had, or has, and those that it should not even know."""
        task_id, node, fence = data.draw(st.sampled_from(self.claims), label="claim")
        stranger = data.draw(st.sampled_from([*[node] * 8, *LABELS]), label="node")
        return task_id, stranger, fence

    def some_id(self, data: st.DataObject) -> int:
        return data.draw(st.sampled_from([*self.model.tasks, 999]), label="task")

    def both(self, call: Callable[[], object], expected: Refusal | None) -> None:
        if expected is None:
            call()
        else:
            with pytest.raises(expected):
                call()

    @initialize(up=st.sets(nodes, min_size=1), count=st.integers(0, 4), claimed=st.integers(0, 2))
    def some_work_is_there(self, up: set[str], count: int, claimed: int) -> None:
        """Each other task depends on the one before."""
        for node in sorted(up):
            self.beat(node, None)
        for number in range(1, count + 1):
            depends = (number - 1,) if number % 2 == 0 else ()
            self.model.submit(ModelledTask(number, "c", "x", frozenset(), 1, depends, is_late=False), None)
            self.queues["c"].submit(TaskSpec(description="x", priority=1, depends_on=depends), share="x")
        if claimed:
            self.claim(min(up), claimed)

    @rule(
        data=st.data(), node=nodes, share=st.sampled_from(["x", "y"]), late=st.sampled_from([None, False, True]),
        needs=st.sampled_from([(), (), ("go",), ("gpu", "go")]), priority=st.integers(0, 2),
        key=st.none() | st.sampled_from("kl"),
    )  # fmt: skip
    def submit(
        self, data: st.DataObject, node: str, share: str, late: bool | None, needs: tuple[str, ...], priority: int,
        key: str | None,
    ) -> None:  # fmt: skip
        ids = st.lists(st.sampled_from([*self.model.tasks, *self.model.tasks, 999]), max_size=3, unique=True)
        depends = tuple(data.draw(ids, label="depends")) if self.model.tasks else ()
        task = ModelledTask(len(self.model.tasks) + 1, node, share, frozenset(needs), priority, depends, late is True)
        expected = self.model.submit(task, key)
        at = None if late is None else utc_now() + timedelta(hours=1 if late else -1)
        spec = TaskSpec(description="x", priority=priority, needs=needs, depends_on=depends, not_before=at, key=key)
        if isinstance(expected, int):
            assert self.queues[node].submit(spec, share=share).task_id == expected
        else:
            self.both(lambda: self.queues[node].submit(spec, share=share), expected)

    @rule(node=nodes, most=st.integers(1, 3))
    def claim(self, node: str, most: int) -> None:
        expected = self.model.claim(node, most)
        found = self.queues[node].claim(most)
        assert [(one.held.task_id, one.held.fence, one.checkpoint) for one in found] == [
            (task.id, task.fence, task.checkpoint) for task in expected
        ]
        self.claims += [(one.held.task_id, node, one.held.fence) for one in found]

    @precondition(lambda self: any(self.model.held_by(node) for node in LABELS))
    @rule(data=st.data())
    def a_node_claims_again_and_says_all_under_the_fence_of_before(self, data: st.DataObject) -> None:
        """Nothing but the fence tells the two claims apart, if it has the same task again."""
        held = [(task.id, node, task.fence) for node in LABELS for task in self.model.held_by(node)]
        one = data.draw(st.sampled_from(held), label="held")
        queue, before = self.queues[one[1]], _held(one)
        self.both(lambda: queue.put_back(before, "again"), self.model.put_back(one, later=False))
        self.beat(one[1], None)
        self.claim(one[1], 3)
        end = Result(status=Status.DONE, ending=Ending.COMMITTED)
        said = [
            (partial(queue.confirm, before), self.model.confirm(one)),
            (partial(queue.adopted, before, 9), self.model.adopted(one, 9)),
            (partial(queue.keep, before, "{}"), self.model.keep(one, "{}")),
            (partial(queue.wait_for_owner, before, "?"), self.model.wait_for_owner(one, "?")),
            (partial(queue.finish, before, end), self.model.finish(one, end.status, end.ending, None)),
            (partial(queue.put_back, before, "again"), self.model.put_back(one, later=False)),
        ]
        for call, expected in data.draw(st.permutations(said), label="said"):
            self.both(call, expected)

    @rule(node=nodes, dropped=st.none() | st.integers(0, 3))
    def beat(self, node: str, dropped: int | None) -> None:
        """A node names all that it ever claimed; or it has forgotten one of those."""
        mine = [Held(task_id=task, fence=fence) for task, owner, fence in self.claims if owner == node]
        if dropped is not None and mine:
            mine.pop(dropped % len(mine))
        self.model.beat(node, mine)
        beat, priorities = self.queues[node].beat(mine)
        held = {one.task_id: task for one in mine if (task := self.model.held(one.task_id, node, one.fence))}
        assert beat.lost == {one.task_id for one in mine if not self.model.held(one.task_id, node, one.fence)}
        assert beat.cancelled == {task.id for task in held.values() if task.cancel}
        assert priorities == {task.id: task.priority for task in held.values()}

    @precondition(lambda self: self.claims)
    @rule(data=st.data(), number=st.integers(1, 9))
    def adopted(self, data: st.DataObject, number: int) -> None:
        one = self.a_claim(data)
        self.both(lambda: self.queues[one[1]].adopted(_held(one), number), self.model.adopted(one, number))

    @precondition(lambda self: self.claims)
    @rule(data=st.data())
    def confirm(self, data: st.DataObject) -> None:
        one = self.a_claim(data)
        self.both(lambda: self.queues[one[1]].confirm(_held(one)), self.model.confirm(one))

    @precondition(lambda self: self.claims)
    @rule(data=st.data(), text=st.sampled_from(["{}", '{"step": 2}']))
    def keep(self, data: st.DataObject, text: str) -> None:
        one = self.a_claim(data)
        self.both(lambda: self.queues[one[1]].keep(_held(one), text), self.model.keep(one, text))

    @precondition(lambda self: self.claims)
    @rule(data=st.data(), how=endings, commit=commits, times=st.integers(1, 2))
    def finish(self, data: st.DataObject, how: tuple[Status, Ending], commit: str | None, times: int) -> None:
        one, result = self.a_claim(data), Result(status=how[0], ending=how[1], commit=commit)
        for _ in range(times):
            self.both(lambda: self.queues[one[1]].finish(_held(one), result), self.model.finish(one, *how, commit))

    @precondition(lambda self: self.claims)
    @rule(data=st.data(), status=st.sampled_from(sorted(set(Status) - ENDED)))
    def end_as_what_is_no_end(self, data: st.DataObject, status: Status) -> None:
        one, result = self.a_claim(data), Result(status=status, ending=Ending.COMMITTED)
        expected = self.model.finish(one, status, Ending.COMMITTED, None)
        self.both(lambda: self.queues[one[1]].finish(_held(one), result), expected)

    @precondition(lambda self: self.claims)
    @rule(data=st.data(), later=st.booleans(), times=st.integers(1, 2))
    def put_back(self, data: st.DataObject, later: bool, times: int) -> None:
        one, at = self.a_claim(data), utc_now() + timedelta(hours=1) if later else None
        for _ in range(times):
            expected = self.model.put_back(one, later=later)
            self.both(lambda: self.queues[one[1]].put_back(_held(one), "later", at), expected)

    @precondition(lambda self: self.claims)
    @rule(data=st.data(), asks=st.sampled_from(["", '{"a": 1}']))
    def wait_for_owner(self, data: st.DataObject, asks: str) -> None:
        one = self.a_claim(data)
        self.both(lambda: self.queues[one[1]].wait_for_owner(_held(one), asks), self.model.wait_for_owner(one, asks))

    @precondition(lambda self: self.model.tasks)
    @rule(data=st.data(), node=nodes)
    def cancel(self, data: st.DataObject, node: str) -> None:
        one = self.some_id(data)
        self.both(lambda: self.queues[node].cancel(one), self.model.cancel(one))

    @precondition(lambda self: self.model.tasks)
    @rule(data=st.data(), node=nodes)
    def retry(self, data: st.DataObject, node: str) -> None:
        one = self.some_id(data)
        self.both(lambda: self.queues[node].retry(one), self.model.retry(one))

    @precondition(lambda self: self.model.tasks)
    @rule(data=st.data(), node=nodes, priority=st.integers(0, 3))
    def prioritise(self, data: st.DataObject, node: str, priority: int) -> None:
        one = self.some_id(data)
        self.both(lambda: self.queues[node].prioritise(one, priority), self.model.prioritise(one, priority))

    @rule(node=nodes)
    def toggle_pause(self, node: str) -> None:
        self.model.paused = not self.model.paused
        if self.model.paused:
            self.queues[node].pause("asked to")
        else:
            self.queues[node].resume()

    @rule(node=nodes)
    def toggle_drain(self, node: str) -> None:
        one = self.model.nodes[node]
        one.draining = not one.draining
        drain(self.owner, node, draining=one.draining)

    @rule(node=nodes)
    def sweep(self, node: str) -> None:
        expected = self.model.sweep()
        assert self.queues[node].sweep(CRASHES) == expected

    @rule(node=nodes)
    def read_news(self, node: str) -> None:
        found = self.queues[node].news()
        assert {task.id for _, task in found} == self.model.nodes[node].news
        self.queues[node].read_news([number for number, _ in found])
        self.model.nodes[node].news.clear()

    # What time does

    @rule(node=nodes)
    def a_lease_is_over(self, node: str) -> None:
        self.owner_sets("nodes SET lease_until = clock_timestamp() - interval '1 s' WHERE id = %s", node)
        self.model.nodes[node].is_up = False

    @precondition(lambda self: self.model.of(Status.BLOCKED, Status.SCHEDULED))
    @rule(data=st.data())
    def a_time_comes(self, data: st.DataObject) -> None:
        task = data.draw(st.sampled_from(self.model.of(Status.BLOCKED, Status.SCHEDULED)), label="task")
        past = "clock_timestamp() - interval '1 s'"
        self.owner_sets(
            f"tasks SET due = least(due, {past}), not_before = CASE WHEN status = 'scheduled' THEN {past} END "
            "WHERE id = %s",
            task.id,
        )
        task.is_late = False

    @rule(node=nodes)
    def claims_grow_old(self, node: str) -> None:
        self.owner_sets("tasks SET claimed_at = claimed_at - interval '2 h' WHERE node = %s", node)
        for task in self.model.held_by(node):
            task.is_old = True

    def owner_sets(self, what: str, value: object) -> None:
        with self.owner.connection() as conn:
            conn.execute(f"UPDATE {what}".encode(), (value,))

    # What holds after each step

    @invariant()
    def all_rows_are_as_the_model_says(self) -> None:
        rows = self.owner.rows(
            "SELECT t.*, k.data, t.ended_at IS NOT NULL AS has_ended, t.not_before > clock_timestamp() AS is_late "
            "FROM tasks t LEFT JOIN checkpoints k ON k.task = t.id ORDER BY t.id"
        )
        assert [_row(row) for row in rows] == [_modelled(task) for task in self.model.tasks.values()]
        news = {(row["node"], row["task"]) for row in self.owner.rows("SELECT node, task FROM mailbox")}
        assert news == {(name, task) for name, node in self.model.nodes.items() for task in node.news}

    @invariant()
    def the_log_tells_every_move(self) -> None:
        where = moves_told(self.owner.rows("SELECT * FROM events ORDER BY id"))
        assert where == {task.id: task.status for task in self.model.tasks.values()}

    @invariant()
    def no_task_has_two_owners(self) -> None:
        fences = [task.fence for task in self.model.tasks.values() if task.fence]
        assert len(fences) == len(set(fences))


def _held(one: tuple[int, str, int]) -> Held:
    return Held(task_id=one[0], fence=one[2])


def _row(row: dict[str, object]) -> dict[str, object]:
    names = ("id", "status", "ending", "attempt", "crashes", "node", "node_task", "fence", "priority", "asks", "data")
    more = {"cancel": row["cancel_requested"], "commit": row["commit_id"], "has_ended": row["has_ended"]}
    late = bool(row["is_late"]) if row["status"] == "scheduled" else None
    return {name: row[name] for name in names} | more | {"is_late": late}


def _modelled(task: ModelledTask) -> dict[str, object]:
    names = ("id", "status", "ending", "attempt", "crashes", "node", "node_task", "fence", "priority", "asks")
    more = {"cancel": task.cancel, "commit": task.commit, "has_ended": task.status in ENDED, "data": task.checkpoint}
    late = task.is_late if task.status is Status.SCHEDULED else None
    return {name: getattr(task, name) for name in names} | more | {"is_late": late}


@pytest.fixture
def clients(connections: HubConnections, server: PostgresServer) -> Iterator[dict[str, HubConnections]]:
    row = connections.row("SELECT current_database() AS name")
    assert row
    opened = {node: HubConnections(server.url(row["name"])) for node in LABELS}
    yield opened
    for one in opened.values():
        one.close()


def test_walks_of_several_nodes(connections: HubConnections, clients: dict[str, HubConnections]) -> None:
    how = settings(
        max_examples=tiers.examples(100), stateful_step_count=tiers.steps(50), deadline=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    run_state_machine_as_test(lambda: HubWalk(connections, clients), settings=how)  # type: ignore[arg-type]  # any factory will do


@pytest.mark.parametrize("start", list(Status))
def test_the_database_allows_the_moves_of_the_table_and_no_other(server: PostgresServer, start: Status) -> None:
    with hub(server.ready()) as connections:
        join(connections, Node(id="a", name="a"))
        one = HubQueue(connections, "a").submit(TaskSpec(description="x")).task_id
        for end in Status:
            with connections.connection() as conn:
                conn.execute("SET session_replication_role = replica")  # no triggers
                conn.execute("UPDATE tasks SET status = %s WHERE id = %s", (start, one))
                conn.execute("RESET session_replication_role")
                move = partial(conn.execute, "UPDATE tasks SET status = %s WHERE id = %s", (end, one))
                if start is end or may_move(start, end):
                    move()
                else:
                    with pytest.raises(psycopg.Error, match="cannot become") as refused:
                        move()
                    assert refused.value.sqlstate == "NS001"


def test_a_task_begins_as_one_that_waits(connections: HubConnections) -> None:
    join(connections, Node(id="a", name="a"))
    HubQueue(connections, "a").submit(TaskSpec(description="x"))
    for status in Status:
        with connections.connection() as conn:
            begin = "INSERT INTO tasks (spec, title, class, priority, origin, status) VALUES ('', '', 1, 0, 'a', %s)"
            if status in {Status.QUEUED, Status.SCHEDULED, Status.BLOCKED}:
                conn.execute(begin, (status,))
            else:
                with pytest.raises(psycopg.Error, match=f"cannot be {status}"):
                    conn.execute(begin, (status,))


@pytest.mark.parametrize("how", ["submit", "retry"])
def test_what_comes_to_depend_on_a_task_while_that_ends_is_released(connections: HubConnections, how: str) -> None:
    join(connections, Node(id="a", name="a"))
    queue = HubQueue(connections, "a", LEASE_S)
    queue.beat([])
    first = queue.submit(TaskSpec(description="x")).task_id
    later = TaskSpec(description="x", depends_on=(first,))
    second = queue.submit(later).task_id
    queue.cancel(first)
    queue.retry(first)
    (claim,) = queue.claim()
    with ThreadPoolExecutor(1) as pool, connections.connection() as conn, conn.transaction():
        conn.execute(
            "SELECT finish(%s, 'a', %s, 'done', 'committed', '', NULL, NULL, 1, '{}', '')", (first, claim.held.fence)
        )
        came = pool.submit(lambda: queue.submit(later).status if how == "submit" else queue.retry(second))
        while not connections.rows("SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'"):
            assert not came.done(), came.result()
    assert came.result() is Status.QUEUED
