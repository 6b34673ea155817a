"""Meters: what was spent against what may be. Room is reserved before a call, so calls at once cannot overspend."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from core.allowance import Measure
from core.tasks import Spent
from models.policy import Price

LEAST_REPLY = 64
"""A reply shorter than this many tokens is worth nothing: then the budget counts as spent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """What a call is about to use: its prompt and the longest reply in tokens, and the price where it is known."""

    prompt: int
    reply: int
    price: Price | None = None

    def cost_usd(self, reply: int) -> float:
        """The most that it costs with a reply so long."""
        each = self.price
        return (self.prompt * each.input_per_million_usd + reply * each.output_per_million_usd) / 1e6 if each else 0.0

    def spent(self, reply: int) -> Spent:
        """The same as an amount."""
        return Spent(model_calls=1, tokens_in=self.prompt, tokens_out=reply, cost_usd=self.cost_usd(reply))


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortage:
    """Which limit has no room, how much too little is left for the call, and what to say of it."""

    measure: Measure
    short: float
    text: str


class Exhausted(Exception):
    """A meter has no room for the call; the text names limit, used and allowed."""

    def __init__(self, meter: Meter, shortage: Shortage) -> None:
        super().__init__(f"{meter.what}: {shortage.text}")
        self.meter, self.shortage = meter, shortage


class Meter:
    """One budget. Used from one event loop.

    Args:
        what: how the budget is called: “the task”, “today”.
        spent: what was used before.
        calls, tokens, cost_usd: the limits; None is unlimited.

    Attributes:
        told: whether the owner was told that it is used up; kept here for whoever tells.
    """

    what: str

    def __init__(
        self,
        what: str,
        spent: Spent,
        *,
        calls: int | None = None,
        tokens: int | None = None,
        cost_usd: float | None = None,
    ) -> None:
        self.what, self.spent = what, spent
        self.told = False
        self._held: list[Spent] = []
        self._settled = asyncio.Event()
        self.limit(calls=calls, tokens=tokens, cost_usd=cost_usd)

    def limit(self, *, calls: int | None = None, tokens: int | None = None, cost_usd: float | None = None) -> None:
        """Set the limits anew; what was spent and what is held stays, and who waits for room looks again."""
        self._calls, self._tokens, self._cost_usd = calls, tokens, cost_usd
        self.told = False
        self._let_others_look()

    @asynccontextmanager
    async def hold(self, need: Need) -> AsyncIterator[Need]:
        """Reserve room for a call; gives the need with its reply cut to what is allowed.

        While other calls hold the room that this one lacks, it waits for them to settle.

        Raises:
            Exhausted: there is no room even when all others have settled.
        """
        while (granted := self._room(need, sum(self._held, self.spent))) < need.reply and self._held:
            await self._settled.wait()
        if granted < min(need.reply, LEAST_REPLY):
            raise Exhausted(self, self._shortage(need))
        held = need.spent(granted)
        self._held.append(held)
        try:
            yield replace(need, reply=granted)
        finally:
            self._held.remove(held)
            self._let_others_look()

    def charge(self, spent: Spent) -> None:
        """Count what a call used in the end."""
        self.spent = self.spent + spent

    def _let_others_look(self) -> None:
        self._settled.set()
        self._settled = asyncio.Event()

    def _room(self, need: Need, used: Spent) -> int:
        """The longest reply that fits: `need.reply` or less, negative when not even the prompt does."""
        rooms = [need.reply]
        if self._calls is not None and used.model_calls >= self._calls:
            rooms.append(-1)
        if self._tokens is not None:
            rooms.append(self._tokens - used.tokens - need.prompt)
        if self._cost_usd is not None:
            rooms.append(self._for_money(need, self._cost_usd - used.cost_usd))
        return min(rooms)

    def _for_money(self, need: Need, left_usd: float) -> int:
        if left_usd <= 0 and not (need.price and need.cost_usd(need.reply) == 0):
            return -1
        each = need.price.output_per_million_usd if need.price else 0.0
        left_usd -= need.cost_usd(0)
        return need.reply if each == 0 and left_usd >= 0 else int(left_usd * 1e6 / each) if each else -1

    def _shortage(self, need: Need) -> Shortage:
        used, least = self.spent, min(need.reply, LEAST_REPLY)
        if self._calls is not None and used.model_calls >= self._calls:
            text = f"the limit of {self._calls} model calls is reached ({used.model_calls} used)"
            return Shortage(measure=Measure.MODEL_CALLS, short=used.model_calls + 1 - self._calls, text=text)
        if self._tokens is not None and (short := used.tokens + need.prompt + least - self._tokens) > 0:
            next_one = f"the next prompt has about {need.prompt}"
            text = f"the limit of {self._tokens} tokens is reached ({used.tokens} used, {next_one})"
            return Shortage(measure=Measure.TOKENS, short=short, text=text)
        each_usd = need.cost_usd(least)
        next_one = f"the next call costs at least {each_usd:.4f}"
        text = f"the limit of {self._cost_usd} USD is reached ({used.cost_usd:.4f} used, {next_one})"
        short_usd = used.cost_usd + each_usd - (self._cost_usd or 0.0)
        return Shortage(measure=Measure.COST_USD, short=max(0.0, short_usd), text=text)
