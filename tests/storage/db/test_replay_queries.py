"""A replay reads what is in its span alone, however long the log has grown."""

from __future__ import annotations

from pathlib import Path

import pytest

from nightshift.storage.db.database import Database

SPAN = "ended_at >= '2026' AND ended_at < '2027'"
STEPS = "SELECT task_id, attempt, step_no, iteration, phase, outcome, started_at, ended_at, passed, failed FROM steps"
CLAIMS = "SELECT task_id, at, worker FROM execution_logs WHERE kind = 'task_claimed' AND task_id IN (1, 2)"


@pytest.mark.parametrize(
    ("query", "index"),
    [
        (f"{STEPS} INDEXED BY steps_when WHERE {SPAN} ORDER BY ended_at DESC LIMIT 9", "steps_when"),
        (f"{CLAIMS} ORDER BY task_id, at", "execution_logs_claims"),
    ],
)
def test_each_question_is_answered_by_an_index_alone(tmp_path: Path, query: str, index: str) -> None:
    with Database(tmp_path / "db.sqlite") as database:
        plan = [row["detail"] for row in database.reader().execute(f"EXPLAIN QUERY PLAN {query}")]
    assert len(plan) == 1, plan
    assert f"USING COVERING INDEX {index}" in plan[0]
