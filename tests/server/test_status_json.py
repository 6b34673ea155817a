"""The daemon's status is stored as the API sends it, and is read back unchanged."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from nightshift.core.status import DaemonStatus, ExtraStatus, ModelStatus, SavedReplies, WorkerStatus
from nightshift.core.tasks.queueing import PauseReason
from nightshift.server.schemas import as_json
from nightshift.storage.db.codec import encode, from_json_value

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
def test_a_status_is_stored_as_it_is_sent_and_read_back_unchanged(status: DaemonStatus) -> None:
    sent = json.loads(as_json(status))
    assert json.loads(encode(status)) == sent
    assert from_json_value(DaemonStatus, sent) == status
