"""Budgets are exact, also when many calls run at once."""

from __future__ import annotations

import asyncio
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.tasks import Spent
from models.meter import LEAST_REPLY, Exhausted, Meter, Need
from models.policy import FREE, Price
from tests.support import tiers

DEAR = Price(input_per_million_usd=1.0, output_per_million_usd=10.0)


def need(prompt: int = 100, reply: int = 1000, price: Price | None = None) -> Need:
    return Need(prompt=prompt, reply=reply, price=price)


async def granted(meter: Meter, wanted: Need) -> int:
    async with meter.hold(wanted) as room:
        return room.reply


async def test_without_limits_everything_is_granted() -> None:
    assert await granted(Meter("task 1", Spent(tokens_in=10**9, cost_usd=1e6, model_calls=10**6)), need()) == 1000


async def test_a_reply_is_cut_to_what_is_left_and_refused_when_that_is_too_little() -> None:
    spent = Spent(tokens_in=500)
    assert await granted(Meter("x", spent, tokens=2000), need()) == 1000
    assert await granted(Meter("x", spent, tokens=1000), need()) == 400
    assert await granted(Meter("x", spent, tokens=600 + LEAST_REPLY), need()) == LEAST_REPLY
    with pytest.raises(Exhausted, match=r"x: the limit of 663 tokens is reached \(500 used"):
        await granted(Meter("x", spent, tokens=599 + LEAST_REPLY), need())
    assert await granted(Meter("x", spent, tokens=605), need(reply=5)) == 5, "a short reply needs no more than itself"


async def test_money_counts_prompt_and_reply_at_their_prices() -> None:
    spent = Spent(cost_usd=1.0)
    assert await granted(Meter("x", spent, cost_usd=1.0051), need(price=DEAR)) == 500
    with pytest.raises(Exhausted, match=r"1\.0 USD is reached \(1\.0000 used"):
        await granted(Meter("x", spent, cost_usd=1.0), need(price=DEAR))
    assert await granted(Meter("x", spent, cost_usd=1.0), need(price=FREE)) == 1000, "what is free may go on"
    with pytest.raises(Exhausted):
        await granted(Meter("x", spent, cost_usd=1.0), need(price=None))
    assert await granted(Meter("x", spent, cost_usd=1.1), need(price=None)) == 1000


async def test_a_call_waits_for_the_room_that_others_hold_and_then_gets_it() -> None:
    meter = Meter("x", Spent(), tokens=1500)
    order: list[str] = []

    async def first() -> None:
        async with meter.hold(need()):
            order.append("first in")
            await asyncio.sleep(0.02)
            order.append("first out")
            meter.charge(Spent(tokens_in=100, tokens_out=50))

    async def second() -> None:
        await asyncio.sleep(0)
        async with meter.hold(need()) as room:
            order.append(f"second in with {room.reply}")

    await asyncio.gather(first(), second())
    assert order == ["first in", "first out", "second in with 1000"]


async def test_money_and_calls_are_reserved_too() -> None:
    money = Meter("x", Spent(), cost_usd=0.0151)
    async with money.hold(need(price=DEAR)) as room:
        assert room.reply == 1000
        waiting = asyncio.create_task(granted(money, need(price=DEAR)))
        await asyncio.sleep(0.01)
        assert not waiting.done(), "what the first call may still cost is not free"
        money.charge(Spent(cost_usd=0.0101))
    assert await waiting == 490
    calls = Meter("x", Spent(model_calls=1), calls=2)
    async with calls.hold(need()):
        waiting = asyncio.create_task(granted(calls, need()))
        await asyncio.sleep(0.01)
        assert not waiting.done()
        calls.charge(Spent(model_calls=1))
    with pytest.raises(Exhausted, match=r"the limit of 2 model calls is reached \(2 used\)"):
        await waiting


@given(
    st.integers(200, 5000), st.lists(st.tuples(st.integers(1, 300), st.integers(70, 900)), max_size=12), st.randoms()
)
@settings(max_examples=tiers.examples(40), deadline=None)
def test_no_mix_of_calls_spends_more_than_the_limit(
    limit: int, calls: list[tuple[int, int]], dice: random.Random
) -> None:
    async def one(meter: Meter, prompt: int, reply: int) -> int:
        try:
            async with meter.hold(need(prompt, reply)) as room:
                await asyncio.sleep(dice.choice([0, 0.0001]))
                used = dice.randint(0, room.reply)
                meter.charge(Spent(model_calls=1, tokens_in=prompt, tokens_out=used))
                return prompt + used
        except Exhausted:
            return 0

    async def all_of_them() -> None:
        meter = Meter("x", Spent(), tokens=limit)
        used = sum(await asyncio.gather(*(one(meter, *call) for call in calls)))
        assert used == meter.spent.tokens <= limit

    asyncio.run(all_of_them())
