"""Prices are applied as stated, cached tokens apart, and never guessed."""

from __future__ import annotations

import pytest

from core.dialogue import Completion
from models.policy import FREE, Price, price_of

STATED = Price(
    input_per_million_usd=3.0,
    output_per_million_usd=15.0,
    cached_per_million_usd=0.3,
    cache_write_per_million_usd=3.75,
)


def completion(**extra: int) -> Completion:
    return Completion(text="", backend="b", model="m", tokens_in=1_000_000, tokens_out=100_000, extra=extra)


def test_cached_tokens_have_their_own_price_where_it_is_stated() -> None:
    cached = completion(cached_tokens=600_000, cache_write_tokens=200_000)
    assert STATED.of(completion()) == pytest.approx(3.0 + 1.5)
    assert STATED.of(cached) == pytest.approx(0.2 * 3.0 + 0.6 * 0.3 + 0.2 * 3.75 + 1.5)
    assert Price(input_per_million_usd=3.0, output_per_million_usd=15.0).of(cached) == pytest.approx(4.5)


def test_a_price_is_stated_or_zero_for_a_local_model_or_unknown() -> None:
    prices = {"openai=m": STATED, "n": FREE}
    assert price_of(prices, "openai", "m", free=False) is STATED
    assert price_of(prices, "ollama", "n", free=False) is FREE
    assert price_of(prices, "other", "m", free=True) is FREE
    assert price_of(prices, "other", "m", free=False) is None
    assert price_of(prices, "openai", "m-mini", free=False) is None
