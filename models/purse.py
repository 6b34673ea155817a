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
from models.policy import Budgets

Ledger = Callable[[datetime | None], Spent]
"""What was spent since a moment, or ever (None), as the database knows it."""

_ONE_CALL = "one call"
_TODAY = "today"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reserved:
    """Room for one call: the longest reply in tokens, and where to charge what it used."""

    reply: int
    charge: Callable[[Completion], None]


class Purse:
    """What may be spent, over all tasks. Used from one event loop.

    Args:
        budgets: the limits.
        clock: tells the day. One that was set back comes to a day for the second time, so with each new day the
            ledger is asked what was spent on it.
        ledger: what was spent before.
    """

    def __init__(self, budgets: Budgets, clock: Clock, ledger: Ledger) -> None:
        self._budgets, self._clock, self._ledger = budgets, clock, ledger
        self._day = self._date()
        self._today = self._new_day()
        self._total = Meter("all time", ledger(None), tokens=budgets.total_tokens, cost_usd=budgets.total_cost_usd)

    @property
    def today(self) -> Spent:
        """What was spent on this UTC day."""
        return self._todays_meter().spent

    @property
    def total(self) -> Spent:
        """What was ever spent."""
        return self._total.spent

    def renew(self, budgets: Budgets) -> None:
        """Set other limits; what was spent stays."""
        self._budgets = budgets
        self._todays_meter().limit(tokens=budgets.day_tokens, cost_usd=budgets.day_cost_usd)
        self._total.limit(tokens=budgets.total_tokens, cost_usd=budgets.total_cost_usd)

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
        one_call = Meter(_ONE_CALL, Spent(), tokens=budgets.call_tokens, cost_usd=budgets.call_cost_usd)

        def charge(completion: Completion) -> None:
            # Today's is whichever it is by now: a call may end on another day than it began.
            for meter in (one_call, task, self._todays_meter(), self._total):
                meter.charge(completion.spent)

        async with AsyncExitStack() as held:
            for meter in (one_call, task, self._todays_meter(), self._total):
                need = await held.enter_async_context(meter.hold(need))
            yield Reserved(reply=need.reply, charge=charge)

    def interruption(self, cause: Exhausted) -> Interruption:
        """How a task ends or waits that finds a budget spent."""
        if cause.meter.what == _TODAY:
            over = cause.meter is not self._today  # the day has ended meanwhile
            until = self._clock() if over else _midnight(self._day + timedelta(days=1))
            return Parked(f"{cause}; going on after midnight UTC, or when DAY_TOKENS or DAY_COST_USD is raised", until)
        if cause.meter is self._total:
            return Parked(f"{cause}; going on when TOTAL_TOKENS or TOTAL_COST_USD is raised")
        if cause.meter.what == _ONE_CALL:
            return Parked(f"{cause}; going on when CALL_TOKENS or CALL_COST_USD is raised")
        return BudgetSpent(str(cause), measure=cause.shortage.measure, short=cause.shortage.short)

    def _todays_meter(self) -> Meter:
        if (day := self._date()) != self._day:
            self._day = day
            self._today = self._new_day()
        return self._today

    def _new_day(self) -> Meter:
        spent = self._ledger(_midnight(self._day))
        return Meter(_TODAY, spent, tokens=self._budgets.day_tokens, cost_usd=self._budgets.day_cost_usd)

    def _date(self) -> date:
        return self._clock().astimezone(UTC).date()


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)
