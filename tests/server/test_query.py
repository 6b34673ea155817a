from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightshift.core.tasks.states import Status
from nightshift.server.lists.task_list import TasksQuery
from nightshift.server.log.log_query import DownloadQuery, LogsQuery
from nightshift.server.query import BadQuery, Query, read_query


def test_values_are_read_into_their_types() -> None:
    query = read_query(TasksQuery, "status=failed&limit=7&after=12")
    assert (query.status, query.limit, query.after) == (frozenset({Status.FAILED}), 7, 12)
    assert read_query(TasksQuery, "").limit == 50


def test_a_parameter_without_a_value_is_not_given() -> None:
    assert read_query(TasksQuery, "status=&limit=&after=") == read_query(TasksQuery, "")


def test_all_faults_are_told_together() -> None:
    with pytest.raises(BadQuery) as bad:
        read_query(LogsQuery, "level=loud&task=-1&nope=x")
    assert set(bad.value.fields) == {"level", "task", "nope"}
    assert "known are: after, level, task, " in bad.value.fields["nope"]


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    for model in (Query, TasksQuery, LogsQuery, DownloadQuery):
        with contextlib.suppress(BadQuery):
            assert isinstance(read_query(model, text), model)
