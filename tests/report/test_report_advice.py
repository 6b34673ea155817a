"""Each rule of the recommendations applies under its condition, and names the figure that it is based on."""

from __future__ import annotations

from datetime import timedelta

import pytest

from nightshift.core.events import Kind
from nightshift.core.tasks.change_checks import Ask, AskKind
from nightshift.core.tasks.submission import parse_spec
from nightshift.report.advice import recommendations
from nightshift.report.weekly import summarise
from nightshift.storage.db.state_store import Commit
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


def test_questions_that_wait_for_hours_are_told(second: History) -> None:
    for _ in range(3):
        second.store.queue.submit(parse_spec({"description": "x"})).result()
        task = second.store.queue.claim("w").result()
        assert task
        ask = Ask(kind=AskKind.PACKAGE, subject="package:toolz", question="?")
        second.store.queue.wait_for_owner(task.id, task.fence, "waits", [ask]).result()
    assert "Questions waited 6 d 23 h for you (median)" in advice(second)
    assert "ALLOWED_DEPS" in advice(second)


def test_commits_of_high_risk_are_told(history: History) -> None:
    for number in range(60):
        history.clock.now = FIRST + timedelta(hours=1) if number < 59 else UNTIL + timedelta(hours=1)
        commit = Commit(
            task_id=number, attempt=9, repo="/r", branch="b", commit=f"{number:040d}", base="b", subject="s",
            label="exit_code", iterations=9,
        )  # fmt: skip
        history.store.state.record_commit(commit).result()
    text = advice(history)
    assert "1 commit of high risk unread: begin with that of task 59 (57 points, judged by an exit code" in text


def test_crashes_and_troubles_of_the_machine_are_told(second: History) -> None:
    for _ in range(3):
        second.tell(Kind.DAEMON_STARTED, "")
        second.clock.advance(60)
    for kind in (Kind.BACKUP_FAILED, Kind.DISK_LOW, Kind.NOTIFY_FAILED, Kind.DATABASE_RESTORED, Kind.REGRESSION):
        second.tell(kind, "")
    second.tell(Kind.BUDGET_REACHED, "", budget="day")
    text = advice(second)
    assert "The daemon ended unexpectedly 2 times" in text
    assert "1 backup failed" in text
    assert "1 time the disk was nearly full" in text
    assert "1 notice could not be sent" in text
    assert "1 restore of the database" in text
    assert "1 regression" in text
    assert "The budget of day was reached 1 time" in text
