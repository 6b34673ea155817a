"""Random operations on the queue, compared with a model in plain Python after every step."""

from __future__ import annotations

import shutil
import tempfile
from concurrent.futures import Future
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from nightshift.core.errors import StaleFence
from nightshift.core.tasks.states import OPEN, Ending, Status, may_move
from nightshift.core.tasks.task import Spent, SubtaskSpec, TaskSpec
from nightshift.storage.db.recovery import check_rows
from tests.support import tiers
from tests.support.answering import answer
from tests.support.queue_model import Modelled, QueueModel, Refusal
from tests.support.store import HandClock, Store, open_store

seconds = st.sampled_from([0, 1, 30, 60, 61, 600])


class QueueWalk(RuleBasedStateMachine):
    """One random walk on a new database."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.clock = HandClock()
        self.model = QueueModel(self.clock)
        self.store: Store = open_store(self.folder / "a.sqlite", self.clock)

    def teardown(self) -> None:
        faults = list(check_rows(self.store.db.reader()))
        self.store.db.close()
        shutil.rmtree(self.folder)
        assert faults == [], "the next start would take the database for a damaged one"

    def pick(self, data: st.DataObject, *statuses: Status) -> Modelled:
        return data.draw(st.sampled_from(self.model.of(*statuses)), label="task")

    def running(self) -> list[Modelled]:
        return self.model.of(Status.RUNNING)

    @initialize(count=st.integers(0, 4))
    def some_tasks(self, count: int) -> None:
        specs = [TaskSpec(description=str(number)) for number in range(count)]
        for spec in specs:
            self.store.queue.submit(spec).result()
            self.model.submit(1, (), None, None)

    @rule(
        data=st.data(),
        priority=st.integers(-1, 2),
        delay_s=st.none() | seconds,
        key=st.none() | st.sampled_from("abc"),
    )
    def submit(self, data: st.DataObject, priority: int, delay_s: int | None, key: str | None) -> None:
        ids = st.lists(
            st.sampled_from(sorted(self.model.tasks) or [0]), max_size=3 if self.model.tasks else 0, unique=True
        )
        needs = tuple(data.draw(ids, label="needs"))
        at = None if delay_s is None else self.clock() + timedelta(seconds=delay_s)
        expected = self.model.submit(priority, needs, at, key)
        spec = TaskSpec(description="x", priority=priority, depends_on=needs, not_before=at, key=key)
        written = self.store.queue.submit(spec)
        if isinstance(expected, int):
            assert written.result().task_id == expected
        else:
            self.refused(written, expected)

    @rule()
    def claim(self) -> None:
        expected, task = self.model.claim(), self.store.queue.claim("w").result()
        assert (task is None) == (expected is None)
        if task is not None and expected is not None:
            assert (task.id, task.attempt, task.fence) == (expected.id, expected.attempt, expected.fence)

    @precondition(lambda self: self.running())
    @rule(data=st.data(), ending=st.sampled_from(Ending))
    def finish(self, data: st.DataObject, ending: Ending) -> None:
        task = self.pick(data, Status.RUNNING)
        self.model.finish(task, ending)
        ended = self.store.queue.finish(task.id, task.fence, ending).result()
        if ended.status is Status.SCHEDULED:
            assert ended.not_before is not None
            assert timedelta(0) <= ended.not_before - self.clock() <= timedelta(seconds=40)
            task.not_before = ended.not_before

    @precondition(lambda self: self.running())
    @rule(data=st.data(), delay_s=st.none() | seconds)
    def park(self, data: st.DataObject, delay_s: int | None) -> None:
        task, until = self.pick(data, Status.RUNNING), None
        if delay_s is not None:
            until = self.clock() + timedelta(seconds=delay_s)
        self.model.leave(task, Status.SCHEDULED, until=until, parked=True)
        self.store.queue.park(task.id, task.fence, "later", until).result()

    @precondition(lambda self: self.running())
    @rule(data=st.data())
    def requeue(self, data: st.DataObject) -> None:
        task = self.pick(data, Status.RUNNING)
        self.model.leave(task, Status.QUEUED)
        self.store.queue.requeue(task.id, task.fence, "shutdown").result()

    @precondition(lambda self: self.running())
    @rule(data=st.data())
    def hold(self, data: st.DataObject) -> None:
        task = self.pick(data, Status.RUNNING)
        self.model.leave(task, Status.WAITING)
        self.store.queue.wait_for_owner(task.id, task.fence, "?").result()

    @precondition(lambda self: self.running())
    @rule(data=st.data(), count=st.integers(2, 3), chained=st.booleans())
    def split(self, data: st.DataObject, count: int, chained: bool) -> None:
        """Split a task.

        A task that was already split in this attempt, and that a crash returned to the queue, is split into the same
        parts.
        """
        task = self.pick(data, Status.RUNNING)
        count = len(self.model.parts(task)) or count
        after = [tuple(range(number)) if chained else () for number in range(count)]
        spec = TaskSpec(description="part", priority=task.priority + 1)
        parts = [SubtaskSpec(spec=spec, after=needs) for needs in after]
        self.model.split(task, after)
        self.store.queue.split(task.id, task.fence, "split", parts).result()

    @precondition(lambda self: self.model.of(Status.WAITING))
    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        task = self.pick(data, Status.WAITING)
        task.status = Status.QUEUED
        answer(self.store.queue, task.id)

    @precondition(lambda self: self.running())
    @rule(data=st.data())
    def progress(self, data: st.DataObject) -> None:
        task = self.pick(data, Status.RUNNING)
        task.crashes = 0
        self.store.queue.progress(task.id, task.fence, iterations=1, spent=Spent()).result()

    @precondition(lambda self: self.model.tasks)
    @rule(data=st.data(), ending=st.sampled_from(Ending))
    def a_stale_worker_reports(self, data: st.DataObject, ending: Ending) -> None:
        task = self.pick(data, *Status)
        fence = task.fence - 1 if task.status is Status.RUNNING else task.fence
        self.refused(self.store.queue.finish(task.id, fence, ending), StaleFence)

    @precondition(lambda self: self.model.tasks)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        task = self.pick(data, *Status)
        self.same(self.store.queue.cancel(task.id), self.model.cancel(task))

    @precondition(lambda self: self.model.tasks)
    @rule(data=st.data())
    def retry(self, data: st.DataObject) -> None:
        task = self.pick(data, *Status)
        self.same(self.store.queue.retry(task.id), self.model.retry(task))

    @rule()
    def toggle_pause(self) -> None:
        self.model.paused = not self.model.paused
        (self.store.queue.pause() if self.model.paused else self.store.queue.resume()).result()

    @rule(by_s=seconds)
    def time_goes_by(self, by_s: int) -> None:
        self.clock.advance(by_s)

    @rule()
    def tick(self) -> None:
        assert self.store.queue.tick().result() == self.model.tick()

    @rule()
    def models_back(self) -> None:
        assert self.store.queue.models_back().result() == self.model.models_back()

    @rule()
    def heartbeat(self) -> None:
        owned = [(task.id, task.fence) for task in self.model.tasks.values()]
        beat = self.store.queue.heartbeat(owned).result()
        for task in self.running():
            task.lease_until = self.clock() + timedelta(seconds=60)
        assert beat.lost == {task.id for task in self.model.of(*set(Status) - {Status.RUNNING})}
        assert beat.cancelled == {task.id for task in self.running() if task.cancel}

    @rule()
    def sweep(self) -> None:
        expired = [task for task in self.running() if task.lease_until and task.lease_until < self.clock()]
        self.model.survive(expired)
        assert [task.id for task in self.store.queue.sweep().result()] == [task.id for task in expired]

    @rule()
    def the_daemon_dies_and_recovers(self) -> None:
        """Replace the database with a copy of the file on disk, as after a daemon's death."""
        for suffix in ("", "-wal"):
            part = self.folder / f"a.sqlite{suffix}"
            if part.exists():
                shutil.copy(part, self.folder / f"b.sqlite{suffix}")
        self.store.db.close()
        for part in self.folder.glob("b.*"):
            part.rename(self.folder / part.name.replace("b.", "a.", 1))
        self.store = open_store(self.folder / "a.sqlite", self.clock)
        crashed = self.running()
        self.model.survive(crashed)
        assert [task.id for task in self.store.queue.recover().result()] == [task.id for task in crashed]

    @invariant()
    def both_say_the_same(self) -> None:
        for task in self.store.queue.find(limit=1000):
            modelled = self.model.tasks[task.id]
            assert task.status is modelled.status, task
            assert task.ending is modelled.ending
            assert (task.attempt, task.crashes, task.fence) == (modelled.attempt, modelled.crashes, modelled.fence)
            assert task.cancel_requested == modelled.cancel
            assert (task.ended_at is None) == (task.status in OPEN)
        counts = self.store.queue.counts()
        assert counts == {status: len(self.model.of(status)) for status in Status}
        due = [task.not_before for task in self.model.of(Status.SCHEDULED) if task.not_before]
        assert self.store.queue.next_due() == min(due, default=None)

    @invariant()
    def the_log_tells_every_move(self) -> None:
        where: dict[int, str] = {}
        for event in self.store.events.after(0, limit=10_000):
            if "to" in event.data and event.task_id is not None:
                start, end = event.data["from"], event.data["to"]
                assert where.get(event.task_id) == start
                assert start is None or may_move(Status(start), Status(end))
                where[event.task_id] = end
        assert where == {task.id: task.status for task in self.model.tasks.values()}

    def same(self, written: Future[Any], refusal: Refusal | None) -> None:
        if refusal is None:
            written.result()
        else:
            self.refused(written, refusal)

    @staticmethod
    def refused(written: Future[Any], refusal: Refusal) -> None:
        with pytest.raises(refusal):
            written.result()


TestQueueWalk = QueueWalk.TestCase
TestQueueWalk.settings = settings(
    max_examples=tiers.examples(80),
    stateful_step_count=tiers.steps(50),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
