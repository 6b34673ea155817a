"""The weekly report on a real database whose rows the test wrote."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from nightshift.core.clock import to_text
from nightshift.core.tasks.states import Ending, Status
from nightshift.report.advice import recommendations
from nightshift.report.model_figures import Cost
from nightshift.report.weekly import render, summarise, write_report
from nightshift.storage.db.database import Database
from tests.support.ready_database import ready

UNTIL = datetime(2026, 11, 22, 6, tzinfo=UTC)
SINCE = UNTIL - timedelta(days=7)
NOON = datetime(2026, 11, 18, 12, tzinfo=UTC)


class Week:
    """A database with the rows of one week."""

    def __init__(self, path: Path) -> None:
        self.db = Database(ready(path))

    def run(self, statement: str, *values: object) -> int:
        return self.db.write(lambda conn: conn.execute(statement, values).lastrowid or 0).result()

    def task(
        self,
        ending: Ending | None = Ending.COMMITTED,
        *,
        iterations: int = 1,
        attempt: int = 1,
        kind: str | None = None,
        text: str = "do it",
        created: datetime = NOON,
        wait_s: float = 10,
        work_s: float = 60,
    ) -> None:
        """Add one task; without an ending, the task stays in the queue."""
        task_id = self.run(
            "INSERT INTO tasks (status, priority, description, created_at) VALUES ('queued', 1, ?, ?)",
            text,
            to_text(created),
        )
        self.run("INSERT INTO task_specs (task_id, spec) VALUES (?, json_object('kind', ?))", task_id, kind)
        if ending is None:
            return
        status = Status.DONE if ending is Ending.COMMITTED else Status.FAILED
        started, ended = created + timedelta(seconds=wait_s), created + timedelta(seconds=wait_s + work_s)
        self.run("UPDATE tasks SET status = 'running', started_at = ? WHERE id = ?", to_text(started), task_id)
        self.run(
            "UPDATE tasks SET status = ?, ending = ?, iterations = ?, attempt = ?, ended_at = ? WHERE id = ?",
            *(status, ending, iterations, attempt, to_text(ended), task_id),
        )

    def call(
        self, backend: str, model: str, tokens: int, cost_usd: float | None, latency_s: float = 1, saved: str = ""
    ) -> None:
        self.run(
            "INSERT INTO model_stats (at, phase, backend, model, tokens_in, tokens_out, cost_usd, latency_s, saved) "
            "VALUES (?, 'CODING', ?, ?, ?, 1, ?, ?, ?)",
            *(to_text(NOON), backend, model, tokens, cost_usd, latency_s, saved),
        )

    def event(self, kind: str, data: str = "{}", at: datetime = NOON) -> None:
        self.run(
            "INSERT INTO execution_logs (at, level, kind, message, data) VALUES (?, 'INFO', ?, '', ?)",
            *(to_text(at), kind, data),
        )

    def commit(self, number: int, label: str, *, task_id: int = 1, model: str = "m") -> None:
        self.run(
            "INSERT INTO git_commits (at, task_id, attempt, repo, branch, commit_id, base, subject, label, model, "
            "iterations, integrated) VALUES (?, ?, 1, 'r', 'b', ?, 'x', 's', ?, ?, 1, ?)",
            *(to_text(NOON), task_id, str(number), label, model, number % 2),
        )

    def failure(self, signature: str, solved: int) -> None:
        self.run(
            "INSERT INTO failures (signature, error, solved, created_at, fixed_at) VALUES (?, '', ?, ?, ?)",
            *(signature, solved, to_text(NOON), to_text(NOON) if solved else None),
        )

    def advice(self) -> str:
        return "\n".join(recommendations(summarise(self.db, SINCE, UNTIL))).replace("`", "").replace("\\", "")


@pytest.fixture
def week(tmp_path: Path) -> Iterator[Week]:
    week = Week(tmp_path / "db.sqlite")
    yield week
    week.db.close()


def test_tasks_are_counted_by_ending(week: Week) -> None:
    week.task(kind="library")
    week.task(iterations=3, kind="library")
    week.task(attempt=2)
    week.task(Ending.STUCK, iterations=15, kind="library")
    week.task(None)
    tasks = summarise(week.db, SINCE, UNTIL).tasks
    assert (tasks.submitted, tasks.ended, tasks.open_at_end, tasks.first_try) == (5, 4, 1, 1)
    assert tasks.by_status == {Status.DONE: 3, Status.FAILED: 1}
    assert tasks.by_ending == {Ending.COMMITTED: 3, Ending.STUCK: 1}
    assert (tasks.iterations.median, tasks.iterations.most) == (2, 15)


@pytest.mark.parametrize(("end", "inside"), [(SINCE, True), (SINCE - timedelta(seconds=1), False), (UNTIL, False)])
def test_a_task_belongs_to_the_span_in_which_it_ended(week: Week, end: datetime, inside: bool) -> None:
    week.task(created=end - timedelta(seconds=70))
    assert summarise(week.db, SINCE, UNTIL).tasks.ended == inside


def test_models_are_summed_and_an_unknown_price_is_not_guessed(week: Week) -> None:
    week.call("openai", "big", 100, 0.5, latency_s=2)
    week.call("openai", "big", 200, 0.25, latency_s=4)
    week.call("ollama", "small", 300, None)
    small, big = summarise(week.db, SINCE, UNTIL).usage.models
    assert (big.calls, big.tokens_in, big.tokens_out, big.cost) == (2, 300, 2, Cost(usd=0.75, tokens=302))
    assert (big.latency_s.median, small.cost.unpriced_tokens, small.cost.is_known) == (3, 301, False)
    (row,) = [line for line in render(summarise(week.db, SINCE, UNTIL)).splitlines() if "`small`" in line]
    assert [cell.strip() for cell in row.split("|")[1:7]] == ["ollama", "`small`", "1", "300", "1", "\\$?"]


def test_what_the_engine_saved_and_solved_alone_is_counted_and_shown(week: Week) -> None:
    for _ in range(3):
        week.call("repair", "repair", 0, 0.0, saved="openai=big")
    week.call("repair", "repair", 0, 0.0)
    week.call("openai", "big", 100, 0.5)
    for number, model in enumerate(["repair", "repair", "repair, big", "big"]):
        week.commit(number, "tests_passed", task_id=max(1, number), model=model)
    summary = summarise(week.db, SINCE, UNTIL)
    engine = summary.usage.engine
    assert (engine.replies, engine.saved, engine.solved) == (5, 3, 1)
    page = render(summary)
    assert "saved 3 of 5 (60 %) of the replies and solved 1 task without any model" in page


def test_commits_failures_and_events_are_counted(week: Week) -> None:
    for number in range(4):
        week.commit(number, "verified" if number else "self_tested")
    for solved in (0, 1, 1):
        week.failure("KeyError: *", solved)
    week.failure("AssertionError", 0)
    week.event("conflict")
    week.event("conflict", at=UNTIL)
    summary = summarise(week.db, SINCE, UNTIL)
    assert (summary.commits.labels, summary.commits.total.integrated) == ({"verified": 3, "self_tested": 1}, 2)
    assert [(f.signature, f.count, f.solved) for f in summary.learning.patterns] == [
        ("KeyError: *", 3, 2),
        ("AssertionError", 1, 0),
    ]
    assert summary.events == {"conflict": 1}


def test_a_rerun_gives_the_same_bytes_and_leaves_nothing_else(week: Week, tmp_path: Path) -> None:
    week.task()
    week.call("openai", "big", 100, 0.5)
    folder = tmp_path / "reports"
    first = write_report(summarise(week.db, SINCE, UNTIL), folder)
    before = first.read_bytes()
    assert write_report(summarise(week.db, SINCE, UNTIL), folder) == first
    assert first.read_bytes() == before
    assert sorted(path.name for path in folder.iterdir()) == ["2026-W47.md"]


@pytest.mark.parametrize(
    ("ending", "mend"), [(Ending.TIMEOUT, "TASK_TIMEOUT"), (Ending.BUDGET, "budgets"), (Ending.STUCK, "stronger model")]
)
def test_many_failures_bring_advice_on_their_commonest_ending(week: Week, ending: Ending, mend: str) -> None:
    for _ in range(4):
        week.task()
    for _ in range(3):
        week.task(ending)
    assert week.advice().startswith("3 of 7 (43 %) of the tasks that ended have failed.")
    assert f"{ending} (3 tasks)" in week.advice()
    assert mend in week.advice()


def test_long_waits_suggest_more_workers(week: Week) -> None:
    for _ in range(5):
        week.task(wait_s=600, work_s=100)
    assert "Tasks waited 10 min for a worker and were worked on for 1 min 40 s" in week.advice()


def test_a_backend_that_fails_often_is_named(week: Week) -> None:
    for _ in range(20):
        week.call("openai", "big", 1, 0.1)
    for _ in range(5):
        week.event("model_failed", '{"backend": "openai"}')
    assert "Backend openai failed 5 of 25 calls" in week.advice()
