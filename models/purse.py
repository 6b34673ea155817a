"""The budgets around every call: of one call, of the task, of the UTC day, and of all time."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from core.clock import Clock
from core.dialogue import Completion
from core.errors import BudgetSpent, Interruption, Parked
from core.tasks import Limits, Spent
from models.meter import Exhausted, Meter, Need
from models.policy import Budgets, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Reserved:
    """Room for one call: the longest reply in tokens, and where to charge what it used."""

    reply: int
    charge: Callable[[Completion], None]


class Purse:
    """What may be spent, over all tasks. Used from one event loop.

    Args:
        budgets: the limits.
        clock: tells the day.
        usage: what was spent before.
    """

    def __init__(self, budgets: Budgets, clock: Clock, usage: Usage) -> None:
        self._budgets, self._clock = budgets, clock
        self._day = self._date()
        self._today = self._new_day(usage.today)
        self._total = Meter("all time", usage.total, tokens=budgets.total_tokens, cost_usd=budgets.total_cost_usd)

    def for_task(self, task_id: int | None, limits: Limits, spent: Spent) -> Meter:
        """A meter for a task's own limits."""
        what = "outside a task" if task_id is None else f"task {task_id}"
        return Meter(what, spent, calls=limits.model_calls, tokens=limits.tokens, cost_usd=limits.cost_usd)

    @asynccontextmanager
    async def reserve(self, task: Meter, need: Need) -> AsyncIterator[Reserved]:
        """Hold room for a call in all budgets.

        Raises:
            Exhausted: one of them has none.
        """
        budgets = self._budgets
        one_call = Meter("one call", Spent(), tokens=budgets.call_tokens, cost_usd=budgets.call_cost_usd)
        meters = (one_call, task, self._todays_meter(), self._total)

        def charge(completion: Completion) -> None:
            for meter in meters:
                meter.charge(completion.spent)

        async with AsyncExitStack() as held:
            for meter in meters:
                need = await held.enter_async_context(meter.hold(need))
            yield Reserved(reply=need.reply, charge=charge)

    def interruption(self, cause: Exhausted) -> Interruption:
        """How a task ends or waits that finds a budget spent."""
        if cause.meter is self._today:
            midnight = datetime.combine(self._day + timedelta(days=1), time(), UTC)
            return Parked(f"{cause}; going on after midnight UTC", until=midnight)
        if cause.meter is self._total:
            return Parked(f"{cause}; raise TOTAL_TOKENS or TOTAL_COST_USD to go on")
        return BudgetSpent(str(cause))

    def _todays_meter(self) -> Meter:
        if (day := self._date()) != self._day:
            self._day, self._today = day, self._new_day(Spent())
        return self._today

    def _new_day(self, spent: Spent) -> Meter:
        return Meter("today", spent, tokens=self._budgets.day_tokens, cost_usd=self._budgets.day_cost_usd)

    def _date(self) -> date:
        return self._clock().astimezone(UTC).date()
