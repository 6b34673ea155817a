"""Attempts for which lessons were relevant.

Each attempt is counted once, in its own group.
"""

from __future__ import annotations

from nightshift.core.shares import Share
from nightshift.core.tasks.task import TaskSpec
from nightshift.storage.memory import recall_log
from nightshift.storage.memory.recall_log import Assignment, Recalled
from tests.support.store import Store


def end(store: Store, arms: list[Assignment], *, solved: bool) -> int:
    """Add a task whose attempt recalled one lesson for each element of `arms`, in this order; return the task's id."""
    task_id = store.queue.submit(TaskSpec(description="x")).result().task_id
    recalls = [Recalled(kind="failure", item=item, arm=arm, score=0.5) for item, arm in enumerate(arms, 1)]
    at = store.clock()
    store.db.write(lambda conn: recall_log.add(conn, task_id, 1, recalls, at)).result()
    store.db.write(lambda conn: recall_log.end(conn, task_id, 1, solved=solved, iterations=1, at=at)).result()
    return task_id


def test_attempts_are_compared_between_who_saw_lessons_and_who_saw_none(store: Store) -> None:
    for _ in range(3):
        end(store, [Assignment.SHOWN, Assignment.SHOWN], solved=True)
        end(store, [Assignment.CONTROL, Assignment.CONTROL], solved=False)
    uplift = recall_log.uplift(store.db.reader())
    assert (uplift.shown, uplift.control) == (Share(3, 3), Share(0, 3))
    assert uplift.solve_rate.estimate == 1.0


def test_a_lesson_is_judged_by_the_attempts_it_was_near_to_and_one_left_out_on_probation_counts_as_withheld(
    store: Store,
) -> None:
    end(store, [Assignment.SHOWN, Assignment.PROBATION], solved=True)
    end(store, [Assignment.CONTROL, Assignment.CONTROL], solved=False)
    conn = store.db.reader()
    assert recall_log.tallies(conn, "failure", 1) == (Share(1, 1), Share(0, 1))
    assert recall_log.tallies(conn, "failure", 2) == (Share(), Share(1, 2))
    assert recall_log.tallies(conn, "pattern", 1) == (Share(), Share())
    assert recall_log.uplift(conn).shown == Share(1, 1), (
        "the attempt was to see lessons, whatever became of one of them"
    )
