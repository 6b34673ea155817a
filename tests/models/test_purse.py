"""All budgets at once: however calls mix, none of them is overspent, and each says what it waits for."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.dialogue import Completion
from core.errors import BudgetSpent, Parked
from core.tasks import Limits, Spent
from models.meter import LEAST_REPLY, Exhausted, Meter, Need
from models.policy import Budgets, Price
from models.purse import Purse
from tests.support import tiers
from tests.support.door import HandClock

NOON = datetime(2026, 3, 31, 12, tzinfo=UTC)
PRICE = Price(input_per_million_usd=1.0, output_per_million_usd=10.0)


@dataclass
class Ledger:
    """What was used, and when."""

    clock: HandClock
    rows: list[tuple[datetime, Spent]] = field(default_factory=list)

    def __call__(self, since: datetime | None) -> Spent:
        return sum((spent for at, spent in self.rows if since is None or at >= since), Spent())


@dataclass(frozen=True)
class Asked:
    """One call: whose, how long its prompt, how long a reply it would like, whether its price is known."""

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
    budgets = Budgets(call_tokens=of_call, day_tokens=of_day, total_tokens=of_all, day_cost_usd=usd_of_day)
    ledger = Ledger(HandClock(NOON))
    purse = Purse(budgets, ledger.clock, ledger)
    limits = Limits(tokens=of_task, cost_usd=usd_of_task)
    meters = {task: purse.for_task(task, limits, Spent()) for task in (1, 2, 3)}
    biggest, refused = [0], list[Exception]()

    async def one(call: Asked) -> None:
        need = Need(prompt=call.prompt, reply=call.reply, price=PRICE if call.priced else None)
        try:
            async with purse.reserve(meters[call.task], need) as room:
                await asyncio.sleep(dice.choice([0, 0, 0.0001]))
                reply = Completion(
                    text="", backend="b", model="m", tokens_in=call.prompt, tokens_out=dice.randint(0, room.reply)
                )
                room.charge(reply if not call.priced else _at(PRICE, reply))
                biggest[0] = max(biggest[0], reply.spent.tokens)
        except Exhausted as error:
            refused.append(purse.interruption(error))

    async def all_of_them() -> None:
        await asyncio.wait_for(asyncio.gather(*map(one, asked)), 30)

    asyncio.run(all_of_them())
    today, ever = purse.today, purse.total
    assert all(isinstance(why, Parked | BudgetSpent) for why in refused)
    assert not above(biggest[0], of_call)
    assert not any(above(meter.spent.tokens, of_task) for meter in meters.values())
    assert not above(today.tokens, of_day)
    assert not above(ever.tokens, of_all)
    if all(call.priced for call in asked):
        assert not above(today.cost_usd, usd_of_day)
        assert not any(above(meter.spent.cost_usd, usd_of_task) for meter in meters.values())
    assert sum((meter.spent for meter in meters.values()), Spent()).tokens == today.tokens == ever.tokens


def _at(price: Price, reply: Completion) -> Completion:
    return Completion(
        text="",
        backend="b",
        model="m",
        tokens_in=reply.tokens_in,
        tokens_out=reply.tokens_out,
        cost_usd=price.of(reply),
    )


async def spend(purse: Purse, task: Meter, prompt: int, reply: int = 100) -> None:
    async with purse.reserve(task, Need(prompt=prompt, reply=reply)) as room:
        room.charge(Completion(text="", backend="b", model="m", tokens_in=prompt, tokens_out=reply))


@pytest.mark.parametrize(
    ("budgets", "limits", "says"),
    [
        (Budgets(call_tokens=500), Limits(), "CALL_TOKENS"),
        (Budgets(day_tokens=500), Limits(), "DAY_TOKENS"),
        (Budgets(total_tokens=500), Limits(), "TOTAL_TOKENS"),
    ],
)
async def test_what_is_not_the_tasks_own_budget_parks_and_names_the_setting(
    budgets: Budgets, limits: Limits, says: str
) -> None:
    purse = Purse(budgets, HandClock(NOON), lambda _since: Spent())
    with pytest.raises(Exhausted) as caught:
        await spend(purse, purse.for_task(7, limits, Spent()), 600)
    why = purse.interruption(caught.value)
    assert isinstance(why, Parked)
    assert says in str(why)
    assert why.until == (datetime(2026, 4, 1, tzinfo=UTC) if says == "DAY_TOKENS" else None)


async def test_the_tasks_own_budget_tells_how_much_is_missing() -> None:
    purse = Purse(Budgets(), HandClock(NOON), lambda _since: Spent())
    with pytest.raises(Exhausted) as caught:
        await spend(purse, purse.for_task(7, Limits(tokens=500), Spent(tokens_in=450)), 600)
    why = purse.interruption(caught.value)
    assert isinstance(why, BudgetSpent)
    assert (why.measure, why.short) == ("tokens", 450 + 600 + LEAST_REPLY - 500)


async def test_a_call_that_ends_after_midnight_counts_for_the_new_day_and_its_refusal_lasts_no_day_longer() -> None:
    clock = HandClock(NOON)
    purse = Purse(Budgets(day_tokens=1000), clock, lambda _since: Spent())
    task = purse.for_task(7, Limits(), Spent())
    async with purse.reserve(task, Need(prompt=500, reply=100)) as room:
        clock.at += timedelta(hours=13)
        room.charge(Completion(text="", backend="b", model="m", tokens_in=500, tokens_out=100))
    assert purse.today.tokens == 600
    with pytest.raises(Exhausted) as caught:
        await spend(purse, task, 500)
    clock.at += timedelta(days=1)
    await spend(purse, task, 10)
    why = purse.interruption(caught.value)
    assert isinstance(why, Parked)
    assert why.until == clock.at
