"""The queue, case by case: submitting, claiming, ending and everything in between, also with several writers at once.

Random walks are in `test_walks.py`.
"""

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from nightshift.core.errors import IllegalMove, InvalidTask, StaleFence, UnknownTask
from nightshift.core.events import Event, Kind
from nightshift.core.tasks.change_checks import Ask, AskKind
from nightshift.core.tasks.forking import Amendment
from nightshift.core.tasks.states import Ending, Status
from nightshift.core.tasks.task import Limits, Spent, Task, TaskSpec
from nightshift.queue import transitions
from nightshift.queue.store import Transaction
from nightshift.storage.db.sqlite import Connection, IntegrityError
from tests.support.store import Store, open_store


def submit(store: Store, description: str = "x", **fields: object) -> int:
    return store.queue.submit(TaskSpec(description=description, **fields)).result().task_id  # type: ignore[arg-type]


def claim(store: Store) -> Task:
    task = store.queue.claim("w").result()
    assert task is not None
    return task


def end(store: Store, task: Task, ending: Ending = Ending.COMMITTED, reason: str = "") -> Task:
    return store.queue.finish(task.id, task.fence, ending, reason=reason).result()


def status(store: Store, task_id: int) -> Status:
    return store.queue.get(task_id).status


# Submitting tasks


def test_a_task_keeps_all_that_was_said(store: Store) -> None:
    spec = TaskSpec(
        description="Ünï\nsecond line",
        priority=4,
        tests={"test_a.py": "assert 1"},
        key="k",
        limits=Limits(tokens=5),
        metadata={"a": [1]},
    )
    done = store.queue.submit(spec).result()
    task = store.queue.get(done.task_id)
    assert (done.created, done.status) == (True, Status.QUEUED)
    assert (task.spec, task.status, task.created_at) == (spec, Status.QUEUED, store.clock())
    assert (task.attempt, task.ending, task.started_at, task.ended_at) == (0, None, None, None)


def test_a_key_makes_one_task_ever(store: Store) -> None:
    first = submit(store, key="k")
    again = store.queue.submit(TaskSpec(description="other", key="k")).result()
    assert (again.task_id, again.created, again.status) == (first, False, Status.QUEUED)
    end(store, claim(store))
    late = store.queue.submit(TaskSpec(description="x", key="k")).result()
    assert (late.task_id, late.created, late.status) == (first, False, Status.DONE)
    assert sum(store.queue.counts().values()) == 1


def test_a_key_that_comes_with_another_task_says_in_what_it_differs(store: Store) -> None:
    sent = TaskSpec(description="one", key="k", tests={"test_a.py": "x"}, metadata={"a": [1, {"b": None}]})
    store.queue.submit(sent).result()
    assert store.queue.submit(sent).result().differs == ()
    other = replace(sent, description="two", tests={})
    assert store.queue.submit(other).result().differs == ("description", "tests")


def test_an_unknown_dependency_is_refused(store: Store) -> None:
    with pytest.raises(InvalidTask) as caught:
        submit(store, depends_on=(7, 8))
    assert caught.value.fields == {"depends_on": "there is no task 7, 8"}
    assert sum(store.queue.counts().values()) == 0


def test_a_dependency_that_cannot_be_met_is_refused(store: Store) -> None:
    first = submit(store)
    end(store, claim(store), Ending.GAVE_UP)
    with pytest.raises(InvalidTask, match=f"did not succeed: task {first}"):
        submit(store, depends_on=(first,))


def test_a_description_or_key_that_has_no_utf8_form_can_be_stored(store: Store) -> None:
    first = submit(store, "bad \ud800", key="\ud800")
    assert store.queue.get(first).spec.description == "bad \ud800"
    assert submit(store, "other", key="\ud800") == first


# Claiming tasks


def test_a_specification_that_cannot_be_read_fails_and_stops_nobody(store: Store) -> None:
    broken, fine = submit(store, "broken"), submit(store, "fine")
    store.db.write(
        lambda c: c.execute("UPDATE task_specs SET spec = '{\"kind\": 1}' WHERE task_id = ?", (broken,))
    ).result()
    assert claim(store).id == fine
    task = store.queue.get(broken)
    assert (task.status, task.ending, task.spec.description) == (Status.FAILED, Ending.ERROR, "broken")
    assert "specification cannot be read" in task.reason


# Ending tasks


def test_an_error_is_tried_again_after_a_rest_until_the_tries_are_used_up(store: Store) -> None:
    first = submit(store)
    for attempt in (1, 2):
        task = claim(store)
        assert task.attempt == attempt
        rest = end(store, task, Ending.ERROR, "boom")
        assert (rest.status, rest.ending) == (Status.SCHEDULED, None)
        assert f"attempt {attempt} of 3" in rest.reason
        assert rest.not_before is not None
        assert store.clock() <= rest.not_before <= store.clock() + timedelta(seconds=10 * 2 ** (attempt - 1))
        assert store.queue.claim("w").result() is None
        store.clock.advance(60)
        assert store.queue.tick().result() == 1
    last = end(store, claim(store), Ending.ERROR, "boom")
    assert (last.id, last.status, last.ending, last.attempt) == (first, Status.FAILED, Ending.ERROR, 3)


def test_reasons_are_masked_and_cut(tmp_path: Path) -> None:
    with open_store(tmp_path / "a.sqlite", secrets=("sesame-open",)) as store:
        submit(store)
        task = end(store, claim(store), Ending.GAVE_UP, "key sesame-open " + "x" * 5000)
        assert task.reason.startswith("key *** x")
        assert len(task.reason) == 2000


# Tasks that continue later


@pytest.mark.parametrize(
    ("why", "until_s", "crashes", "wakes"),
    [
        ("no model answers", None, 0, True),
        ("the day's budget is spent", 7200.0, 1, True),
        ("waiting for: disk of ~/src/shop is full", 60.0, 0, False),
        ("its daemon died", 4.0, 2, False),
    ],
)
def test_a_backend_that_comes_up_wakes_every_task_that_waits_for_one_and_a_retry_any(
    store: Store, why: str, until_s: float | None, crashes: int, wakes: bool
) -> None:
    submit(store)
    task = claim(store)
    for _ in range(crashes):
        store.queue.recover().result()
        task = store.queue.claim("w").result() or task
    if crashes < 2:
        until = None if until_s is None else store.clock() + timedelta(seconds=until_s)
        store.queue.park(task.id, task.fence, why, until).result()
    assert status(store, task.id) is Status.SCHEDULED
    assert store.queue.models_back().result() == wakes
    if not wakes:
        assert store.queue.retry(task.id).result().status is Status.QUEUED
    assert claim(store).attempt == task.attempt, "it goes on where it was"


@pytest.mark.parametrize("ending", [Ending.ERROR, None])
def test_a_retry_of_what_waits_for_its_time_means_now(store: Store, ending: Ending | None) -> None:
    later = submit(store, not_before=None if ending else store.clock() + timedelta(hours=1))
    if ending:
        end(store, claim(store), ending)
    assert status(store, later) is Status.SCHEDULED
    with pytest.raises(IllegalMove):
        store.queue.retry(later, Amendment(note="more")).result()
    assert store.queue.retry(later).result().not_before is None
    assert claim(store).attempt == (2 if ending else 1)
    with pytest.raises(IllegalMove):
        store.queue.retry(later).result()


# Dependencies between tasks


def test_what_depends_on_a_failed_task_fails_with_a_reason_all_the_way_down(store: Store) -> None:
    ids = [submit(store, "the base\nof all")]
    for _ in range(1500):
        ids.append(submit(store, depends_on=(ids[-1],)))
    end(store, claim(store), Ending.GAVE_UP, "no idea")
    second, last = store.queue.get(ids[1]), store.queue.get(ids[-1])
    assert (second.status, second.ending) == (Status.FAILED, Ending.DEPENDENCY)
    assert second.reason == f"task {ids[0]}, on which it depends, failed (the base)"
    assert (last.status, last.ending) == (Status.FAILED, Ending.DEPENDENCY)
    assert store.queue.counts()[Status.FAILED] == 1501


def test_retrying_checks_the_dependencies_again(store: Store) -> None:
    first = submit(store)
    second = submit(store, depends_on=(first,))
    store.queue.cancel(first).result()
    assert status(store, second) is Status.FAILED
    with pytest.raises(IllegalMove, match=f"task {first} \\(cancelled\\); retry that one first"):
        store.queue.retry(second).result()
    assert store.queue.retry(first).result().status is Status.QUEUED
    assert status(store, second) is Status.FAILED
    assert store.queue.retry(second).result().status is Status.BLOCKED
    end(store, claim(store))
    assert status(store, second) is Status.QUEUED


# Cancelling and retrying tasks


def test_a_task_that_has_not_begun_becomes_what_it_is_revised_to_but_for_key_and_dependencies(store: Store) -> None:
    first = submit(store, key="first")
    task_id = submit(store, "one", key="k", depends_on=(first,), metadata={"a": 1})
    revised = store.queue.revise(task_id, TaskSpec(description="two", key="other", priority=7)).result()
    assert revised.spec == TaskSpec(description="two", key="k", depends_on=(first,), priority=7)
    assert revised.status is Status.BLOCKED
    with pytest.raises(UnknownTask):
        store.queue.revise(99, TaskSpec(description="two")).result()


def test_a_task_that_has_begun_takes_new_words_as_a_note_once_and_one_that_is_done_none(store: Store) -> None:
    task_id = submit(store, "one")
    task = claim(store)
    for _ in range(2):
        revised = store.queue.revise(task_id, TaskSpec(description="two", priority=7)).result()
    assert revised.spec.description == "one\n\nA remark of the owner's, which holds where it differs: two"
    assert (revised.status, revised.spec.priority) == (Status.RUNNING, 1)
    with pytest.raises(InvalidTask, match="too long"):
        store.queue.revise(task_id, TaskSpec(description="x" * 99_990)).result()
    end(store, task)
    assert store.queue.revise(task_id, TaskSpec(description="three")).result().spec == revised.spec


def test_only_what_has_not_begun_is_withdrawn(store: Store) -> None:
    running = submit(store, priority=9)
    task = claim(store)
    later = submit(store, not_before=store.clock() + timedelta(hours=1))
    waits = submit(store, depends_on=(running,))
    for task_id in (later, waits):
        gone = store.queue.withdraw(task_id, "its issue was closed").result()
        assert (gone.status, gone.ending, gone.reason) == (Status.CANCELLED, Ending.USER, "its issue was closed")
        assert store.queue.withdraw(task_id, "again").result() == gone
    assert store.queue.withdraw(running, "too late").result().status is Status.RUNNING
    assert not store.queue.get(running).cancel_requested
    end(store, task, Ending.ERROR)
    assert store.queue.withdraw(running, "too late").result().status is not Status.CANCELLED
    with pytest.raises(UnknownTask):
        store.queue.withdraw(99, "").result()


def test_a_retry_grants_all_tries_again(store: Store) -> None:
    first = submit(store, limits=Limits(attempts=1))
    assert end(store, claim(store), Ending.ERROR).status is Status.FAILED
    again = store.queue.retry(first).result()
    assert (again.status, again.ending, again.ended_at) == (Status.QUEUED, None, None)
    assert end(store, claim(store), Ending.ERROR).attempt == 2
    for bad in (submit(store), 99):
        with pytest.raises((IllegalMove, UnknownTask)):
            store.queue.retry(bad).result()


# Recovery after the death of a daemon


def test_a_task_that_keeps_killing_its_daemon_is_set_aside(store: Store) -> None:
    first = submit(store)
    second = submit(store, depends_on=(first,))
    claim(store)
    assert store.queue.recover().result()[0].status is Status.QUEUED
    claim(store)
    assert store.queue.recover().result()[0].status is Status.SCHEDULED
    store.clock.advance(4)
    assert store.queue.tick().result() == 1
    claim(store)
    (failed,) = store.queue.recover().result()
    assert (failed.status, failed.ending, failed.crashes) == (Status.FAILED, Ending.CRASHED, 3)
    assert "3 times" in failed.reason
    assert status(store, second) is Status.FAILED
    assert store.queue.retry(first).result().crashes == 0


# Reading the queue and waking workers


def test_workers_are_woken_by_what_gives_them_something_to_do(tmp_path: Path) -> None:
    with open_store(tmp_path / "a.sqlite") as store, open_store(tmp_path / "a.sqlite", store.clock) as other:
        woken: list[int] = []
        stop = store.queue.on_wake(lambda: woken.append(1))

        def wakes() -> int:
            store.events.catch_up().result()
            store.events.catch_up().result()
            count = len(woken)
            woken.clear()
            return count

        first = submit(store)
        assert wakes() == 1
        blocked = submit(store, depends_on=(first,))
        assert wakes() == 0
        task = claim(store)
        assert wakes() == 0
        store.queue.cancel(first).result()
        assert wakes() == 1
        end(store, task)
        assert (wakes(), status(store, blocked)) == (1, Status.QUEUED)
        store.queue.pause().result()
        assert wakes() == 0
        other.queue.resume().result()
        assert wakes() == 1
        submit(other)
        assert wakes() == 1
        stop()
        submit(store)
        assert wakes() == 0


# Transactions, and several who write at once


class Undone(Exception):
    """Raised to roll a transaction back."""


def undo(store: Store, change: Callable[[Transaction], object]) -> None:
    """Make a change in a transaction that fails afterwards, so that the change is rolled back."""

    def job(conn: Connection) -> None:
        change(store.queue.transaction(conn))
        raise Undone

    with pytest.raises(Undone):
        store.db.write(job).result()


def test_a_change_and_its_event_are_stored_together_or_not_at_all(store: Store) -> None:
    events: list[Event] = []
    store.events.subscribe(events.extend)
    undo(store, lambda tx: transitions.submit(tx, TaskSpec(description="lost")))
    task_id = submit(store, "stays")
    store.db.write(lambda _: None).result()  # subscribers get earlier events before the next write ends
    assert [(event.kind, event.task_id) for event in events] == [(Kind.TASK_SUBMITTED, task_id)]
    assert sum(store.queue.counts().values()) == 1


def test_an_end_and_all_that_it_concerns_are_one_transaction(store: Store) -> None:
    first = submit(store)
    second = submit(store, depends_on=(first,))
    task = claim(store)
    undo(store, lambda tx: transitions.end(tx, task, Status.FAILED, Ending.GAVE_UP, "not this time"))
    assert store.queue.statuses((first, second)) == {first: Status.RUNNING, second: Status.BLOCKED}
    end(store, task, Ending.GAVE_UP)
    assert store.queue.statuses((first, second)) == {first: Status.FAILED, second: Status.FAILED}


def test_the_database_itself_refuses_a_move_that_the_table_does_not_have(store: Store) -> None:
    task_id = submit(store)
    with pytest.raises(IntegrityError):
        store.db.write(lambda conn: conn.execute("UPDATE tasks SET status = 'done'")).result()
    assert status(store, task_id) is Status.QUEUED


def test_of_several_who_move_a_task_at_once_one_succeeds(store: Store) -> None:
    task_id = submit(store)

    def outcome(_: int) -> type:
        future = store.queue.cancel(task_id)
        return type(future.exception() or future.result())

    with ThreadPoolExecutor(8) as pool:
        assert Counter(pool.map(outcome, range(8))) == {Task: 1, IllegalMove: 7}


def test_a_lease_that_ran_out_goes_to_another_under_a_higher_fence_and_the_first_is_refused(tmp_path: Path) -> None:
    with open_store(tmp_path / "a.sqlite") as store, open_store(tmp_path / "a.sqlite", store.clock) as other:
        submit(store)
        old, queue = claim(store), store.queue
        store.clock.advance(61)
        assert [task.id for task in other.queue.sweep().result()] == [old.id]
        new = claim(other)
        assert (new.id, new.fence > old.fence) == (old.id, True)
        assert queue.heartbeat([(old.id, old.fence)]).result().lost == {old.id}
        ask = Ask(kind=AskKind.PACKAGE, subject="package:toolz", question="May it use toolz?")
        for write in (
            queue.progress(old.id, old.fence, iterations=1, spent=Spent()),
            queue.finish(old.id, old.fence, Ending.COMMITTED),
            queue.requeue(old.id, old.fence, ""),
            queue.park(old.id, old.fence, "", None),
            queue.wait_for_owner(old.id, old.fence, "", (ask,)),
            queue.split(old.id, old.fence, "", ()),
        ):
            with pytest.raises(StaleFence):
                write.result()
        assert other.queue.get(new.id) == new
        assert other.queue.approvals(open_only=False) == []
