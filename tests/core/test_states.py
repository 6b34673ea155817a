"""The table of states: what may follow what."""

from hypothesis import given
from hypothesis import strategies as st

from core.states import ENDED, MOVES, OPEN, Status, may_move

statuses = st.sampled_from(Status)


def test_every_status_has_a_row() -> None:
    assert set(MOVES) == set(Status)
    assert set(Status) == OPEN | ENDED
    assert not OPEN & ENDED


def test_nothing_follows_done() -> None:
    assert not MOVES[Status.DONE]


def test_a_task_becomes_done_from_running_from_another_node_or_by_integrating_its_branch() -> None:
    assert [s for s in Status if may_move(s, Status.WAITING)] == [Status.RUNNING]
    assert {s for s in Status if may_move(s, Status.DONE)} == {
        Status.RUNNING,
        Status.SHARED,
        Status.FAILED,
        Status.CANCELLED,
    }


def test_only_a_queued_task_starts_to_run() -> None:
    assert [s for s in Status if may_move(s, Status.RUNNING)] == [Status.QUEUED]


@given(statuses)
def test_every_open_task_can_be_cancelled(status: Status) -> None:
    assert may_move(status, Status.CANCELLED) == (status in OPEN)


@given(statuses)
def test_from_every_status_but_done_the_queue_can_be_reached(start: Status) -> None:
    seen, edge = {start}, {start}
    while edge:
        edge = {end for status in edge for end in MOVES[status]} - seen
        seen |= edge
    assert Status.QUEUED in seen or start is Status.DONE
