"""Token estimates for a model, learned from the counts that its backend reports."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from nightshift.core.dialogue import Completion, Message, ModelRequest
from nightshift.core.gauge import BYTES_PER_TOKEN, Gauge
from nightshift.core.tasks.states import Phase
from nightshift.models.token_estimates import LEAST_REPORTS, PLAUSIBLE, TokenEstimator, most_cautious

LONG = ModelRequest(phase=Phase.CODING, messages=(Message(role="user", text="x" * 4000),))


def report(tokens_in: int, **extra: bool) -> Completion:
    return Completion(text="", backend="b", model="m", tokens_in=tokens_in, extra=extra)


def learn(*counts: int) -> TokenEstimator:
    scale = TokenEstimator()
    for count in counts:
        scale.learn(LONG, report(count))
    return scale


def test_enough_reports_set_the_figure_right() -> None:
    assert learn(*[2004] * (LEAST_REPORTS - 1)).bytes_per_token == BYTES_PER_TOKEN
    assert learn(*[2004] * LEAST_REPORTS).bytes_per_token == 2.0
    assert learn(*[2004] * LEAST_REPORTS).tokens(LONG) == 2004


def test_reports_that_leave_the_cache_out_or_are_odd_do_not_make_prompts_longer() -> None:
    assert learn(2004, 604, 2004, 604, 2004).bytes_per_token == 2.0
    assert learn(*[2004] * 9, 2600).bytes_per_token == 2.0
    assert learn(5, 5, 5, 3_000_000, 3_000_000).bytes_per_token == BYTES_PER_TOKEN


def test_estimates_and_short_prompts_teach_nothing() -> None:
    scale = TokenEstimator()
    short = ModelRequest(phase=Phase.CODING, messages=(Message(role="user", text="x" * 400),))
    for _ in range(9):
        scale.learn(LONG, report(2004, estimated=True))
        scale.learn(short, report(204))
    assert scale.bytes_per_token == BYTES_PER_TOKEN


@given(st.lists(st.integers(-5, 10**9), max_size=60))
def test_whatever_is_reported_the_figure_stays_plausible(counts: list[int]) -> None:
    assert PLAUSIBLE[0] - 1e-9 <= learn(*counts).bytes_per_token <= PLAUSIBLE[1] + 1e-9


def test_for_several_models_what_holds_for_each_is_used() -> None:
    gauges = [Gauge(bytes_per_token=3.0), Gauge(bytes_per_token=2.0, window=8000), Gauge(window=4000)]
    assert most_cautious(gauges) == Gauge(bytes_per_token=2.0, window=4000)
    assert most_cautious([]) == Gauge()
