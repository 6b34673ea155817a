"""The common budget of all nodes: room for each call is reserved in the hub before it is made.

Only where the owner of the hub has set a budget there; else calls are made as on a machine that works alone.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from nightshift.core.errors import HubAway, HubError
from nightshift.core.tasks.task import Spent
from nightshift.models.budgets import SharedRoom
from nightshift.remote.hub.database import SharedDatabase

BUDGETS = ("day_tokens", "day_cost_usd", "total_tokens", "total_cost_usd")
"""The hub's options that set one."""
KNOWN_S = 30.0
"""For so long it is not asked again whether there is a budget."""


class HubBudget:
    """The hub's budgets for one node; on the workers' loop.

    Args:
        connections: of the hub.
        node: the id of this node.
        is_set: whether there was a budget when the hub was last asked; decides while it is away.
        remember: keeps that beyond a restart.
        monotonic: seconds that never jump.
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
        """Room for a call; see `models.budgets.SharedBudget`."""
        return await asyncio.to_thread(self._reserve, tokens, cost_usd)

    async def settle(self, reservation: int, spent: Spent) -> None:
        """Tell what the call used; while the hub is away it is kept, and counts as spent in full there."""
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
            self._asked_at = self._monotonic()  # also where it is away: each call would wait for that
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
            self._unsettled.pop(0)


def beat(connections: SharedDatabase, node: str, lease_s: float) -> None:
    """Let what this node has reserved be its own for a while; what lost nodes had counts as spent."""
    connections.rows("SELECT beat(%s, %s)", (node, lease_s))


def spending(connections: SharedDatabase) -> dict[str, float]:
    """Read the spending of today (UTC) and in all, in USD, where budgets are or were set."""
    query = "SELECT is_total, cost_usd FROM spending_list WHERE is_total OR day = (now() AT TIME ZONE 'UTC')::date"
    costs = {row["is_total"]: float(row["cost_usd"]) for row in connections.rows(query)}
    return {"today": costs.get(False, 0.0), "all time": costs[True]} if True in costs else {}
