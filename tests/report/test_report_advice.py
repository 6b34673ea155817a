"""Each rule of the recommendations applies under its condition, and names the figure that it is based on."""

from __future__ import annotations

from datetime import timedelta

import pytest

from nightshift.core.events import Kind
from nightshift.core.tasks.attempt_state import AttemptState
from nightshift.core.tasks.states import Ending, Phase
from nightshift.core.tasks.submission import parse_spec
from nightshift.core.tasks.task import Task
from nightshift.report.advice import recommendations
from nightshift.report.weekly import summarise
from tests.support.history import FIRST, WEEK, History

UNTIL = FIRST + WEEK


def advice(history: History) -> str:
    """Return all advice for the week after the first, as text."""
    summary = summarise(history.store.db, UNTIL, UNTIL + WEEK)
    return "\n".join(recommendations(summary)).replace("`", "").replace("\\", "")


@pytest.fixture
def second(history: History) -> History:
    """Provide a history whose clock is in the second week."""
    history.clock.now = UNTIL + timedelta(hours=1)
    return history


def claim(history: History) -> Task:
    history.store.queue.submit(parse_spec({"description": "x"})).result()
    task = history.store.queue.claim("w").result()
    assert task
    return task


@pytest.mark.parametrize(("ending", "mend"), [(Ending.BUDGET, "budgets"), (Ending.STUCK, "stronger model")])
def test_many_failures_bring_advice_on_their_commonest_ending(second: History, ending: Ending, mend: str) -> None:
    for each in (*[Ending.NO_CHANGE] * 4, *[ending] * 3):
        task = claim(second)
        second.store.queue.finish(task.id, task.fence, each).result()
    text = advice(second)
    assert text.startswith("3 of 7 (43 %) of the tasks that ended have failed.")
    assert f"{ending} (3 tasks)" in text
    assert mend in text


def test_a_backend_that_fails_often_is_named(second: History) -> None:
    task, second.models = claim(second), (("openai", "big", 0.001),)
    for number in range(20):
        second.reply(task, AttemptState(phase=Phase.CODING, base="b", step_no=number + 1), Phase.CODING)
    for _ in range(5):
        second.tell(Kind.MODEL_FAILED, "", backend="openai")
    assert "Backend openai failed 5 of 25 calls" in advice(second)


def test_troubles_of_the_machine_are_told(second: History) -> None:
    for kind in (Kind.BACKUP_FAILED, Kind.DISK_LOW, Kind.NOTIFY_FAILED, Kind.DATABASE_RESTORED, Kind.REGRESSION):
        second.tell(kind, "")
    second.tell(Kind.BUDGET_REACHED, "", budget="day")
    text = advice(second)
    assert "1 backup failed" in text
    assert "1 time the disk was nearly full" in text
    assert "1 notice could not be sent" in text
    assert "1 restore of the database" in text
    assert "1 regression" in text
    assert "The budget of day was reached 1 time" in text
