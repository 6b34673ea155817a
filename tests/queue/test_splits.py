"""A split task waits for its subtasks.

Each subtask is created only once. However the subtasks end, the split task continues or ends.
"""

from __future__ import annotations

import pytest

from nightshift.core.dialogue import Completion, ModelRequest
from nightshift.core.errors import StaleFence
from nightshift.core.tasks.states import Ending, Phase, Status
from nightshift.core.tasks.task import Spent, SubtaskSpec, Task, TaskSpec
from tests.support.store import Store

S = Status
PARTS = [SubtaskSpec(spec=TaskSpec(description=name, priority=2), after=after) for name, after in
         (("a", ()), ("b", ()), ("c", (0, 1)))]  # fmt: skip


def split(store: Store) -> Task:
    """Make a task with three subtasks, the third of which depends on the others."""
    store.queue.submit(TaskSpec(description="whole")).result()
    parent = claim(store)
    return store.queue.split(parent.id, parent.fence, "waits for its parts", PARTS).result()


def claim(store: Store) -> Task:
    task = store.queue.claim("w").result()
    assert task is not None
    return task


def end(store: Store, ending: Ending) -> Task:
    task = claim(store)
    return store.queue.finish(task.id, task.fence, ending).result()


def stand(store: Store) -> list[Status]:
    return [task.status for task in store.queue.find()[::-1]]


def test_parts_are_claimed_first_and_the_whole_goes_on_with_its_attempt_when_they_are_done(store: Store) -> None:
    parent = split(store)
    assert stand(store) == [S.BLOCKED, S.QUEUED, S.QUEUED, S.BLOCKED]
    other = store.queue.submit(TaskSpec(description="other")).result().task_id
    assert [end(store, Ending.COMMITTED).id for _ in range(3)] == [2, 3, 4]
    again = claim(store)
    assert (again.id, again.attempt) == (parent.id, 1)
    assert store.queue.get(other).status is S.QUEUED
    family = store.queue.family(store.queue.get(1))
    assert (family.parent_id, [part.id for part in family.subtasks]) == (None, [2, 3, 4])
    assert store.queue.family(store.queue.get(3)).parent_id == 1


def test_a_split_that_is_carried_out_twice_makes_each_part_once(store: Store) -> None:
    parent = split(store)
    with pytest.raises(StaleFence):
        store.queue.split(parent.id, parent.fence, "again", PARTS).result()
    for _ in range(2):
        end(store, Ending.NO_CHANGE)
    end(store, Ending.GAVE_UP)
    again = claim(store)
    back = store.queue.split(again.id, again.fence, "as if its daemon had forgotten", PARTS).result()
    assert len(store.queue.find()) == 4
    assert back.status is S.QUEUED


def test_a_part_that_is_cancelled_ends_the_whole_and_with_it_the_other_parts(store: Store) -> None:
    parent = split(store)
    after = store.queue.submit(TaskSpec(description="after", depends_on=(parent.id,))).result().task_id
    running = claim(store)
    store.queue.cancel(3).result()
    assert stand(store) == [S.FAILED, S.RUNNING, S.CANCELLED, S.FAILED, S.FAILED]
    assert store.queue.get(parent.id).ending is store.queue.get(after).ending is Ending.DEPENDENCY
    assert store.queue.get(running.id).cancel_requested
    store.queue.finish(running.id, running.fence, Ending.USER).result()
    assert stand(store)[:2] == [S.FAILED, S.CANCELLED]


def test_cancelling_the_whole_cancels_what_is_open_of_it_and_asking_again_plans_anew(store: Store) -> None:
    parent = split(store)
    end(store, Ending.COMMITTED)
    store.queue.cancel(parent.id).result()
    assert stand(store) == [S.CANCELLED, S.DONE, S.CANCELLED, S.CANCELLED]
    store.queue.retry(parent.id).result()
    again = claim(store)
    assert (again.id, again.attempt) == (parent.id, 2)
    store.queue.split(again.id, again.fence, "anew", PARTS[:2]).result()
    assert [task.spec.key for task in store.queue.subtasks(parent.id, 2)] == ["split:1:2:1", "split:1:2:2"]
    assert store.queue.get(parent.id).status is S.BLOCKED


@pytest.mark.parametrize("ending", [Ending.COMMITTED, Ending.USER])
def test_a_part_of_an_earlier_attempt_settles_nothing(store: Store, ending: Ending) -> None:
    parent = split(store)
    store.queue.cancel(parent.id).result()
    store.queue.retry(parent.id).result()
    again = claim(store)
    store.queue.split(again.id, again.fence, "anew", PARTS[:1]).result()
    own = claim(store)
    store.queue.retry(2).result()
    old = claim(store)
    assert (old.id, old.spec.key, own.spec.key) == (2, "split:1:1:1", "split:1:2:1")
    store.queue.finish(old.id, old.fence, ending).result()
    assert store.queue.get(parent.id).status is S.BLOCKED
    store.queue.finish(own.id, own.fence, Ending.COMMITTED).result()
    assert store.queue.get(parent.id).reason == "all of its parts are done"


def test_what_parts_used_counts_for_the_whole_until_its_owner_asks_again(store: Store) -> None:
    parent = split(store)
    for task_id in (parent.id, 2, 4):
        request = ModelRequest(phase=Phase.CODING, messages=(), task_id=task_id)
        store.steps.save_reply(request, Completion(text="", backend="b", model="m", tokens_in=5, cost_usd=0.5)).result()
    assert store.queue.sum_spent_on_subtasks(parent.id) == Spent(model_calls=2, tokens_in=10, cost_usd=1.0)
    assert store.queue.sum_spent_on_subtasks(2) == Spent()
    store.queue.cancel(parent.id).result()
    store.queue.retry(parent.id).result()
    claim(store)
    assert store.queue.sum_spent_on_subtasks(parent.id) == Spent()
