"""Lessons as the owner lists them, with the repository, standing and cause of retirement of each."""

from __future__ import annotations

import pytest

from nightshift.core.shares import Share
from nightshift.core.tasks.task import Language, TaskSpec
from nightshift.storage.memory import listing, recall_log, rows
from nightshift.storage.memory.lesson_standing import Standing
from nightshift.storage.memory.listing import State, Wanted
from nightshift.storage.memory.recall_log import Assignment, Recalled
from nightshift.storage.memory.store import LongTermMemory
from tests.storage.memory.test_store import ERROR, fail, learn, make, work
from tests.support.store import Store


def near(store: Store, lesson: int, arms: dict[Assignment, int], *, solved: bool, first: int = 100) -> None:
    """Add attempts of invented tasks for which this lesson about a failure was relevant, all with the same result."""

    def job(conn: object) -> None:
        task = first
        for arm, count in arms.items():
            for _ in range(count):
                task += 1
                recall = Recalled(kind="failure", item=lesson, arm=arm, score=0.9)
                recall_log.add(conn, task, 1, [recall], store.clock())  # type: ignore[arg-type]
                recall_log.end(conn, task, 1, solved=solved, iterations=1, at=store.clock())  # type: ignore[arg-type]

    store.db.write(job).result()


@pytest.fixture
async def memory(store: Store) -> LongTermMemory:
    """A memory that learned from three tasks, an hour apart."""
    new_memory = make(store)
    for number in range(3):
        await learn(new_memory, store, f"Parse file {number}", f"{ERROR} {number}", f"Advice {number}.")
        store.clock.advance(3600)
    return new_memory


def page(store: Store, wanted: Wanted, **more: object) -> list[int]:
    keys, _ = listing.page(store.db.reader(), wanted, limit=50, **more)  # type: ignore[arg-type]
    return [item for _, item in keys]


async def test_a_lesson_has_the_language_and_the_repository_of_its_task(store: Store) -> None:
    memory = make(store)
    spec = TaskSpec(description="Write it", language=Language.JAVASCRIPT, repo="/src/shop")
    task = store.queue.submit(spec).result().task_id
    await memory.remember(work("a\n", fail()), task, "d")
    await memory.conclude(work("b\n"), task, True)
    assert listing.places(store.db.reader()) == (["javascript"], ["/src/shop"])
    assert page(store, Wanted(language="javascript", repo="/src/shop")) == [1, 1]
    assert page(store, Wanted(language="python")) == []


async def test_the_standing_is_noted_when_an_attempt_ends(store: Store, memory: LongTermMemory) -> None:
    near(store, 1, {Assignment.SHOWN: 6}, solved=False)
    assert rows.standing(store.db.reader(), "failure", 1) is Standing.TRUSTED
    task = store.queue.submit(TaskSpec(description="x")).result().task_id
    recall = Recalled(kind="failure", item=1, arm=Assignment.SHOWN, score=0.9)
    store.db.write(lambda conn: recall_log.add(conn, task, 1, [recall], store.clock())).result()
    await memory.conclude(work("x\n"), task, False)
    assert page(store, Wanted(state=State.PROBATION)) == [1]
    assert listing.states(store.db.reader())["failure", State.PROBATION] == 1
    lesson = listing.read(store.db.reader(), "failure", 1)
    assert lesson is not None
    assert (lesson.shown, lesson.withheld) == (Share(0, 7), Share())


async def test_retiring_and_restoring_are_told_once(store: Store, memory: LongTermMemory) -> None:
    assert memory.retire("failure", 2).result()
    assert not memory.retire("failure", 2).result()
    assert not memory.retire("failure", 99).result()
    lesson = listing.read(store.db.reader(), "failure", 2)
    assert lesson is not None
    assert (lesson.state, lesson.retired_by, lesson.retired_at) == (State.RETIRED, "owner", store.clock())
    assert 2 not in [hit.item for hit in memory.search(f"TypeError: {ERROR} 1", 9) if hit.kind == "failure"]
    assert memory.restore("failure", 2).result()
    assert not memory.restore("failure", 2).result()
    assert memory.search(f"TypeError: {ERROR} 1", 9)[0].kind == "failure"
