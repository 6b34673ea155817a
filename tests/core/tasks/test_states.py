"""The table of a task's states and the moves that it allows."""

from hypothesis import given
from hypothesis import strategies as st

from nightshift.core.tasks.states import MOVES, OPEN, Status, may_move

statuses = st.sampled_from(Status)


def test_only_a_running_task_waits_and_becomes_done_unless_another_node_has_it_or_its_owner_takes_it() -> None:
    assert [s for s in Status if may_move(s, Status.WAITING)] == [Status.RUNNING]
    by_owner = {Status.FAILED, Status.CANCELLED}
    assert {s for s in Status if may_move(s, Status.DONE)} == {Status.RUNNING, Status.SHARED} | by_owner


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
