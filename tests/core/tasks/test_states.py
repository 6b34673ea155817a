"""The table of a task's states and the moves that it allows."""

from hypothesis import given
from hypothesis import strategies as st

from nightshift.core.tasks.states import MOVES, Status


@given(st.sampled_from(Status))
def test_from_every_status_but_done_the_queue_can_be_reached(start: Status) -> None:
    seen, edge = {start}, {start}
    while edge:
        edge = {end for status in edge for end in MOVES[status]} - seen
        seen |= edge
    assert Status.QUEUED in seen or start is Status.DONE
