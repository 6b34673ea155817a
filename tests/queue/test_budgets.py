"""Budgets in the queue: a task's use according to the ledger, the budget of a retry, and released tasks."""

from __future__ import annotations

from datetime import timedelta

from nightshift.core.dialogue import Completion, ModelRequest
from nightshift.core.tasks.change_checks import Ask, AskKind
from nightshift.core.tasks.states import Ending, Phase, Status
from nightshift.core.tasks.task import Spent, Task, TaskSpec
from tests.support.store import Store

MORE = Ask(kind=AskKind.BUDGET, subject="budget:tokens:200", question="grant as much again (100)?")
REPLY = Completion(text="", backend="b", model="m", tokens_in=70, tokens_out=20, cost_usd=None, latency_s=2.0)


def submit(store: Store) -> int:
    return store.queue.submit(TaskSpec(description="Write it.")).result().task_id


def claim(store: Store) -> Task:
    task = store.queue.claim("w").result()
    assert task
    return task


def pay(store: Store, task: Task, call_no: int = 0, *, lost: bool = False) -> None:
    asked = ModelRequest(phase=Phase.CODING, messages=(), task_id=task.id, attempt=task.attempt, call_no=call_no)
    save = store.steps.save_lost if lost else store.steps.save_reply
    save(asked, REPLY).result()


def test_lost_replies_and_those_of_no_step_count_wherever_the_task_is_put_down(store: Store) -> None:
    task_id = submit(store)
    task = claim(store)
    store.queue.progress(task.id, task.fence, iterations=0, spent=Spent(suite_s=3.0)).result()
    pay(store, task)
    pay(store, task, lost=True)
    wanted = Spent(model_calls=2, tokens_in=140, tokens_out=40, model_s=4.0, suite_s=3.0, unpriced=2)
    assert store.queue.park(task.id, task.fence, "no model", None).result().spent == wanted
    store.queue.models_back().result()
    task = claim(store)
    pay(store, task, 1)
    held = store.queue.wait_for_owner(task.id, task.fence, "more?", (MORE,)).result()
    assert (held.status, held.spent.model_calls) == (Status.WAITING, 3)
    assert store.steps.sum_spent_of(task_id).tokens == 270
    assert store.state.sum_spent().unpriced == 3


def test_a_retry_counts_from_what_was_spent_before_it_and_forgets_nothing(store: Store) -> None:
    task_id = submit(store)
    task = claim(store)
    pay(store, task)
    store.queue.finish(task.id, task.fence, Ending.BUDGET, reason="denied").result()
    again = store.queue.retry(task_id).result()
    assert again.spent_before.tokens == 90
    assert again.spent_before.model_calls == 1
    assert store.state.sum_spent().tokens == 90


def test_more_that_was_denied_can_be_asked_for_again_and_more_that_was_granted_is_not(store: Store) -> None:
    task_id = submit(store)
    for granted in (False, True):
        task = claim(store)
        store.queue.wait_for_owner(task.id, task.fence, "more?", (MORE,)).result()
        (asked,) = store.queue.approvals(task_id=task_id)
        store.queue.decide(asked.id, granted).result()
    task = claim(store)
    assert store.queue.wait_for_owner(task.id, task.fence, "more?", (MORE,)).result().status is Status.QUEUED
    assert [each.granted for each in store.queue.approvals(open_only=False, task_id=task_id)] == [False, True]


def test_new_settings_let_go_of_what_was_parked_and_of_nothing_else(store: Store) -> None:
    later = store.clock() + timedelta(days=9)
    ids = [submit(store) for _ in range(3)]
    timed, any_model, failed = (claim(store) for _ in range(3))
    store.queue.park(timed.id, timed.fence, "until midnight", later).result()
    store.queue.park(any_model.id, any_model.fence, "the total is spent", None).result()
    store.queue.finish(failed.id, failed.fence, Ending.ERROR, reason="rests").result()
    owners = store.queue.submit(TaskSpec(description="Next week.", not_before=later)).result().task_id
    assert store.queue.unpark().result() == 2
    statuses = [store.queue.get(task_id).status for task_id in (*ids, owners)]
    assert statuses == [Status.QUEUED, Status.QUEUED, Status.SCHEDULED, Status.SCHEDULED]
    assert claim(store).attempt == 1
