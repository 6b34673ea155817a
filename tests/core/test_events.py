"""Emitters: events with bound fields."""

from __future__ import annotations

from nightshift.core.events import CommitData, Emitter, Event, Kind, Level
from nightshift.core.tasks.states import Phase


def test_an_event_has_what_is_bound_and_what_it_is_given() -> None:
    heard: list[Event] = []
    events = Emitter(heard.append).bind(task_id=7, attempt=2, worker="worker-1")
    data = CommitData(commit="c" * 40, branch="agent/7-add")
    events.bind(phase=Phase.COMMIT, iteration=0).emit(Kind.COMMITTED, "it landed", level=Level.WARNING, **data)
    assert heard == [
        Event(
            kind=Kind.COMMITTED, level=Level.WARNING, message="it landed", task_id=7, attempt=2, iteration=0,
            phase=Phase.COMMIT, worker="worker-1", data=data,
        )
    ]  # fmt: skip
