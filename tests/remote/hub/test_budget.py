"""The common budget of all nodes.

Concurrent calls never overspend it, and the reservations of a lost node count as spent.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest

from nightshift.core.dialogue import Completion
from nightshift.core.errors import Parked
from nightshift.core.tasks.task import Limits, Spent
from nightshift.models.budgets import BudgetExhausted, BudgetLedger, CallEstimate, Price, SpendingLimits
from nightshift.remote.hub import shared_schema
from nightshift.remote.hub.budget import HubBudget, beat, spending
from nightshift.remote.hub.database import SharedDatabase
from tests.support.postgres import PostgresServer

PRICE = Price(input_per_million_usd=0.0, output_per_million_usd=1000.0)
NEED = CallEstimate(prompt=10, reply=1000, price=PRICE)
"""The estimate of a call that costs at most one dollar."""


def node(database: SharedDatabase, name: str, lease_s: float = 60) -> HubBudget:
    beat(database, name, lease_s)
    return HubBudget(database, name)


def ledger(shared: HubBudget) -> BudgetLedger:
    new_ledger = BudgetLedger(SpendingLimits(), lambda: datetime.now(UTC), lambda _: Spent())
    new_ledger.shared = shared
    return new_ledger


async def call(of: BudgetLedger, tokens_out: int) -> int:
    """Make a call that writes up to this many tokens within its budget; return the number of written tokens."""
    async with of.reserve(of.for_task(1, Limits(), Spent()), NEED) as room:
        written = min(tokens_out, room.reply or tokens_out)
        completion = Completion(
            text="", backend="b", model="m", tokens_in=10, tokens_out=written, cost_usd=written / 1000, latency_s=0.1
        )
        room.charge(completion)
    return written


def test_no_race_of_nodes_spends_more_than_the_day_has(database: SharedDatabase) -> None:
    shared_schema.set_option(database, "day_cost_usd", "3.5")
    budgets = [node(database, name) for name in "abcd"]

    def reserved(at: int) -> int | None:
        return asyncio.run(budgets[at % 4].reserve(1010, 1.0)).reservation

    with ThreadPoolExecutor(8) as pool:
        got = [amount for amount in pool.map(reserved, range(40)) if amount is not None]
    assert len(got) == 3


def test_a_reply_is_cut_to_what_is_left_and_then_the_day_is_over_for_all(database: SharedDatabase) -> None:
    shared_schema.set_option(database, "day_cost_usd", "1.5")
    first, second = ledger(node(database, "a")), ledger(node(database, "b"))
    assert asyncio.run(call(first, 1000)) == 1000
    assert asyncio.run(call(second, 1000)) in {499, 500}
    with pytest.raises(BudgetExhausted, match="all nodes today") as over:
        asyncio.run(call(first, 1000))
    assert isinstance(first.interruption(over.value), Parked)
    assert spending(database)["all time"] == pytest.approx(1.5, abs=0.01)
    shared_schema.set_option(database, "day_cost_usd", "3")
    assert asyncio.run(call(second, 100)) == 100


def test_while_the_database_is_away_a_call_waits_and_what_was_used_is_told_later(
    server: PostgresServer, database: SharedDatabase
) -> None:
    shared_schema.set_option(database, "day_cost_usd", "2")
    budget = node(database, "a")
    held = asyncio.run(budget.reserve(1010, 1.0))
    assert held.reservation
    server.stop()
    try:
        asyncio.run(budget.settle(held.reservation, Spent(model_calls=1, cost_usd=0.5)))
        with pytest.raises(Parked, match="cannot be read"):
            asyncio.run(call(ledger(budget), 100))
    finally:
        server.start()
    assert asyncio.run(call(ledger(budget), 100)) == 100
    assert spending(database)["all time"] == pytest.approx(0.6)
