"""The fast reader of stored values gives the same result as pydantic, and rejects invalid data."""

from __future__ import annotations

import json
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightshift.core.status import DaemonStatus, ExtraStatus, ModelStatus, SavedReplies, WorkerStatus
from nightshift.core.tasks.queueing import PauseReason
from nightshift.core.text.plain_data import from_plain
from nightshift.server.schemas import adapter, as_json
from nightshift.storage.db.codec import encode

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=10)
TIMES = st.datetimes(min_value=datetime(1990, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001  # a bound
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)


def each(kind: type) -> st.SearchStrategy[Any]:
    return st.lists(st.builds(kind), max_size=2).map(tuple)


st.register_type_strategy(str, TEXTS)
st.register_type_strategy(datetime, TIMES)
st.register_type_strategy(float, NUMBERS)
STATUSES = st.builds(
    DaemonStatus,
    workers=each(WorkerStatus),
    models=each(ModelStatus),
    holds=each(PauseReason),
    extras=each(ExtraStatus),
    saved=st.builds(SavedReplies),
    next_checkpoint_at=st.none() | TIMES,
)


@given(STATUSES)
def test_a_status_reads_as_pydantic_reads_it_and_is_written_as_pydantic_writes_it(status: DaemonStatus) -> None:
    sent = as_json(status)
    assert json.loads(encode(status)) == json.loads(sent)
    assert from_plain(DaemonStatus, json.loads(sent)) == adapter(DaemonStatus).validate_json(sent) == status


SMALLEST = {"state": "running", "uptime_s": 1, "version": "1"}


def test_what_is_not_given_is_the_default_and_what_is_unknown_is_passed_over() -> None:
    status = from_plain(DaemonStatus, {**SMALLEST, "of a newer version": [1]})
    assert status == DaemonStatus(state=status.state, uptime_s=1.0, version="1")
    assert {each.name for each in fields(status)} >= SMALLEST.keys()


@pytest.mark.parametrize(
    "wrong",
    [
        None, "running", {}, {**SMALLEST, "state": "asleep"}, {**SMALLEST, "uptime_s": "1"},
        {**SMALLEST, "uptime_s": True}, {**SMALLEST, "pid": True}, {**SMALLEST, "version": None},
        {**SMALLEST, "version": 1}, {**SMALLEST, "workers": [1]}, {**SMALLEST, "queue": []},
        {**SMALLEST, "queue": {"lost": 1}}, {**SMALLEST, "notices": "none"},
        {**SMALLEST, "next_checkpoint_at": "soon"}, {**SMALLEST, "saved": None},
    ],
)  # fmt: skip
def test_what_has_another_shape_is_refused(wrong: object) -> None:
    with pytest.raises(ValueError, match=r"."):
        from_plain(DaemonStatus, wrong)
