"""A task's allowance is its limits plus the owner's grants, no matter how often or in what order grants are read."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from nightshift.core.tasks.allowance import Measure, ask_for_more, raise_limits
from nightshift.core.tasks.task import Limits, Spent

NOTHING = Spent()


@given(
    st.sampled_from([Measure.TOKENS, Measure.MODEL_CALLS]),
    st.integers(1, 10**6),
    st.integers(0, 10**7),
    st.lists(st.integers(1, 10**7), min_size=1, max_size=6),
)
def test_grants_add_up_in_any_order_and_the_next_question_is_always_a_new_one(
    measure: Measure, own: int, before_used: int, shorts: list[int]
) -> None:
    limits = Limits(**{measure.value: own})
    before = Spent(tokens_in=before_used, model_calls=before_used)
    granted: list[str] = []
    expected = own
    for short in shorts:
        ask = ask_for_more(measure, 1, limits, before, NOTHING, granted, short)
        assert ask
        assert ask.subject not in granted
        granted.append(ask.subject)
        expected += own * max(1, -(-short // own))
        for read in (granted, granted[::-1], granted * 2):
            assert getattr(raise_limits(limits, before, read), measure) == expected


def test_a_retry_begins_at_the_full_limit_whatever_was_granted_before_it() -> None:
    limits = Limits(tokens=1000)
    granted = ("budget:tokens:2000", "budget:tokens:3000")
    at_retry = Spent(tokens_in=2950)
    assert raise_limits(limits, at_retry, granted).tokens == 1000
    ask = ask_for_more(Measure.TOKENS, 1, limits, at_retry, Spent(tokens_in=990), granted, 100)
    assert ask
    assert ask.subject == "budget:tokens:4950"
