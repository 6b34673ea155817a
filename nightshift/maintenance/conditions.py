"""Holds that come and go by themselves: while there is a cause, no task is started; what runs finishes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Protocol, cast

from nightshift.core.clock import Clock
from nightshift.core.quiet_hours import quiet, quiet_until
from nightshift.core.tasks.queueing import PauseReason, PauseSource
from nightshift.queue.manager import QueueManager
from nightshift.queue.pauses import review_debt
from nightshift.storage.db.state_store import StateStore

Reason = Callable[[], str]
"""Says why no task may be begun now; nothing where one may."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """Keeps one hold in step with its cause."""

    queue: QueueManager
    source: PauseSource
    reason: Reason

    async def look(self) -> None:
        """Hold back or let go where the cause has changed; costs a read where it has not.

        What stands is read first: a hold that is put on meanwhile, for a newer cause, is not taken off by an older one.
        """
        stands = {hold.source: hold.reason for hold in self.queue.pause_state().reasons}
        why = self.reason()
        if why and stands.get(self.source) != why:
            await asyncio.wrap_future(self.queue.add_pause(self.source, why))
        elif not why and self.source in stands:
            await asyncio.wrap_future(self.queue.remove_pause(self.source))


def in_debt(state: StateStore, limit: Callable[[], int | None]) -> Reason:
    """Too many commits wait to be read."""
    return lambda: review_debt(state.unread_count(), limit()) if limit() else ""


def at_quiet_hours(
    spans: Callable[[], Sequence[str]], clock: Clock, local: Callable[[datetime], datetime] = datetime.astimezone
) -> Reason:
    """The clock on the wall shows a time at which the owner wants quiet; `local` turns a time into the machine's."""

    def reason() -> str:
        span = quiet(spans(), local(clock()))
        return f"quiet hours ({span})" if span else ""

    return reason


class Battery(Protocol):
    """The state of a battery; None where the system does not say whether it is plugged in."""

    @property
    def power_plugged(self) -> bool | None:
        """Whether the machine draws from the mains."""
        ...


def battery_of_this_machine() -> Battery | None:
    """The battery; None where the machine has none."""
    import psutil  # noqa: PLC0415 - only where the owner asked for it

    return cast("Battery | None", psutil.sensors_battery())


def on_battery(wanted: Callable[[], bool], battery: Callable[[], Battery | None] = battery_of_this_machine) -> Reason:
    """The machine is not plugged in. One without a battery always is."""

    def reason() -> str:
        battery_state = battery() if wanted() else None
        return "the machine runs on its battery" if battery_state and battery_state.power_plugged is False else ""

    return reason


def with_ends(reasons: Sequence[PauseReason], spans: Sequence[str], now: datetime) -> tuple[PauseReason, ...]:
    """The reasons with the time at which each ends, where a clock says it: quiet hours do at the end of their span."""
    end = quiet_until(spans, now.astimezone().replace(tzinfo=None))
    # As the machine's time of the day: the clock may be put forward or back until then.
    ends = {PauseSource.QUIET: end.astimezone(UTC) if end else None}
    return tuple(replace(each, until=ends.get(each.source)) for each in reasons)
