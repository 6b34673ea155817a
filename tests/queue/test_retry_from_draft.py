"""A retry that begins with the draft of the last attempt: when this is possible, and when it is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nightshift.core.clock import utc_now
from nightshift.core.errors import IllegalMove
from nightshift.core.tasks.attempt_state import AttemptState, Step
from nightshift.core.tasks.forking import begin_with_draft
from nightshift.core.tasks.states import Ending, Outcome, Phase, Status
from nightshift.core.tasks.task import Task, TaskSpec
from nightshift.core.tasks.verdicts import CaseResult, Evidence, Label, Result, Verdict
from nightshift.storage.db import pruning
from nightshift.storage.db.state_store import Commit
from tests.support.store import Store

FAILED = Verdict(
    passed=False,
    reason="1 failed of 2 tests",
    evidence=Evidence(tree="t", sandbox="bubblewrap", label=Label.TESTS_PASSED),
    results=(CaseResult(id="t::a", result=Result.PASSED), CaseResult(id="t::b", result=Result.FAILED)),
)
STATE = AttemptState(
    phase=Phase.ABANDON, base="b" * 40, step_no=5, iteration=4, change={"a.py": "x = 2\n"}, feedback="later", plan="1.",
    ending=Ending.STUCK, reason="Stuck", saw_held_out=True,
)  # fmt: skip
JUDGED = replace(STATE, change={"a.py": "x = 1\n"}, verdict=FAILED, iteration=2, feedback="t::b").with_best()


def fail(store: Store, *, drafts: bool = True) -> Task:
    """Make a task whose first attempt ended as stuck, with a draft."""
    store.queue.submit(TaskSpec(description="x")).result()
    task = store.queue.claim("w").result()
    assert task
    step = Step(phase=Phase.REFLECTING, outcome=Outcome.GIVE_UP, state=JUDGED)
    store.steps.save_step(task.id, 1, task.fence, step, started_at=utc_now(), duration_s=0.1).result()
    if drafts:
        row = Commit(task_id=task.id, attempt=1, repo="/r", branch="agent/1-x", commit="aa", base="b", subject="s",
                     label="draft")  # fmt: skip
        store.state.record_commit(row).result()
    return store.queue.finish(task.id, task.fence, Ending.STUCK, branch="agent/1-x" if drafts else None).result()


def claim(store: Store) -> Task:
    task = store.queue.claim("w").result()
    assert task
    return task


def test_attempts_begin_with_the_draft_until_its_owner_asks_for_a_fresh_one(store: Store) -> None:
    task = fail(store)
    assert store.queue.retry(task.id, from_draft=True).result().status is Status.QUEUED
    second = claim(store)
    assert (second.attempt, second.draft_attempt) == (2, 1)
    store.queue.finish(task.id, second.fence, Ending.ERROR, reason="x").result()
    store.clock.advance(3600)
    store.queue.tick().result()
    third = claim(store)
    assert (third.attempt, third.draft_attempt) == (3, 1)
    store.queue.finish(task.id, third.fence, Ending.STUCK).result()
    store.queue.retry(task.id).result()
    assert claim(store).draft_attempt == 0


def test_a_draft_whose_steps_were_pruned_says_where_it_is(store: Store) -> None:
    task = fail(store)
    late = store.clock.now.replace(year=2030)
    store.db.write(lambda conn: pruning.prune_work(conn, task.id, late, late, "keep_work_days").rows).result()
    with pytest.raises(IllegalMove, match=r"were pruned.*it stays on agent/1-x"):
        store.queue.retry(task.id, from_draft=True).result()


def test_the_state_is_that_of_the_best_change_and_reflects_on_its_failure_first() -> None:
    begun = begin_with_draft(JUDGED)
    assert (begun.phase, begun.change, begun.verdict, begun.feedback) == (
        Phase.REFLECTING, {"a.py": "x = 1\n"}, FAILED, "t::b",
    )  # fmt: skip
    assert (begun.iteration, begun.tries, begun.seen, begun.ending, begun.step_no) == (0, (), (), None, 0)
    assert (begun.plan, begun.saw_held_out, begun.base) == ("1.", True, "b" * 40)
