"""Budgets and prices. There are limits for one call, one task, one UTC day and all time.

Each call reserves room in every budget before it is made, so concurrent calls cannot overspend.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Protocol

from nightshift.core.clock import Clock
from nightshift.core.dialogue import Completion
from nightshift.core.errors import BudgetSpent, Interruption, NeedsSettings, Parked
from nightshift.core.program import format_command
from nightshift.core.status import SpentBudget
from nightshift.core.tasks.allowance import Measure
from nightshift.core.tasks.states import Ending
from nightshift.core.tasks.task import Limits, Spent
from nightshift.core.text.formats import money

UNLIMITED = Limits()


@dataclass(frozen=True, slots=True, kw_only=True)
class SpendingLimits:
    """Limits for one call, for one UTC day, and for all time.

    Only the fields `tokens` (prompt and reply together) and `cost_usd` of these limits are enforced.
    """

    call: Limits = UNLIMITED
    day: Limits = UNLIMITED
    total: Limits = UNLIMITED


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """The price of a model, in USD per million tokens.

    If a price for the prompt cache is None, tokens of the cache cost as much as other input tokens.
    """

    input_per_million_usd: float
    output_per_million_usd: float
    cached_per_million_usd: float | None = None
    cache_write_per_million_usd: float | None = None

    def of(self, completion: Completion) -> float:
        """Return the cost of a reply, in USD."""
        read = int(completion.extra.get("cached_tokens", 0))
        written = int(completion.extra.get("cache_write_tokens", 0))
        usual = self.input_per_million_usd
        parts = (
            (max(0, completion.tokens_in - read - written), usual),
            (read, usual if self.cached_per_million_usd is None else self.cached_per_million_usd),
            (written, usual if self.cache_write_per_million_usd is None else self.cache_write_per_million_usd),
            (completion.tokens_out, self.output_per_million_usd),
        )
        return sum(tokens * price for tokens, price in parts) / 1e6


FREE = Price(input_per_million_usd=0.0, output_per_million_usd=0.0)
"""The price of a model that runs on the owner's machine."""


def price_of(prices: Mapping[str, Price], backend: str, model: str, *, free: bool) -> Price | None:
    """Return the owner's price for a model, zero for a local model without a price, or None if no price is known.

    The owner's prices are stated for `backend=model` or `model`. Names must match exactly, because a wrong price is
    worse than none.
    """
    stated = prices.get(f"{backend}={model}") or prices.get(model)
    return stated or (FREE if free else None)


LEAST_REPLY = 64
"""Minimum length of a reply in tokens. A shorter reply is useless, so a budget with less room counts as exhausted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallEstimate:
    """The estimated need of a call.

    Attributes:
        prompt: length of the prompt in tokens.
        reply: length of the longest reply in tokens.
        price: the model's price; None if it is not known.
    """

    prompt: int
    reply: int
    price: Price | None = None

    def cost_usd(self, reply: int) -> float:
        """Return the maximum cost of the call in USD, with a reply of this many tokens."""
        each = self.price
        return (self.prompt * each.input_per_million_usd + reply * each.output_per_million_usd) / 1e6 if each else 0.0

    def as_spent(self, reply: int) -> Spent:
        """Return the estimate as an amount spent, for a reply of this many tokens."""
        return Spent(model_calls=1, tokens_in=self.prompt, tokens_out=reply, cost_usd=self.cost_usd(reply))


class BudgetExhausted(Exception):
    """A budget has no room for the call; the text names the limit and the amount used.

    Attributes:
        budget: the budget.
        measure: the quantity that is limited.
        short: the amount that is missing for the call.
    """

    def __init__(self, budget: Budget, measure: Measure, short: float, text: str) -> None:
        super().__init__(f"{budget.what}: the limit of {text}")
        self.budget, self.measure, self.short = budget, measure, short


class Budget:
    """One budget. Must be used from one event loop.

    Args:
        what: the budget's name in texts, such as “task 7” or “today”.
        spent: the amount that was used before.
        limits: the limits, of which `model_calls`, `tokens` and `cost_usd` are enforced; None is unlimited.

    Attributes:
        reported: True if an event has reported that the budget is used up. Set by the code that emits the event.
    """

    def __init__(self, what: str, spent: Spent, limits: Limits = UNLIMITED) -> None:
        self.what, self.spent = what, spent
        self._reserved: list[Spent] = []
        self._is_settled = asyncio.Event()
        self.limit(limits)

    def limit(self, limits: Limits) -> None:
        """Replace the limits. Spent and reserved amounts stay, and calls that wait for room check again."""
        self._limits, self.reported = limits, False
        self._wake_waiting()

    @property
    def is_limited(self) -> bool:
        """True if tokens or cost are limited."""
        return self._limits.tokens is not None or self._limits.cost_usd is not None

    @asynccontextmanager
    async def reserve(self, need: CallEstimate) -> AsyncIterator[CallEstimate]:
        """Reserve room for a call, and yield the need with its reply shortened to the room that is left.

        If other calls have reserved the missing room, wait until they settle.

        Raises:
            BudgetExhausted: there is no room even after all other calls have settled.
        """
        while (granted := self._longest_reply(need)) < need.reply and self._reserved:
            await self._is_settled.wait()
        if granted < min(need.reply, LEAST_REPLY):
            raise self._make_refusal(need)
        reserved = need.as_spent(granted)
        self._reserved.append(reserved)
        try:
            yield replace(need, reply=granted)
        finally:
            self._reserved.remove(reserved)
            self._wake_waiting()

    def charge(self, spent: Spent) -> None:
        """Add the amount that a call actually used."""
        self.spent = self.spent + spent

    def _wake_waiting(self) -> None:
        self._is_settled.set()
        self._is_settled = asyncio.Event()

    def _longest_reply(self, need: CallEstimate) -> int:
        """Return the longest reply that fits the budget, at most `need.reply`; negative if the prompt does not fit."""
        return min([need.reply, *self._room(need, sum(self._reserved, self.spent)).values()])

    def _room(self, need: CallEstimate, used: Spent) -> dict[Measure, int]:
        """Return the longest reply that each limit leaves room for.

        The number is negative if not even the prompt fits.
        """
        limits, room = self._limits, dict[Measure, int]()
        if limits.model_calls is not None:
            room[Measure.MODEL_CALLS] = need.reply if used.model_calls < limits.model_calls else -1
        if limits.tokens is not None:
            room[Measure.TOKENS] = limits.tokens - used.tokens - need.prompt
        if limits.cost_usd is not None:
            room[Measure.COST_USD] = self._for_money(need, limits.cost_usd - used.cost_usd)
        return room

    def _for_money(self, need: CallEstimate, left_usd: float) -> int:
        if left_usd <= 0 and not (need.price and need.cost_usd(need.reply) == 0):
            return -1
        each = need.price.output_per_million_usd if need.price else 0.0
        left_usd -= need.cost_usd(0)
        return need.reply if each == 0 and left_usd >= 0 else int(left_usd * 1e6 / each) if each else -1

    def _make_refusal(self, need: CallEstimate) -> BudgetExhausted:
        used, limits, least = self.spent, self._limits, min(need.reply, LEAST_REPLY)
        measure = next(measure for measure, reply in self._room(need, used).items() if reply < least)
        if measure is Measure.MODEL_CALLS:
            short: float = used.model_calls + 1 - (limits.model_calls or 0)
            text = f"{limits.model_calls} model calls is reached ({used.model_calls} used)"
        elif measure is Measure.TOKENS:
            short = used.tokens + need.prompt + least - (limits.tokens or 0)
            next_call = f"the next prompt has about {need.prompt:,}"
            text = f"{limits.tokens:,} tokens is reached ({used.tokens:,} used, {next_call})"
        else:
            limit_usd, call_usd = limits.cost_usd or 0.0, need.cost_usd(least)
            short = max(0.0, used.cost_usd + call_usd - limit_usd)
            next_call = f"the next call costs at least {money(call_usd)}"
            text = f"{money(limit_usd)} is reached ({money(used.cost_usd)} used, {next_call})"
        return BudgetExhausted(self, measure, short, text)


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedRoom:
    """The answer of a shared budget to a request for room. Several machines share the budget.

    Attributes:
        reservation: id to settle when the call has ended; None if there is nothing to settle.
        lacks: the limit without room, `day` or `total`; empty if there is room.
        left_tokens: tokens left within that limit; None is unlimited.
        left_cost_usd: USD left within that limit; None is unlimited.
        may_grow: True if running calls may still return some of their reserved room.
        away: the reason why the budget cannot be reached now; empty if the budget answered.
    """

    reservation: int | None = None
    lacks: str = ""
    left_tokens: int | None = None
    left_cost_usd: float | None = None
    may_grow: bool = False
    away: str = ""


class SharedBudget(Protocol):
    """A budget that several machines share."""

    async def reserve(self, tokens: int, cost_usd: float) -> SharedRoom:
        """Reserve room for a call. If there is not enough room, report how much is left."""

    async def settle(self, reservation: int, spent: Spent) -> None:
        """Replace a reservation with the amount that the call used."""


Charge = Callable[[Completion], None]
"""Charges all budgets with the amount that a call used."""
SpentSince = Callable[[datetime | None], Spent]
"""Returns the amount that was spent since the given time (None: in total), according to the database."""

_ONE_CALL = "one call"
_TODAY = "today"
_ALL_NODES = {"day": "all nodes today", "total": "all nodes, all time"}
_AGAIN_S = 30.0
"""Seconds until a task that waits for room in the shared budget tries again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """The room that is reserved for one call.

    Attributes:
        reply: length of the longest reply in tokens; None is unlimited.
        charge: charges a reply to all budgets.
        cut_at: number of tokens after which the stream is cut off; None for no cut.
    """

    reply: int | None
    charge: Charge
    cut_at: int | None = None


class BudgetLedger:
    """The budgets that apply to every call, across all tasks. Must be used from one event loop.

    Args:
        budgets: the limits.
        clock: returns the current time. If the clock is set back, a day can begin twice, so `spent_since` is called
            again for each new day.
        spent_since: returns the amount that was spent since a time, or in total.
    """

    def __init__(self, budgets: SpendingLimits, clock: Clock, spent_since: SpentSince) -> None:
        self._limits, self._clock, self._spent_since = budgets, clock, spent_since
        self._day = self._date()
        self.shared: SharedBudget | None = None
        self._over: SpentBudget | None = None
        self._today = self._new_day()
        self._total = Budget("all time", spent_since(None), budgets.total)

    def set_limits(self, budgets: SpendingLimits) -> None:
        """Replace the limits; spent amounts stay."""
        self._limits, self._over = budgets, None
        self._todays_budget().limit(budgets.day)
        self._total.limit(budgets.total)

    def for_task(self, task_id: int | None, limits: Limits, spent: Spent) -> Budget:
        """Create the budget for a task's own limits."""
        return Budget("outside a task" if task_id is None else f"task {task_id}", spent, limits)

    @asynccontextmanager
    async def reserve(self, task: Budget, need: CallEstimate) -> AsyncIterator[Reservation]:
        """Reserve room for a call in all budgets.

        Raises:
            BudgetExhausted: one of the budgets has no room.
        """
        one_call = Budget(_ONE_CALL, Spent(), self._limits.call)

        def charge(completion: Completion) -> None:
            # Today's budget is looked up again, since a call may end on another day than it began.
            for budget in (one_call, task, self._todays_budget(), self._total):
                budget.charge(completion.spent)

        charge_all: Charge = charge
        budgets = (one_call, task, self._todays_budget(), self._total)
        async with AsyncExitStack() as stack:
            for budget in budgets:
                need = await stack.enter_async_context(budget.reserve(need))
            if self.shared:
                shared_room = self._reserve_shared(self.shared, need, charge)
                need, charge_all = await stack.enter_async_context(shared_room)
            self._over = None
            is_limited = self.shared or any(each.is_limited for each in budgets)
            # If no budget limits tokens or cost, a reply may be longer than requested, for example because the model's
            # tokenizer counts differently.
            yield Reservation(reply=need.reply, charge=charge_all, cut_at=need.reply if is_limited else need.reply * 2)

    @asynccontextmanager
    async def _reserve_shared(
        self, shared: SharedBudget, need: CallEstimate, charge: Charge
    ) -> AsyncIterator[tuple[CallEstimate, Charge]]:
        """Reserve room in the budget that several machines share.

        If the room is smaller than the need, the reply is shortened to fit, as with local budgets.
        """
        used = Spent()

        def charge_both(completion: Completion) -> None:
            nonlocal used
            used = used + completion.spent
            charge(completion)

        while (room := await shared.reserve(need.as_spent(need.reply).tokens, need.cost_usd(need.reply))).lacks:
            limits = Limits(tokens=room.left_tokens, cost_usd=room.left_cost_usd)
            left = Budget(_ALL_NODES[room.lacks], Spent(), limits)
            try:
                async with left.reserve(need) as smaller:
                    # The shortage may be less than one token; without the -1 the same need would be refused again.
                    need = replace(need, reply=min(smaller.reply, need.reply - 1))
            except BudgetExhausted as over:
                raise self._waits(over) if room.may_grow else over from None
        if room.away:
            until = self._clock() + timedelta(seconds=_AGAIN_S)
            raise Parked(f"the budget that all nodes share cannot be read: {room.away}", until)
        try:
            yield need, charge_both
        finally:
            if room.reservation is not None:
                await asyncio.shield(shared.settle(room.reservation, used))

    def _waits(self, over: BudgetExhausted) -> Parked:
        return Parked(
            f"{over}; other nodes may return a part of what they reserved", self._clock() + timedelta(seconds=_AGAIN_S)
        )

    def interruption(self, cause: BudgetExhausted) -> Interruption:
        """Return the exception for a task whose call found a budget exhausted.

        The exception either ends the task, or says until when the task waits.
        """
        if cause.budget.what == _TODAY:
            is_past = cause.budget is not self._today  # the day has ended meanwhile
            until = self._clock() if is_past else _midnight(self._day + timedelta(days=1))
            self._over = SpentBudget(reason=str(cause), until=until)
            return Parked(
                f"{cause}; the task continues after midnight UTC, or when you raise DAY_TOKENS or DAY_COST_USD", until
            )
        if cause.budget is self._total:
            self._over = SpentBudget(reason=str(cause))
            return NeedsSettings(
                f"{cause}; the task continues when you raise TOTAL_TOKENS or TOTAL_COST_USD", Ending.BUDGET
            )
        if cause.budget.what in _ALL_NODES.values():
            day_ends = _midnight(self._date() + timedelta(days=1)) if cause.budget.what == _ALL_NODES["day"] else None
            self._over = SpentBudget(reason=str(cause), until=day_ends)
            again = day_ends or self._clock() + timedelta(hours=1)
            return Parked(
                f"{cause}; the task continues when you raise the hub's budget ({format_command('hub budget')})", again
            )
        if cause.budget.what == _ONE_CALL:
            return NeedsSettings(
                f"{cause}; the task continues when you raise CALL_TOKENS or CALL_COST_USD", Ending.BUDGET
            )
        return BudgetSpent(str(cause), measure=cause.measure, short=cause.short)

    def find_spent(self) -> SpentBudget | None:
        """Return the daily or total budget if it had no room for the last call, or None.

        An exhausted daily budget is returned only until the day is over.
        """
        over = self._over
        return over if over and (over.until is None or self._clock() < over.until) else None

    def _todays_budget(self) -> Budget:
        if (day := self._date()) != self._day:
            self._day = day
            self._today = self._new_day()
        return self._today

    def _new_day(self) -> Budget:
        return Budget(_TODAY, self._spent_since(_midnight(self._day)), self._limits.day)

    def _date(self) -> date:
        return self._clock().astimezone(UTC).date()


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)
