"""The queue and its store when several write at once, and when a transaction fails.

To bypass the rules, a test uses plain SQL on the tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from nightshift.core.errors import IllegalMove, StaleFence
from nightshift.core.events import Event, Kind
from nightshift.core.tasks.change_checks import Ask, AskKind
from nightshift.core.tasks.states import Ending, Status
from nightshift.core.tasks.task import Spent, Task, TaskSpec
from nightshift.queue import transitions
from nightshift.queue.manager import QueueManager
from nightshift.queue.store import Journal, Store
from nightshift.storage.db.database import Database
from nightshift.storage.db.event_log import EventLog
from nightshift.storage.db.sqlite import Connection, IntegrityError
from tests.support.ready_database import ready
from tests.support.store import HandClock

LEASE_S = 60.0
ASK = Ask(kind=AskKind.PACKAGE, subject="package:toolz", question="May it use toolz?")


@dataclass(frozen=True)
class Node:
    """One process that uses the store."""

    store: Store
    journal: Journal
    queue: QueueManager

    def submit(self, description: str = "x", **fields: object) -> int:
        spec = TaskSpec(description=description, **fields)  # type: ignore[arg-type]
        return self.queue.submit(spec).result().task_id

    def delivered(self) -> None:
        """Wait until subscribers have received the events of all earlier writes.

        Subscribers receive these events before the next write ends.
        """
        self.store.write(lambda _: None).result()

    def claim(self) -> Task:
        task = self.queue.claim("w").result()
        assert task is not None
        return task


@dataclass(frozen=True)
class Storage:
    """The location of a store, which a test can open repeatedly."""

    folder: Path
    clock: HandClock

    @contextmanager
    def open(self) -> Iterator[Node]:
        with Database(ready(self.folder / "queue.sqlite")) as database:
            journal = EventLog(database, self.clock)
            yield Node(database, journal, QueueManager(database, journal, clock=self.clock, lease_s=LEASE_S))


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    return Storage(tmp_path, HandClock())


@pytest.fixture
def node(storage: Storage) -> Iterator[Node]:
    with storage.open() as opened:
        yield opened


class Undone(Exception):
    """Raised to roll a transaction back."""


def undo(node: Node, change: Callable[[Connection], object]) -> None:
    """Make a change in a transaction that fails afterwards, so that the change is rolled back."""

    def job(conn: Connection) -> None:
        change(conn)
        raise Undone

    with pytest.raises(Undone):
        node.store.write(job).result()


def together(calls: Sequence[Callable[[], Future[Any]]]) -> list[Any]:
    """Make these calls concurrently in as many threads; return the result or the error of each call."""

    def outcome(call: Callable[[], Future[Any]]) -> Any:
        future = call()
        return future.exception() or future.result()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(outcome, calls))


# Transactions of the store


def test_a_change_and_its_event_are_stored_together_or_not_at_all(node: Node) -> None:
    events: list[Event] = []
    node.journal.subscribe(events.extend)
    undo(node, lambda conn: transitions.submit(node.queue.transaction(conn), TaskSpec(description="lost")))
    task_id = node.submit("stays")
    node.delivered()
    assert [(event.kind, event.task_id) for event in events] == [(Kind.TASK_SUBMITTED, task_id)]
    assert sum(node.queue.counts().values()) == 1


def test_an_end_and_all_that_it_concerns_are_one_transaction(node: Node) -> None:
    first = node.submit()
    second = node.submit(depends_on=(first,))
    task = node.claim()
    undo(
        node,
        lambda conn: transitions.end(
            node.queue.transaction(conn), task, Status.FAILED, Ending.GAVE_UP, "not this time"
        ),
    )
    assert node.queue.statuses((first, second)) == {first: Status.RUNNING, second: Status.BLOCKED}
    node.queue.finish(task.id, task.fence, Ending.GAVE_UP).result()
    assert node.queue.statuses((first, second)) == {first: Status.FAILED, second: Status.FAILED}


# The table of allowed state changes


def test_the_store_itself_refuses_a_move_that_the_table_does_not_have(node: Node) -> None:
    task_id = node.submit()
    with pytest.raises(IntegrityError):
        node.store.write(
            lambda conn: conn.execute("UPDATE tasks SET status = 'done' WHERE id = ?", (task_id,))
        ).result()
    assert node.queue.get(task_id).status is Status.QUEUED


def test_of_several_who_move_a_task_at_once_one_succeeds(node: Node) -> None:
    task_id = node.submit()
    outcomes = together([lambda: node.queue.cancel(task_id)] * 8)
    assert sum(isinstance(outcome, Task) for outcome in outcomes) == 1
    assert sum(isinstance(outcome, IllegalMove) for outcome in outcomes) == 7


# Submitting and claiming tasks


def test_a_lease_that_ran_out_goes_to_another_under_a_higher_fence_and_the_first_is_refused(storage: Storage) -> None:
    with storage.open() as node, storage.open() as other:
        node.submit()
        old = node.claim()
        storage.clock.advance(LEASE_S + 1)
        assert [task.id for task in other.queue.sweep().result()] == [old.id]
        new = other.claim()
        assert (new.id, new.fence > old.fence) == (old.id, True)
        assert node.queue.heartbeat([(old.id, old.fence)]).result().lost == {old.id}
        for write in (
            node.queue.progress(old.id, old.fence, iterations=1, spent=Spent()),
            node.queue.finish(old.id, old.fence, Ending.COMMITTED),
            node.queue.requeue(old.id, old.fence, ""),
            node.queue.park(old.id, old.fence, "", None),
            node.queue.wait_for_owner(old.id, old.fence, "", (ASK,)),
            node.queue.split(old.id, old.fence, "", ()),
        ):
            with pytest.raises(StaleFence):
                write.result()
        assert other.queue.get(new.id) == new
        assert other.queue.approvals(open_only=False) == []


# Approvals by the owner


# Pauses of the queue
