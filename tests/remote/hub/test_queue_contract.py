"""The promises of a queue: one suite, against the queue of one node (SQLite) and the hub's (PostgreSQL).

Leases are judged by the hub's own clock, so both run on the real one here, with leases of a fraction of a second.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Protocol

import pytest

from nightshift.core.clock import utc_now
from nightshift.core.errors import IllegalMove, InvalidTask, StaleFence, UnknownTask
from nightshift.core.tasks.queueing import Submitted
from nightshift.core.tasks.states import Ending, Status
from nightshift.core.tasks.task import Task, TaskSpec
from nightshift.queue.manager import QueueManager
from nightshift.remote.hub.nodes import Node, join
from nightshift.remote.hub.queue import Held, HubQueue, HubTask, Result
from nightshift.storage.db.database import Database
from nightshift.storage.db.event_log import EventLog
from tests.support.postgres import PostgresServer, hub, servers
from tests.support.ready_database import ready

LEASE_S, CRASHES = 0.4, 3


class Queue(Protocol):
    """The words that both have in common."""

    def submit(self, spec: TaskSpec) -> Submitted: ...
    def claim(self, node: str) -> tuple[int, int] | None: ...
    def renew(self, node: str, owned: list[tuple[int, int]]) -> tuple[frozenset[int], frozenset[int]]: ...
    def finish(self, node: str, held: tuple[int, int], ending: Ending, commit: str | None = None) -> None: ...
    def give_back(self, node: str, held: tuple[int, int]) -> None: ...
    def put_off(self, node: str, held: tuple[int, int], seconds: float) -> None: ...
    def sweep(self) -> None: ...
    def cancel(self, task_id: int) -> Status: ...
    def retry(self, task_id: int) -> Status: ...
    def prioritise(self, task_id: int, priority: int) -> None: ...
    def pause(self) -> None: ...
    def resume(self) -> None: ...
    def get(self, task_id: int) -> Task: ...


class OfOneNode:
    """The queue on SQLite; its workers stand for nodes."""

    def __init__(self, folder: Path) -> None:
        self._db = Database(ready(folder / "queue.sqlite"))
        self._queue = QueueManager(self._db, EventLog(self._db), lease_s=LEASE_S, max_crashes=CRASHES)

    def submit(self, spec: TaskSpec) -> Submitted:
        return self._queue.submit(spec).result()

    def claim(self, node: str) -> tuple[int, int] | None:
        task = self._queue.claim(node).result()
        return (task.id, task.fence) if task else None

    def renew(self, node: str, owned: list[tuple[int, int]]) -> tuple[frozenset[int], frozenset[int]]:
        beat = self._queue.heartbeat(owned).result()
        return beat.lost, beat.cancelled

    def finish(self, node: str, held: tuple[int, int], ending: Ending, commit: str | None = None) -> None:
        self._queue.finish(*held, ending, commit=commit).result()

    def give_back(self, node: str, held: tuple[int, int]) -> None:
        self._queue.requeue(*held, "asked to").result()

    def put_off(self, node: str, held: tuple[int, int], seconds: float) -> None:
        self._queue.park(*held, "later", utc_now() + timedelta(seconds=seconds)).result()

    def sweep(self) -> None:
        self._queue.sweep().result()
        self._queue.tick().result()

    def cancel(self, task_id: int) -> Status:
        return self._queue.cancel(task_id).result().status

    def retry(self, task_id: int) -> Status:
        return self._queue.retry(task_id).result().status

    def prioritise(self, task_id: int, priority: int) -> None:
        self._queue.prioritise(task_id, priority).result()

    def pause(self) -> None:
        self._queue.pause().result()

    def resume(self) -> None:
        self._queue.resume().result()

    def get(self, task_id: int) -> Task:
        return self._queue.get(task_id)

    def close(self) -> None:
        self._db.close()


class OfTheHub:
    """The queue on PostgreSQL; each node has a view of its own."""

    def __init__(self, url: str) -> None:
        self._opened = hub(url)
        self._hub = self._opened.__enter__()
        self._nodes: dict[str, HubQueue] = {}
        self._held: dict[str, list[Held]] = {}

    def _of(self, node: str) -> HubQueue:
        if node not in self._nodes:
            join(self._hub, Node(id=node, name=node, slots=4))
            self._nodes[node] = HubQueue(self._hub, node, LEASE_S)
        return self._nodes[node]

    def submit(self, spec: TaskSpec) -> Submitted:
        return self._of("a").submit(spec)

    def claim(self, node: str) -> tuple[int, int] | None:
        queue = self._of(node)
        queue.beat(self._held.get(node, []))
        found = queue.claim()
        if not found:
            return None
        self._held.setdefault(node, []).append(found[0].held)
        return found[0].held.task_id, found[0].held.fence

    def renew(self, node: str, owned: list[tuple[int, int]]) -> tuple[frozenset[int], frozenset[int]]:
        beat, _ = self._of(node).beat([Held(task_id=task, fence=fence) for task, fence in owned])
        return beat.lost, beat.cancelled

    def finish(self, node: str, held: tuple[int, int], ending: Ending, commit: str | None = None) -> None:
        status = {Ending.COMMITTED: Status.DONE, Ending.USER: Status.CANCELLED}.get(ending, Status.FAILED)
        self._of(node).finish(_held(held), Result(status=status, ending=ending, commit=commit))

    def give_back(self, node: str, held: tuple[int, int]) -> None:
        self._of(node).put_back(_held(held), "asked to")

    def put_off(self, node: str, held: tuple[int, int], seconds: float) -> None:
        self._of(node).put_back(_held(held), "later", utc_now() + timedelta(seconds=seconds))

    def sweep(self) -> None:
        self._of("a").sweep(CRASHES)

    def cancel(self, task_id: int) -> Status:
        return self._of("a").cancel(task_id)

    def retry(self, task_id: int) -> Status:
        return self._of("a").retry(task_id)

    def prioritise(self, task_id: int, priority: int) -> None:
        self._of("a").prioritise(task_id, priority)

    def pause(self) -> None:
        self._of("a").pause()

    def resume(self) -> None:
        self._of("a").resume()

    def get(self, task_id: int) -> Task:
        queue = self._of("a")
        return as_local(queue.get(task_id), queue.spec(task_id))

    def close(self) -> None:
        self._opened.__exit__(None, None, None)


def as_local(task: HubTask, spec: TaskSpec) -> Task:
    """A task of the hub as the queue of a node would have it."""
    return Task(
        id=task.id,
        spec=spec,
        status=task.status,
        created_at=task.created_at,
        ending=task.ending,
        reason=task.reason,
        attempt=task.attempt,
        crashes=task.crashes,
        not_before=task.not_before,
        cancel_requested=task.cancel_requested,
        iterations=task.iterations,
        commit=task.commit,
        branch=task.branch,
        spent=task.spent,
        ended_at=task.ended_at,
    )


def _held(pair: tuple[int, int]) -> Held:
    return Held(task_id=pair[0], fence=pair[1])


@pytest.fixture(scope="session", params=["sqlite", *servers()])
def kind(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer | None]:
    if request.param == "sqlite":
        yield None
        return
    with PostgresServer(servers()[request.param], tmp_path_factory.mktemp(request.param)) as started:
        yield started


@pytest.fixture
def queue(kind: PostgresServer | None, tmp_path: Path) -> Iterator[Queue]:
    url = kind.ready() if kind else ""
    opened = OfTheHub(url) if kind else OfOneNode(tmp_path)
    yield opened
    opened.close()
    if kind:
        kind.drop(url)


def task(queue: Queue, description: str = "x", **fields: object) -> int:
    return queue.submit(TaskSpec(description=description, **fields)).task_id  # type: ignore[arg-type]


def claimed(queue: Queue, node: str = "a") -> tuple[int, int]:
    found = queue.claim(node)
    assert found
    return found


def test_the_highest_priority_comes_first_then_the_oldest(queue: Queue) -> None:
    low, first, second = task(queue, priority=0), task(queue, priority=5), task(queue, priority=5)
    assert [claimed(queue)[0] for _ in range(3)] == [first, second, low]
    assert queue.claim("a") is None


def test_what_was_asked_for_comes_back_as_it_was(queue: Queue) -> None:
    spec = TaskSpec(description="naïve \udcff \0 text", tests={"test_x.py": "def test(): ..."}, needs=())
    assert queue.get(queue.submit(spec).task_id).spec == spec


def test_a_key_makes_one_task_ever(queue: Queue) -> None:
    first = queue.submit(TaskSpec(description="x", key="k"))
    again = queue.submit(TaskSpec(description="x", key="k"))
    assert (first.created, again.created, again.task_id) == (True, False, first.task_id)


def test_many_claim_at_once_and_none_gets_what_another_has(queue: Queue) -> None:
    wanted = {task(queue, priority=n % 3) for n in range(60)}
    nodes = [f"n{n}" for n in range(6)]
    for node in nodes:
        queue.renew(node, [])
    with ThreadPoolExecutor(6) as pool:
        found = [one for got in pool.map(lambda node: _all_of(queue, node), nodes) for one in got]
    assert sorted(one for one, _ in found) == sorted(wanted)
    assert len({fence if queue.get(one).fence == 0 else (one, fence) for one, fence in found}) == 60


def _all_of(queue: Queue, node: str) -> list[tuple[int, int]]:
    found = []
    while one := queue.claim(node):
        found.append(one)
    return found


def test_a_fence_that_was_overtaken_is_refused_everywhere(queue: Queue) -> None:
    task(queue)
    old = claimed(queue, "a")
    time.sleep(1.5 * LEASE_S)
    queue.renew("b", [])
    queue.sweep()
    new = claimed(queue, "b")
    assert new[0] == old[0]
    assert new[1] > old[1]
    with pytest.raises(StaleFence):
        queue.finish("a", old, Ending.COMMITTED, "c0ffee")
    with pytest.raises(StaleFence):
        queue.give_back("a", old)
    with pytest.raises(StaleFence):
        queue.put_off("a", old, 60)
    assert queue.renew("a", [old])[0] == frozenset({old[0]})
    assert queue.get(new[0]).status is Status.RUNNING
    queue.finish("b", new, Ending.COMMITTED, "beef")
    assert (queue.get(new[0]).status, queue.get(new[0]).commit) == (Status.DONE, "beef")


def test_a_lease_that_is_renewed_holds(queue: Queue) -> None:
    task(queue)
    held = claimed(queue)
    for _ in range(4):
        time.sleep(0.5 * LEASE_S)
        assert queue.renew("a", [held]) == (frozenset(), frozenset())
        queue.sweep()
    assert queue.get(held[0]).status is Status.RUNNING


def test_a_task_that_keeps_losing_its_node_is_set_aside(queue: Queue) -> None:
    one = task(queue)
    for _ in range(CRASHES):
        deadline = time.monotonic() + 60
        while (held := queue.claim("a")) is None:
            assert time.monotonic() < deadline
            time.sleep(0.1)
            queue.sweep()
        assert held[0] == one
        time.sleep(1.5 * LEASE_S)
        queue.sweep()
    assert (queue.get(one).status, queue.get(one).ending) == (Status.FAILED, Ending.CRASHED)


def test_a_task_waits_for_all_it_depends_on(queue: Queue) -> None:
    needed = [task(queue), task(queue)]
    last = task(queue, priority=9, depends_on=tuple(needed))
    assert queue.get(last).status is Status.BLOCKED
    held = [claimed(queue), claimed(queue)]
    assert queue.claim("a") is None
    for one in held:
        queue.finish("a", one, Ending.COMMITTED)
    assert claimed(queue)[0] == last


def test_what_depends_on_a_failed_task_fails_all_the_way_down(queue: Queue) -> None:
    first = task(queue)
    second = task(queue, depends_on=(first,))
    third = task(queue, depends_on=(second,))
    queue.finish("a", claimed(queue), Ending.GAVE_UP)
    assert [queue.get(one).ending for one in (second, third)] == [Ending.DEPENDENCY] * 2
    with pytest.raises(IllegalMove):
        queue.retry(third)
    assert queue.retry(first) is Status.QUEUED
    assert queue.retry(second) is Status.BLOCKED


def test_a_dependency_that_cannot_be_met_is_refused(queue: Queue) -> None:
    lost = task(queue)
    queue.cancel(lost)
    for unmet in (lost, 999):
        with pytest.raises(InvalidTask) as refused:
            task(queue, depends_on=(unmet,))
        assert "depends_on" in refused.value.fields


def test_a_task_for_later_is_not_claimed_before_its_time(queue: Queue) -> None:
    one = task(queue, not_before=utc_now() + timedelta(seconds=0.5))
    assert queue.get(one).status is Status.SCHEDULED
    queue.sweep()
    assert queue.claim("a") is None
    time.sleep(0.6)
    queue.sweep()
    assert claimed(queue)[0] == one


def test_what_is_put_off_goes_on_later_and_what_is_given_back_at_once(queue: Queue) -> None:
    one = task(queue)
    queue.give_back("a", claimed(queue))
    held = claimed(queue)
    queue.put_off("a", held, 0.4)
    assert queue.get(one).status is Status.SCHEDULED
    assert queue.claim("a") is None
    time.sleep(0.5)
    queue.sweep()
    assert claimed(queue)[0] == one


def test_what_does_not_run_is_cancelled_at_once_and_what_runs_by_its_node(queue: Queue) -> None:
    waiting, running = task(queue), task(queue, priority=2)
    held = claimed(queue)
    assert queue.cancel(waiting) is Status.CANCELLED
    assert queue.cancel(running) is Status.RUNNING
    assert queue.renew("a", [held]) == (frozenset(), frozenset({running}))
    queue.finish("a", held, Ending.USER)
    assert queue.get(running).status is Status.CANCELLED
    with pytest.raises(IllegalMove):
        queue.cancel(running)


def test_what_was_to_be_cancelled_is_not_queued_again(queue: Queue) -> None:
    one = task(queue)
    held = claimed(queue)
    queue.cancel(one)
    queue.give_back("a", held)
    assert queue.get(one).status is Status.CANCELLED


def test_a_task_that_nobody_has_is_unknown(queue: Queue) -> None:
    for asked in (queue.get, queue.cancel, queue.retry):
        with pytest.raises(UnknownTask):
            asked(404)


def test_nothing_is_claimed_while_paused(queue: Queue) -> None:
    one = task(queue)
    queue.pause()
    assert queue.claim("a") is None
    queue.resume()
    assert claimed(queue)[0] == one


def test_a_priority_may_change_while_a_task_waits(queue: Queue) -> None:
    first, second = task(queue), task(queue)
    queue.prioritise(second, 7)
    assert [claimed(queue)[0] for _ in range(2)] == [second, first]


def test_one_that_is_done_stays_done(queue: Queue) -> None:
    one = task(queue)
    queue.finish("a", claimed(queue), Ending.COMMITTED)
    for refused in (queue.cancel, queue.retry):
        with pytest.raises(IllegalMove):
            refused(one)
