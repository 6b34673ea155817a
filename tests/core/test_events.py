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


def test_binding_makes_a_copy_and_leaves_the_first_as_it_was() -> None:
    heard: list[Event] = []
    first = Emitter(heard.append, task_id=1)
    second = first.bind(task_id=2)
    first.emit(Kind.STUCK)
    second.emit(Kind.STUCK)
    assert [event.task_id for event in heard] == [1, 2]


def test_an_event_that_was_made_elsewhere_keeps_what_it_says_itself() -> None:
    heard: list[Event] = []
    Emitter(heard.append, task_id=1, attempt=3, phase=Phase.CODING)(Event(kind=Kind.REMARK, attempt=1))
    assert heard == [Event(kind=Kind.REMARK, task_id=1, attempt=1, phase=Phase.CODING)]
