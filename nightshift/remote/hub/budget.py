"""The common budget of all nodes. Each call reserves room at the hub before it is made.

This applies only if the hub's owner has set a budget. Without one, calls are made as on a single machine.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

from nightshift.core.errors import HubAway, HubError
from nightshift.core.tasks.task import Spent
from nightshift.models.budgets import SharedRoom
from nightshift.remote.hub.database import SharedDatabase

_log = logging.getLogger(__name__)

BUDGETS = ("day_tokens", "day_cost_usd", "total_tokens", "total_cost_usd")
"""The hub's options that set a budget."""
KNOWN_S = 30.0
"""Seconds for which it is cached whether the hub has a budget."""


class HubBudget:
    """The hub's budgets, as one node uses them. Used on the workers' loop.

    Args:
        connections: the hub's database.
        node: the id of this node.
        is_set: True if there was a budget when the hub last answered; assumed while the hub is unavailable.
        remember: stores the new value of `is_set` across restarts.
        monotonic: monotonic clock, in seconds.
    """

    def __init__(
        self,
        connections: SharedDatabase,
        node: str,
        *,
        is_set: bool = False,
        remember: Callable[[bool], object] = lambda _: None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._hub, self._node, self._monotonic = connections, node, monotonic
        self._asked_at, self._is_set, self._remember = -KNOWN_S, is_set, remember
        self._unsettled: list[tuple[int, Spent]] = []

    async def reserve(self, tokens: int, cost_usd: float) -> SharedRoom:
        """Reserve room for a call; see `models.budgets.SharedBudget`."""
        return await asyncio.to_thread(self._reserve, tokens, cost_usd)

    async def settle(self, reservation: int, spent: Spent) -> None:
        """Report the amount that a call used.

        While the hub is unavailable, the report is kept for later, and the hub counts the whole reservation as spent.
        """
        self._unsettled.append((reservation, spent))
        await asyncio.to_thread(self._settle)

    def _reserve(self, tokens: int, cost_usd: float) -> SharedRoom:
        try:
            if not self._has_budget():
                return SharedRoom()
            self._settle()
            row = self._hub.row("SELECT * FROM reserve(%s, %s, %s)", (self._node, tokens, cost_usd))
        except HubError as error:
            return SharedRoom(away=str(error))
        assert row, "reserve gives one row"
        if row["id"] is not None:
            return SharedRoom(reservation=row["id"])
        left_tokens = None if row["left_tokens"] is None else int(row["left_tokens"])
        return SharedRoom(
            lacks=row["what"], left_tokens=left_tokens, left_cost_usd=row["left_cost_usd"], may_grow=row["may_grow"]
        )

    def _has_budget(self) -> bool:
        if self._monotonic() - self._asked_at >= KNOWN_S:
            self._asked_at = self._monotonic()  # set before asking, so that not every call waits for a hub that is away
            try:
                rows = self._hub.rows("SELECT 1 FROM option_list WHERE name = ANY (%s)", (list(BUDGETS),))
            except HubError:
                return self._is_set
            if self._is_set is not bool(rows):
                self._is_set = bool(rows)
                self._remember(self._is_set)
        return self._is_set

    def _settle(self) -> None:
        while self._unsettled:
            reservation, spent = self._unsettled[0]
            query = "SELECT settle_spending(%s, %s, %s, %s)"
            try:
                self._hub.rows(query, (reservation, self._node, spent.tokens, spent.cost_usd))
            except HubAway:
                return
            except HubError:
                _log.exception("the hub refuses to settle reservation %s; all of it counts as spent", reservation)
            self._unsettled.pop(0)


def beat(connections: SharedDatabase, node: str, lease_s: float) -> None:
    """Renew the lease of this node's reservations. When a node's lease has expired, its reservations count as spent."""
    connections.rows("SELECT beat(%s, %s)", (node, lease_s))


def spending(connections: SharedDatabase) -> dict[str, float]:
    """Return the spending of today (UTC) and of all time, in USD; empty if no budget was ever set."""
    query = "SELECT is_total, cost_usd FROM spending_list WHERE is_total OR day = (now() AT TIME ZONE 'UTC')::date"
    costs = {row["is_total"]: float(row["cost_usd"]) for row in connections.rows(query)}
    return {"today": costs.get(False, 0.0), "all time": costs[True]} if True in costs else {}
