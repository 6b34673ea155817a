"""Code that failed in an earlier task is recognised before it runs; the memory and its database are real."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from nightshift.core.tasks.attempt_state import AttemptState, Reflection, Try
from nightshift.core.tasks.change_checks import ChangeCheckJob, ChangeCheckReport, Severity
from nightshift.core.tasks.states import Phase
from nightshift.core.tasks.task import TaskSpec
from nightshift.core.tasks.verdicts import Evidence, Failure, Label, Verdict
from nightshift.storage.memory.embedders import choose
from nightshift.storage.memory.store import LongTermMemory
from nightshift.verdict.checks.pattern_check import PatternCheck
from tests.support.store import Store, open_store
from tests.support.trees import TextTree

BAD = """def average(values):
    total = 0
    for value in values:
        total += value
    return total / len(values) if values[0] else None
"""
GOOD = BAD.replace("if values[0]", "if values")
RENAMED = BAD.replace("average", "mean").replace("values", "marks").replace("total", "so_far")
FAILED = Verdict(
    passed=False,
    reason="1 failed",
    evidence=Evidence(tree="", sandbox="", label=Label.TESTS_PASSED),
    failures=(Failure(id="t", kind="IndexError", message="list index out of range", frame="a.py:5 in average"),),
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "agent.sqlite") as opened:
        yield opened


def memory_of(store: Store, control_share: float = 0.0) -> LongTermMemory:
    hashed = choose("hashed")
    return LongTermMemory(store.db, hashed, clock=store.clock, emit=store.events.emit, control_share=control_share)


def submit(store: Store) -> int:
    return store.queue.submit(TaskSpec(description="Write average()")).result().task_id


async def learn(store: Store, memory: LongTermMemory) -> None:
    task_id = submit(store)
    tries = (Try(iteration=1, digest="d", failing=(), feedback="", reflection=Reflection(suggested_fix="Test it.")),)
    work = AttemptState(phase=Phase.REFLECTING, base="", change={"a.py": BAD}, verdict=FAILED, tries=tries)
    await memory.remember(work, task_id, "d")
    done = AttemptState(phase=Phase.COMMIT, base="", change={"a.py": GOOD}, tries=tries)
    await memory.conclude(done, task_id, True)


async def ask(memory: LongTermMemory, text: str, task_id: int | None = None, **base: str) -> ChangeCheckReport:
    spec = TaskSpec(description="Write mean()")
    tree = TextTree({f"{name}.py": source for name, source in base.items()})
    return await PatternCheck(memory).examine(
        ChangeCheckJob(spec=spec, tree=tree, change={"m.py": text}, task_id=task_id)
    )


async def test_what_failed_is_known_again_under_other_names(store: Store) -> None:
    memory = memory_of(store)
    await learn(store, memory)
    report = await ask(memory, f"import math\n\n\n{RENAMED}", submit(store))
    (finding,), (lesson,) = report.findings, report.lessons
    assert (finding.severity, finding.path, finding.line) == (Severity.NOTE, "m.py", 4)
    assert "mean is written like code that failed" in finding.message
    assert finding.message.endswith("Test it."), "the change that mended it stands in the lesson alone"
    assert "What mended it" in lesson.text


async def test_what_mended_it_other_code_and_what_stood_there_before_are_let_pass(store: Store) -> None:
    memory = memory_of(store)
    await learn(store, memory)
    assert await ask(memory, GOOD) == ChangeCheckReport()
    assert await ask(memory, BAD.replace("+=", "-=")) == ChangeCheckReport()
    assert await ask(memory, RENAMED, m=RENAMED) == ChangeCheckReport()
    assert (await ask(memory, RENAMED)).findings


async def test_code_that_passed_since_is_no_warning_any_more(store: Store) -> None:
    memory = memory_of(store)
    await learn(store, memory)
    other = submit(store)
    await memory.conclude(AttemptState(phase=Phase.COMMIT, base="", change={"b.py": RENAMED}), other, True)
    assert await ask(memory, RENAMED) == ChangeCheckReport()


async def test_an_attempt_that_sees_no_lessons_by_lot_gets_no_warning(store: Store) -> None:
    await learn(store, memory_of(store))
    memory, task_id = memory_of(store, control_share=1.0), submit(store)
    assert await ask(memory, RENAMED, task_id) == ChangeCheckReport()
    rows = store.db.reader().execute("SELECT arm FROM recalls WHERE task_id = ?", (task_id,)).fetchall()
    assert [row[0] for row in rows] == ["control"]
