from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightshift.client.new_task import own_time
from nightshift.core.tasks.submission import parse_spec
from nightshift.queue.intake.tasks_file import read_tasks
from nightshift.server.log.log_query import LogsQuery
from nightshift.server.query import BadQuery, Query, moment, read_query
from nightshift.server.routes.tasks import TasksQuery


def test_all_faults_are_told_together() -> None:
    with pytest.raises(BadQuery) as bad:
        read_query(LogsQuery, "level=loud&task=-1&nope=x")
    assert set(bad.value.fields) == {"level", "task", "nope"}
    assert "known are: after, level, task, " in bad.value.fields["nope"]


@pytest.fixture
def new_york(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "America/New_York")
        time.tzset()
        yield
    time.tzset()


DOORS: dict[str, Callable[[str], datetime | None]] = {
    "API": lambda text: parse_spec({"description": "a", "not_before": text}).not_before,
    "tasks.yaml": lambda text: (
        read_tasks(f"tasks: [{{description: a, not_before: {text}}}]").entries[0].spec.not_before
    ),
    "command line": lambda text: datetime.fromisoformat(own_time("--not-before", text)),
    "list": lambda text: moment(read_query(TasksQuery, f"since={text.replace('+', '%2B')}").since),
    "log": lambda text: read_query(LogsQuery, f"at={text.replace('+', '%2B')}").at,
}


@pytest.mark.usefixtures("new_york")
@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2031-01-15 22:30", "2031-01-16T03:30+00:00"),
        ("2026-11-01 01:30", "2026-11-01T05:30+00:00"),
        ("2031-01-15 22:30+05:30", "2031-01-15T17:00+00:00"),
    ],
)
def test_a_time_without_a_zone_is_the_machines_own_by_every_door(door: str, text: str, expected: str) -> None:
    assert DOORS[door](text) == datetime.fromisoformat(expected)


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    for model in (Query, TasksQuery, LogsQuery):
        with contextlib.suppress(BadQuery):
            assert isinstance(read_query(model, text), model)
