"""Budgets are exact even with many concurrent calls.

Each budget says what a waiting call waits for. Unknown prices are not guessed.
"""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nightshift.core.dialogue import Completion
from nightshift.core.errors import BudgetSpent, Parked
from nightshift.core.tasks.task import Limits, Spent
from nightshift.models.budgets import (
    FREE,
    LEAST_REPLY,
    Budget,
    BudgetExhausted,
    BudgetLedger,
    CallEstimate,
    Price,
    SpendingLimits,
    price_of,
)
from tests.support import tiers
from tests.support.gateway import ManualClock

STATED = Price(
    input_per_million_usd=3.0, output_per_million_usd=15.0, cached_per_million_usd=0.3, cache_write_per_million_usd=3.75
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


DEAR = Price(input_per_million_usd=1.0, output_per_million_usd=10.0)


def need(prompt: int = 100, reply: int = 1000, price: Price | None = None) -> CallEstimate:
    return CallEstimate(prompt=prompt, reply=reply, price=price)


async def grant(budget: Budget, wanted: CallEstimate) -> int:
    async with budget.reserve(wanted) as room:
        return room.reply


async def test_a_reply_is_cut_to_what_is_left_and_refused_when_that_is_too_little() -> None:
    spent = Spent(tokens_in=500)
    assert await grant(Budget("x", spent, Limits(tokens=2000)), need()) == 1000
    assert await grant(Budget("x", spent, Limits(tokens=1000)), need()) == 400
    assert await grant(Budget("x", spent, Limits(tokens=600 + LEAST_REPLY)), need()) == LEAST_REPLY
    with pytest.raises(BudgetExhausted, match=r"x: the limit of 663 tokens is reached \(500 used"):
        await grant(Budget("x", spent, Limits(tokens=599 + LEAST_REPLY)), need())
    assert await grant(Budget("x", spent, Limits(tokens=605)), need(reply=5)) == 5, "it needs no more than itself"


async def test_money_counts_prompt_and_reply_at_their_prices() -> None:
    spent = Spent(cost_usd=1.0)
    assert await grant(Budget("x", spent, Limits(cost_usd=1.0051)), need(price=DEAR)) == 500
    with pytest.raises(BudgetExhausted, match=r"\$1\.00 is reached \(\$1\.00 used"):
        await grant(Budget("x", spent, Limits(cost_usd=1.0)), need(price=DEAR))
    assert await grant(Budget("x", spent, Limits(cost_usd=1.0)), need(price=FREE)) == 1000, "what is free may go on"
    with pytest.raises(BudgetExhausted):
        await grant(Budget("x", spent, Limits(cost_usd=1.0)), need(price=None))
    assert await grant(Budget("x", spent, Limits(cost_usd=1.1)), need(price=None)) == 1000


async def test_money_and_calls_are_reserved_too() -> None:
    money = Budget("x", Spent(), Limits(cost_usd=0.0151))
    async with money.reserve(need(price=DEAR)) as room:
        assert room.reply == 1000
        waiting = asyncio.create_task(grant(money, need(price=DEAR)))
        await asyncio.sleep(0.01)
        assert not waiting.done(), "what the first call may still cost is not free"
        money.charge(Spent(cost_usd=0.0101))
    assert await waiting == 490
    calls = Budget("x", Spent(model_calls=1), Limits(model_calls=2))
    async with calls.reserve(need()):
        waiting = asyncio.create_task(grant(calls, need()))
        await asyncio.sleep(0.01)
        assert not waiting.done()
        calls.charge(Spent(model_calls=1))
    with pytest.raises(BudgetExhausted, match=r"the limit of 2 model calls is reached \(2 used\)"):
        await waiting


NOON = datetime(2026, 3, 31, 12, tzinfo=UTC)
PRICE = Price(input_per_million_usd=1.0, output_per_million_usd=10.0)


@dataclass
class SpendingRecord:
    """The amounts that were charged to a budget over time."""

    clock: ManualClock
    rows: list[tuple[datetime, Spent]] = field(default_factory=list)

    def __call__(self, since: datetime | None) -> Spent:
        return sum((spent for at, spent in self.rows if since is None or at >= since), Spent())


@dataclass(frozen=True)
class Asked:
    """A call to a model: its task, its prompt length, its maximum reply length, and whether its price is known."""

    task: int
    prompt: int
    reply: int
    priced: bool


calls = st.lists(
    st.builds(Asked, st.integers(1, 3), st.integers(1, 400), st.integers(LEAST_REPLY, 900), st.booleans()), max_size=14
)
limit = st.none() | st.integers(200, 4000)
usd = st.none() | st.floats(0.0005, 0.03)


def above(used: float, allowed: float | None) -> bool:
    return allowed is not None and used > allowed + 1e-9


@given(calls, limit, limit, limit, limit, usd, usd, st.randoms())
@settings(max_examples=tiers.examples(60), deadline=None)
def test_no_mix_of_calls_spends_more_than_any_budget(
    asked: list[Asked],
    of_call: int | None,
    of_task: int | None,
    of_day: int | None,
    of_all: int | None,
    usd_of_day: float | None,
    usd_of_task: float | None,
    dice: random.Random,
) -> None:
    day = Limits(tokens=of_day, cost_usd=usd_of_day)
    budgets = SpendingLimits(call=Limits(tokens=of_call), day=day, total=Limits(tokens=of_all))
    record = SpendingRecord(ManualClock(NOON))
    ledger = BudgetLedger(budgets, record.clock, record)
    limits = Limits(tokens=of_task, cost_usd=usd_of_task)
    budget_of = {task: ledger.for_task(task, limits, Spent()) for task in (1, 2, 3)}
    biggest, refused = [0], list[Exception]()

    async def make_call(call: Asked) -> None:
        need = CallEstimate(prompt=call.prompt, reply=call.reply, price=PRICE if call.priced else None)
        try:
            async with ledger.reserve(budget_of[call.task], need) as room:
                await asyncio.sleep(dice.choice([0, 0, 0.0001]))
                reply = Completion(
                    text="", backend="b", model="m", tokens_in=call.prompt, tokens_out=dice.randint(0, room.reply or 0)
                )
                room.charge(reply if not call.priced else _at(PRICE, reply))
                biggest[0] = max(biggest[0], reply.spent.tokens)
        except BudgetExhausted as error:
            refused.append(ledger.interruption(error))

    async def all_of_them() -> None:
        await asyncio.wait_for(asyncio.gather(*map(make_call, asked)), 30)

    asyncio.run(all_of_them())
    today, ever = ledger._todays_budget().spent, ledger._total.spent
    assert all(isinstance(why, Parked | BudgetSpent) for why in refused)
    assert not above(biggest[0], of_call)
    assert not any(above(each.spent.tokens, of_task) for each in budget_of.values())
    assert not above(today.tokens, of_day)
    assert not above(ever.tokens, of_all)
    if all(call.priced for call in asked):
        assert not above(today.cost_usd, usd_of_day)
        assert not any(above(each.spent.cost_usd, usd_of_task) for each in budget_of.values())
    assert sum((each.spent for each in budget_of.values()), Spent()).tokens == today.tokens == ever.tokens


def _at(price: Price, reply: Completion) -> Completion:
    return Completion(
        text="",
        backend="b",
        model="m",
        tokens_in=reply.tokens_in,
        tokens_out=reply.tokens_out,
        cost_usd=price.of(reply),
    )


async def spend(ledger: BudgetLedger, task: Budget, prompt: int, reply: int = 100) -> None:
    async with ledger.reserve(task, CallEstimate(prompt=prompt, reply=reply)) as room:
        room.charge(Completion(text="", backend="b", model="m", tokens_in=prompt, tokens_out=reply))


@pytest.mark.parametrize(
    ("budgets", "limits", "says"),
    [
        (SpendingLimits(call=Limits(tokens=500)), Limits(), "CALL_TOKENS"),
        (SpendingLimits(day=Limits(tokens=500)), Limits(), "DAY_TOKENS"),
        (SpendingLimits(total=Limits(tokens=500)), Limits(), "TOTAL_TOKENS"),
    ],
)
async def test_what_is_not_the_tasks_own_budget_parks_and_names_the_setting(
    budgets: SpendingLimits, limits: Limits, says: str
) -> None:
    ledger = BudgetLedger(budgets, ManualClock(NOON), lambda _since: Spent())
    with pytest.raises(BudgetExhausted) as caught:
        await spend(ledger, ledger.for_task(7, limits, Spent()), 600)
    why = ledger.interruption(caught.value)
    assert isinstance(why, Parked)
    assert says in str(why)
    assert why.until == (datetime(2026, 4, 1, tzinfo=UTC) if says == "DAY_TOKENS" else None)


async def test_the_tasks_own_budget_tells_how_much_is_missing() -> None:
    ledger = BudgetLedger(SpendingLimits(), ManualClock(NOON), lambda _since: Spent())
    with pytest.raises(BudgetExhausted) as caught:
        await spend(ledger, ledger.for_task(7, Limits(tokens=500), Spent(tokens_in=450)), 600)
    why = ledger.interruption(caught.value)
    assert isinstance(why, BudgetSpent)
    assert (why.measure, why.short) == ("tokens", 450 + 600 + LEAST_REPLY - 500)


async def test_a_call_that_ends_after_midnight_counts_for_the_new_day_and_its_refusal_lasts_no_day_longer() -> None:
    clock = ManualClock(NOON)
    ledger = BudgetLedger(SpendingLimits(day=Limits(tokens=1000)), clock, lambda _since: Spent())
    task = ledger.for_task(7, Limits(), Spent())
    async with ledger.reserve(task, CallEstimate(prompt=500, reply=100)) as room:
        clock.at += timedelta(hours=13)
        room.charge(Completion(text="", backend="b", model="m", tokens_in=500, tokens_out=100))
    assert ledger._todays_budget().spent.tokens == 600
    with pytest.raises(BudgetExhausted) as caught:
        await spend(ledger, task, 500)
    clock.at += timedelta(days=1)
    await spend(ledger, task, 10)
    why = ledger.interruption(caught.value)
    assert isinstance(why, Parked)
    assert why.until == clock.at
