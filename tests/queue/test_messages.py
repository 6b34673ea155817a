"""Messages of an owner to a task: who can read them, how they are stored, and how they reach the worker."""

from __future__ import annotations

import pytest

from nightshift.core.errors import IllegalMove, UnknownTask
from nightshift.core.events import Kind
from nightshift.core.tasks.states import Ending
from nightshift.core.tasks.task import Task, TaskSpec
from nightshift.storage.db.event_log import EventFilter
from tests.support.store import Store


def submit(store: Store) -> int:
    return store.queue.submit(TaskSpec(description="x")).result().task_id


def claim(store: Store) -> Task:
    task = store.queue.claim("w").result()
    assert task
    return task


def test_what_is_said_is_kept_in_order_with_its_event(store: Store) -> None:
    number, other = submit(store), submit(store)
    first = store.queue.say(number, "  Use csv.\n").result()
    task = claim(store)
    second = store.queue.say(number, "And no pandas.", interrupts=False).result()
    assert store.queue.list_messages(number) == (first, second)
    assert store.queue.list_messages(other) == ()
    assert [(message.text, message.attempt, message.interrupts) for message in (first, second)] == [
        ("Use csv.", 0, True),
        ("And no pandas.", task.attempt, False),
    ]
    assert first.at == store.clock.now
    events = list(store.events.last(99, EventFilter(task_id=number, kind=Kind.OWNER_SAID)))
    assert [(event.message, event.data) for event in events] == [
        ("Use csv.", {"interrupts": True}),
        ("And no pandas.", {"interrupts": False}),
    ]


def test_the_worker_that_runs_it_learns_of_the_newest_that_interrupts(store: Store) -> None:
    number = submit(store)
    task, woken = claim(store), list[int]()
    store.queue.on_wake(lambda: woken.append(1))
    owned = [(task.id, task.fence)]
    assert store.queue.heartbeat(owned).result().newest_messages == {}
    store.queue.say(number, "one", interrupts=False).result()
    assert store.queue.heartbeat(owned).result().newest_messages == {}
    store.queue.say(number, "two").result()
    third = store.queue.say(number, "three").result()
    store.queue.say(number, "four", interrupts=False).result()
    assert store.queue.heartbeat(owned).result().newest_messages == {number: third.id}
    assert len(woken) == 4


def test_a_task_that_has_ended_takes_nothing_and_says_what_to_do(store: Store) -> None:
    with pytest.raises(UnknownTask):
        store.queue.say(9, "x").result()
    done, failed, gone = (submit(store) for _ in range(3))
    task = claim(store)
    store.queue.finish(task.id, task.fence, Ending.COMMITTED).result()
    task = claim(store)
    store.queue.finish(task.id, task.fence, Ending.GAVE_UP).result()
    store.queue.cancel(gone).result()
    with pytest.raises(IllegalMove, match="is done; add a follow-up task"):
        store.queue.say(done, "x").result()
    for number in (failed, gone):
        with pytest.raises(IllegalMove, match=rf"retry it first \(.*retry {number}"):
            store.queue.say(number, "x").result()
    store.queue.retry(failed).result()
    assert store.queue.say(failed, "x").result().attempt == 1


def test_secrets_are_not_kept(store: Store) -> None:
    store.mask.learn(["hunter2-hunter2"])
    number = submit(store)
    assert store.queue.say(number, "log in with hunter2-hunter2\x07").result().text == "log in with ***\\x07"
    assert all("hunter2" not in event.message for event in store.events.after(0, limit=99))
