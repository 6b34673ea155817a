"""Long-term memory as a whole: failures that were fixed are found again, and lessons that do not help retire."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from nightshift.core.events import Event, Kind
from nightshift.core.tasks.attempt_state import AttemptState, Reflection, Try
from nightshift.core.tasks.lesson import Lesson
from nightshift.core.tasks.states import Phase
from nightshift.core.tasks.task import TaskSpec
from nightshift.core.tasks.verdicts import Evidence, Failure, Label, Verdict
from nightshift.core.text.masking import Masker
from nightshift.storage.memory.embedders import Choice, HashedEmbedder, choose
from nightshift.storage.memory.store import LongTermMemory
from tests.support.store import Store, open_store

if TYPE_CHECKING:
    from nightshift.storage.memory.embedders.base import Vectors

EVIDENCE = Evidence(tree="", sandbox="", label=Label.TESTS_PASSED)
ERROR = "unsupported operand type(s) for +: 'int' and 'str'"


def fail(message: str = ERROR, kind: str = "TypeError") -> Verdict:
    failure = Failure(id="t.py::test_total", kind=kind, message=message, frame="shop.py:3 in total")
    return Verdict(passed=False, reason="1 failed", evidence=EVIDENCE, failures=(failure,))


def work(text: str, verdict: Verdict | None = None, advice: str = "", **fields: object) -> AttemptState:
    tries = (Try(iteration=1, digest="d", failing=(), feedback="", reflection=Reflection(suggested_fix=advice)),)
    state = AttemptState(phase=Phase.REFLECTING, base="", change={"shop.py": text}, verdict=verdict, tries=tries)
    return replace(state, **fields)  # type: ignore[arg-type]  # each caller names fields of Work


@pytest.fixture
def memory(store: Store) -> LongTermMemory:
    return make(store)


def make(
    store: Store, choice: Choice | None = None, *, secret: str = "hunter22", control_share: float = 0.0
) -> LongTermMemory:
    masker = Masker([secret])
    chosen = choice or choose("hashed")
    return LongTermMemory(
        store.db, chosen, clock=store.clock, emit=store.events.emit, masker=masker, control_share=control_share
    )


def listening(store: Store, heard: list[str]) -> LongTermMemory:
    """Return a memory whose embedder adds each text that it gets to `heard`."""

    class Listening(HashedEmbedder):
        def embed(self, texts: Sequence[str]) -> Vectors:
            heard.extend(texts)
            return super().embed(texts)

    return make(store, Choice(ready=Listening(), better=None, why=""))


def submit(store: Store, description: str = "Write total() that adds the prices of a basket") -> int:
    return store.queue.submit(TaskSpec(description=description)).result().task_id


async def learn(
    memory: LongTermMemory, store: Store, description: str, error: str, advice: str, kind: str = "TypeError"
) -> int:
    """Add a task that failed once and was solved; return its id."""
    task_id = submit(store, description)
    await memory.remember(work("return a\n", fail(error, kind)), task_id, description)
    await memory.conclude(work("return b\n", None, advice), task_id, True)
    return task_id


async def test_a_failure_that_was_mended_is_recalled_with_its_fix(memory: LongTermMemory, store: Store) -> None:
    task_id = submit(store)
    await memory.remember(work("def total(x):\n    return sum(x)\n", fail()), task_id, "d")
    assert await memory.recall(ERROR, 3) == ()
    await memory.conclude(work("def total(x):\n    return sum(map(int, x))\n", None, "Convert to int."), task_id, True)
    store.clock.advance(60)
    (lesson,) = await memory.recall("TypeError: unsupported operand type(s) for +: 'float' and 'list'", 3)
    assert lesson.text.startswith(f"TypeError: {ERROR}:\nConvert to int.\nWhat mended it:\n--- a/shop.py\n")
    assert "-    return sum(x)\n+    return sum(map(int, x))" in lesson.text
    assert (lesson.source, lesson.age_s) == ("failure", 60)
    assert lesson.score > 0.6


async def test_a_task_of_the_same_kind_recalls_the_pattern(memory: LongTermMemory, store: Store) -> None:
    await learn(memory, store, "Parse a CSV file of prices into a dict", "x", "Skip the header.")
    await learn(memory, store, "Draw the Mandelbrot set as a picture", "y", "Mind the aspect ratio.")
    (lesson,) = await memory.recall("Parse a CSV file of temperatures into a list", 3)
    assert lesson.source == "pattern"
    assert "Skip the header." in lesson.text


async def test_what_a_task_asks_with_and_then_leaves_to_be_learned_is_embedded_once(store: Store) -> None:
    heard: list[str] = []
    memory = listening(store, heard)
    await learn(memory, store, "Draw the Mandelbrot set as a picture", "y", "Mind the aspect ratio.")
    asked = "Parse a CSV file of prices into a dict"
    assert await memory.recall(asked, 3) == ()
    await learn(memory, store, asked, "x", "Skip the header.")
    (lesson,) = await memory.recall(asked, 3)
    assert "Skip the header." in lesson.text
    assert [text for text in heard if text == asked] == [asked]


async def test_a_limit_holds_and_each_task_gives_one_lesson(memory: LongTermMemory, store: Store) -> None:
    for n in range(5):
        await learn(memory, store, f"Parse a CSV file of prices, variant {n}", ERROR, f"Advice {n}.")
    lessons = await memory.recall(ERROR, 3)
    assert len(lessons) == 3
    assert len({lesson.text.split("\n")[1] for lesson in lessons}) == 3


async def test_secrets_are_not_stored(memory: LongTermMemory, store: Store) -> None:
    task_id = submit(store, "Log in with hunter22")
    await memory.remember(work("p = 'hunter22'\n", fail("hunter22 was refused")), task_id, "d")
    await memory.conclude(work("p = read('hunter22')\n", None, "Do not send hunter22."), task_id, True)
    for table in ("failures", "patterns"):
        assert "hunter22" not in str([tuple(row) for row in store.db.reader().execute(f"SELECT * FROM {table}")])


async def attempt(memory: LongTermMemory, store: Store, *, solved: Callable[[bool], bool]) -> tuple[Lesson, ...]:
    """Run one attempt of a task for which a lesson is relevant.

    `solved` decides whether the attempt succeeds; its argument is True if the attempt was shown lessons.
    """
    task_id = submit(store)
    lessons = tuple(await memory.recall(ERROR, 3, task_id=task_id))
    await memory.conclude(work("x\n", lessons=lessons), task_id, solved(bool(lessons)))
    return lessons


async def test_a_share_of_the_attempts_sees_no_lesson_and_is_counted(store: Store) -> None:
    memory = make(store, control_share=0.3)
    await learn(memory, store, "Parse a CSV file of prices", ERROR, "Good advice.")
    seen = [bool(await attempt(memory, store, solved=lambda with_it: with_it)) for _ in range(100)]
    uplift = memory.uplift()
    assert 15 <= seen.count(False) <= 45
    assert (uplift.shown.part, uplift.shown.whole) == (seen.count(True), seen.count(True))
    assert (uplift.control.part, uplift.control.whole) == (0, seen.count(False))
    assert uplift.solve_rate.low > 0.8


async def test_an_attempt_of_a_hubs_task_has_the_same_lot_on_each_node(tmp_path: Path) -> None:
    lots = []
    for before in (0, 3):
        with open_store(tmp_path / f"{before}.sqlite") as store:
            memory = make(store, control_share=0.5)
            await learn(memory, store, "Parse a CSV file of prices", ERROR, "Good advice.")
            for _ in range(before):
                submit(store)
            numbers = [submit(store) for _ in range(12)]
            for hub_id, task_id in enumerate(numbers, 100):
                put = "UPDATE tasks SET hub_id = ? WHERE id = ?"
                store.db.write(lambda conn, put=put, values=(hub_id, task_id): conn.execute(put, values)).result()  # type: ignore[misc]
            lots.append([bool(await memory.recall(ERROR, 3, task_id=number)) for number in numbers])
    assert lots[0] == lots[1]
    assert set(lots[0]) == {True, False}


async def test_a_lesson_that_harms_is_put_to_the_test_and_retires_and_one_that_helps_stays(store: Store) -> None:
    for harmful in (True, False):
        memory = make(store)
        await learn(memory, store, "Parse a CSV file of prices", ERROR, "Some advice.")
        for _ in range(60):
            await attempt(memory, store, solved=lambda with_it: with_it is not harmful)  # noqa: B023  called at once
        assert bool(await memory.recall(ERROR, 3)) is not harmful
        messages = [event.message for event in events(store) if event.kind is Kind.LESSON_RETIRED]
        assert len(messages) == 1
        assert "attempts were solved with it" in messages[0]


async def test_memories_without_a_vector_are_embedded_at_the_next_recall(memory: LongTermMemory, store: Store) -> None:
    await learn(memory, store, "Parse a CSV file", ERROR, "Advice.")
    store.db.write(lambda conn: conn.execute("DELETE FROM memory_vectors").rowcount).result()
    again = make(store)
    assert len(await again.recall(ERROR, 3)) == 1


async def test_an_embedder_that_cannot_be_loaded_is_a_normal_state(store: Store) -> None:
    memory = make(store, choose("openai"))
    assert "until openai" in memory.description
    await learn(memory, store, "Parse a CSV file", ERROR, "Advice.")
    assert len(await memory.recall(ERROR, 3)) == 1
    await asyncio.to_thread(memory.close)
    assert "set OPENAI_API_KEY" in memory.description
    assert len(await memory.recall(ERROR, 3)) == 1
    assert Kind.EMBEDDER_MISSING in [event.kind for event in events(store)]


def events(store: Store) -> Iterator[Event]:
    store.db.write(lambda conn: conn.execute("SELECT 1").fetchone()).result()
    for row in store.db.reader().execute("SELECT kind, message FROM execution_logs ORDER BY id"):
        yield Event(kind=Kind(row[0]), message=row[1])


async def at(memory: LongTermMemory, store: Store, repo: str | None, kind: str, message: str) -> int:
    """Add a task of this repository that failed with this error and was then solved; return the task's id."""
    task_id = store.queue.submit(TaskSpec(description=f"{kind} {repo}", repo=repo)).result().task_id
    await memory.remember(work("return a\n", fail(message, kind)), task_id, "d")
    await memory.conclude(work("return b\n", None, "Do it."), task_id, True)
    return task_id


@pytest.mark.parametrize(
    ("kind", "message", "shared"),
    [
        ("TypeError", ERROR, True),
        ("AssertionError", "assert basket(1) == 2", False),
        ("shop.errors.BasketFull", "the basket is full", False),
    ],
)
async def test_a_lesson_leaves_its_repository_where_it_is_about_the_language_or_a_library(
    memory: LongTermMemory, store: Store, kind: str, message: str, shared: bool
) -> None:
    await at(memory, store, "/src/shop", kind, message)
    here = store.queue.submit(TaskSpec(description="x", repo="/src/shop")).result().task_id
    there = store.queue.submit(TaskSpec(description="x", repo="/src/bank")).result().task_id
    query = f"{kind}: {message}"
    assert [lesson.source for lesson in await memory.recall(query, 3, task_id=here)] == ["failure"]
    assert len(await memory.recall(query, 3, task_id=there)) == shared
