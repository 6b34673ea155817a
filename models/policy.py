"""How patient the door is, and what a call may cost: the values that `main` fills from the settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from core.dialogue import Completion


@dataclass(frozen=True, slots=True, kw_only=True)
class CallPolicy:
    """Patience with one backend.

    Attributes:
        first_text_s: how long the first sign of life may take; a model of the owner's own, which may load for minutes
            and read a long prompt for more, has all of `total_s` for it.
        gap_s: how long the stream may pause after that.
        total_s: how long a whole reply may take.
        tries: how often one backend is asked for one reply.
        backoff_s: the longest wait before the second try; it doubles with each further one, up to `backoff_max_s`,
            and the wait itself is drawn evenly from zero (“full jitter”: M. Brooker, AWS Architecture Blog, 2015).
        max_wait_s: a wait that the server asks for is kept up to this; a longer one sends the request elsewhere.
        breaker_failures: after so many failures in a row a backend is left alone for `breaker_s`, then for twice as
            long with each further failure, up to `breaker_max_s`.
        probe_s: how often `watch` looks which backends are there.
        probe_fresh_s: how long the answer “not there” holds before a call looks again.
        temperatures: by how often the loop was stuck, the last one from then on; None leaves it to the model.
        reply_tokens: the longest reply where the request names no limit.
        scout_s: how long the built-in engine may look before a model is asked; 0 asks it last only.
    """

    first_text_s: float = 300.0
    gap_s: float = 120.0
    total_s: float = 900.0
    tries: int = 3
    backoff_s: float = 1.0
    backoff_max_s: float = 30.0
    max_wait_s: float = 60.0
    breaker_failures: int = 5
    breaker_s: float = 15.0
    breaker_max_s: float = 900.0
    probe_s: float = 30.0
    probe_fresh_s: float = 5.0
    temperatures: tuple[float | None, ...] = (0.2, 0.8, 0.8, 1.0)
    reply_tokens: int = 8192
    scout_s: float = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Budgets:
    """What may be spent by one call, in one UTC day, and ever; None is unlimited. Tokens are prompt and reply."""

    call_tokens: int | None = None
    call_cost_usd: float | None = None
    day_tokens: int | None = None
    day_cost_usd: float | None = None
    total_tokens: int | None = None
    total_cost_usd: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What a model costs, in USD for a million tokens; None: tokens of the prompt cache cost like any others."""

    input_per_million_usd: float
    output_per_million_usd: float
    cached_per_million_usd: float | None = None
    cache_write_per_million_usd: float | None = None

    def of(self, completion: Completion) -> float:
        """What this reply costs, in USD."""
        read = int(completion.extra.get("cached_tokens", 0))
        written = int(completion.extra.get("cache_write_tokens", 0))
        plain = max(0, completion.tokens_in - read - written)
        each = self.input_per_million_usd
        prompt = (
            plain * each
            + read * (each if self.cached_per_million_usd is None else self.cached_per_million_usd)
            + written * (each if self.cache_write_per_million_usd is None else self.cache_write_per_million_usd)
        )
        return (prompt + completion.tokens_out * self.output_per_million_usd) / 1e6


FREE = Price(input_per_million_usd=0.0, output_per_million_usd=0.0)
"""A model that runs on the owner's machine."""


def price_of(prices: Mapping[str, Price], backend: str, model: str, *, free: bool) -> Price | None:
    """The price that the owner stated for `backend=model` or `model`; zero for a local one; None when it is not known.

    Nothing is looked up by resemblance: a wrong price is worse than none.
    """
    stated = prices.get(f"{backend}={model}") or prices.get(model)
    return stated or (FREE if free else None)
