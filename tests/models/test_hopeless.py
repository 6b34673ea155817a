"""A request that fails while all others are answered is given up; an outage never is."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from models.hopeless import ENOUGH, PAID, Hopeless


def test_failures_between_which_others_were_answered_end_it() -> None:
    hopeless = Hopeless()
    said = [hopeless.failed(7, answers, paid=False) for answers in range(ENOUGH)]
    assert said == [False] * (ENOUGH - 1) + [True]


def test_what_was_paid_for_ends_it_sooner() -> None:
    hopeless = Hopeless()
    said = [hopeless.failed(7, answers, paid=True) for answers in range(ENOUGH // PAID)]
    assert said == [False] * (ENOUGH // PAID - 1) + [True]


def test_a_reply_forgives_and_tasks_do_not_count_for_each_other() -> None:
    hopeless = Hopeless()
    for answers in range(ENOUGH - 1):
        assert not hopeless.failed(7, answers, paid=False)
        assert not hopeless.failed(8, answers, paid=False)
    hopeless.answered(7)
    hopeless.answered(None)
    assert not hopeless.failed(7, 100, paid=True)
    assert hopeless.failed(8, 100, paid=False)


@given(st.lists(st.tuples(st.integers(1, 5), st.booleans()), max_size=300))
def test_an_outage_of_any_length_ends_nothing(failures: list[tuple[int, bool]]) -> None:
    hopeless = Hopeless()
    assert not any(hopeless.failed(task_id, 12, paid=paid) for task_id, paid in failures)


def test_a_request_outside_a_task_never_counts_and_little_is_remembered() -> None:
    hopeless = Hopeless()
    assert not any(hopeless.failed(None, answers, paid=True) for answers in range(200))
    for task_id in range(3000):
        hopeless.failed(task_id, task_id, paid=True)
    assert len(hopeless._counts) <= 1000
