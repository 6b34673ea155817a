"""What a model is worth for a kind of task: how often it solves one, and what an attempt with it costs.

Rates are Beta posteriors. The prior of a model for one kind is what it did with the other kinds, worth a few attempts;
that itself begins at a half. Costs are means of what attempts used, begun with a guess that weighs as much as a few.
A price that nobody stated is no cost at all that could be compared: such a model is never called cheap.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from random import Random

from core.routing import ModelResult
from models.policy import Price

PRIOR_RATE = 0.5
"""Of a model of which nothing is known, either end is as likely."""
OVERALL_WEIGHT = 2.0
"""That half is worth two attempts: one solved, one not (Laplace's rule)."""
KIND_WEIGHT = 1.0
"""What a model did with other kinds is worth one attempt with this one: kinds differ, so they are told apart."""
SURE_Z, DOUBT_Z = 0.84, 1.64
"""A bound is passed with a chance of 80 %: a wrong guess costs one more model that is asked.

Below one, with 95 %: who is given up wrongly is not tried again for long."""
TOKENS_IN, TOKENS_OUT = 12_000, 3_000
"""What an attempt uses before any was measured: two tries with a prompt of some files and a reply of one or two."""
REMOTE_S, LOCAL_S = 60.0, 300.0
"""How long its replies take before that: a vendor writes 50 tokens in a second, a small machine reads and writes 10."""
COST_WEIGHT = 3.0
"""Guesses are worth three attempts, first these, then what others used: that varies less than whether one succeeds."""
USD_PER_HOUR = 0.05
"""What an hour of waiting costs: the power of a machine at work, 150 W. So a free model costs something, if little."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A model that can be asked; `price` is None where nobody stated it, `local` where it runs on the owner's machine.

    `there` tells whether it can be asked just now.
    """

    label: str
    price: Price | None = None
    local: bool = False
    there: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Worth:
    """A model's worth for one kind; `solved` of `count` attempts include the prior, so neither is a whole number.

    `attempt_usd` is what an attempt with it costs, waiting included; None where its price is not known. `began` and
    `really_solved` are what was measured.
    """

    label: str
    solved: float
    count: float
    attempt_usd: float | None
    began: int
    really_solved: int
    there: bool = True

    @property
    def rate(self) -> float:
        """The share of attempts that it will probably solve."""
        return self.solved / self.count

    @property
    def low(self) -> float:
        """It is rather surely no worse than this."""
        return _wilson(self.rate, self.count, -SURE_Z)

    @property
    def high(self) -> float:
        """It is rather surely no better than this."""
        return _wilson(self.rate, self.count, DOUBT_Z)

    def drawn(self, dice: Random) -> float:
        """A rate as it may be: drawn from what is known (Thompson 1933), so the unknown is drawn high at times."""
        return dice.betavariate(self.solved, self.count - self.solved)

    def usd_for_one(self, rate: float) -> float:
        """What a solved task costs at a rate; infinite where the price is not known."""
        return math.inf if self.attempt_usd is None else self.attempt_usd / max(rate, 1e-3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What an attempt uses."""

    tokens_in: float = TOKENS_IN
    tokens_out: float = TOKENS_OUT
    seconds: float = REMOTE_S

    def seen(self, result: ModelResult) -> Usage:
        """The same after more attempts were measured."""
        known, weight = result.began, COST_WEIGHT

        def mean(guess: float, total: float) -> float:
            return (total + weight * guess) / (known + weight)

        return Usage(
            tokens_in=mean(self.tokens_in, result.tokens_in),
            tokens_out=mean(self.tokens_out, result.tokens_out),
            seconds=mean(self.seconds, result.seconds),
        )

    def usd(self, price: Price) -> float:
        """What that costs at a price, waiting included; cached tokens at the full one."""
        read, written = self.tokens_in * price.input_per_million_usd, self.tokens_out * price.output_per_million_usd
        return (read + written) / 1e6 + self.seconds * USD_PER_HOUR / 3600


def usual_usage(results: Mapping[Candidate, ModelResult], *, local: bool) -> Usage:
    """What is expected of a model that was not measured: as many tokens as others used, and the time of its like."""
    alike = Usage(seconds=LOCAL_S if local else REMOTE_S).seen(
        sum((result for candidate, result in results.items() if candidate.local is local), ModelResult())
    )
    return replace(Usage().seen(sum(results.values(), ModelResult())), seconds=alike.seconds)


def worth_of(candidate: Candidate, here: ModelResult, elsewhere: Iterable[ModelResult], usual: Usage) -> Worth:
    """The worth of a model.

    Args:
        candidate: the model.
        here: what it did with this kind of task.
        elsewhere: what it did with each of the others.
        usual: what is expected of it before it is measured.
    """
    others = sum(elsewhere, ModelResult())
    prior = (others.solved + OVERALL_WEIGHT * PRIOR_RATE) / (others.began + OVERALL_WEIGHT)
    price = candidate.price
    return Worth(
        label=candidate.label,
        solved=here.solved + KIND_WEIGHT * prior,
        count=here.began + KIND_WEIGHT,
        # What a model of unknown price would cost is not guessed from others'.
        attempt_usd=None if price is None else usual.seen(here).usd(price),
        began=here.began,
        really_solved=here.solved,
        there=candidate.there,
    )


def _wilson(rate: float, count: float, z: float) -> float:
    """A bound of the Wilson score interval (E. Wilson, JASA 22, 1927)."""
    middle = rate + z * z / (2 * count)
    half = z * math.sqrt(rate * (1 - rate) / count + z * z / (4 * count * count))
    return min(1.0, max(0.0, (middle + half) / (1 + z * z / count)))
