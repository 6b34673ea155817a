"""Pauses that begin and end automatically. While their cause exists, no task is started and running tasks finish."""

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
"""A function that returns why no task may start now; empty if tasks may start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """Adds and removes one pause, as its cause comes and goes."""

    queue: QueueManager
    source: PauseSource
    reason: Reason

    async def look(self) -> None:
        """Add or remove the pause if its cause has changed; otherwise this costs one read.

        The current pause is read before the cause. So a pause that is added between the two reads is not removed
        because of an outdated cause.
        """
        stands = {hold.source: hold.reason for hold in self.queue.pause_state().reasons}
        why = self.reason()
        if why and stands.get(self.source) != why:
            await asyncio.wrap_future(self.queue.add_pause(self.source, why))
        elif not why and self.source in stands:
            await asyncio.wrap_future(self.queue.remove_pause(self.source))


def in_debt(state: StateStore, limit: Callable[[], int | None]) -> Reason:
    """Return a function that gives a reason to pause while there are more unread commits than `limit` allows."""
    return lambda: review_debt(state.unread_count(), limit()) if limit() else ""


def at_quiet_hours(
    spans: Callable[[], Sequence[str]], clock: Clock, local: Callable[[datetime], datetime] = datetime.astimezone
) -> Reason:
    """Return a function that gives a reason to pause during the owner's quiet hours.

    `local` converts a time to the machine's zone.
    """

    def reason() -> str:
        span = quiet(spans(), local(clock()))
        return f"quiet hours ({span})" if span else ""

    return reason


class Battery(Protocol):
    """The state of a battery, as `psutil` reports it."""

    @property
    def power_plugged(self) -> bool | None:
        """True if the machine is plugged in, None if unknown."""
        ...


def battery_of_this_machine() -> Battery | None:
    """Return the battery; None if the machine has none."""
    import psutil  # noqa: PLC0415 - only where the owner asked for it

    return cast("Battery | None", psutil.sensors_battery())


def on_battery(wanted: Callable[[], bool], battery: Callable[[], Battery | None] = battery_of_this_machine) -> Reason:
    """Return a function that gives a reason to pause while the machine runs on its battery, if it has one."""

    def reason() -> str:
        battery_state = battery() if wanted() else None
        return "the machine runs on its battery" if battery_state and battery_state.power_plugged is False else ""

    return reason


def with_ends(reasons: Sequence[PauseReason], spans: Sequence[str], now: datetime) -> tuple[PauseReason, ...]:
    """Return the reasons, each with the time of its end if the clock determines that time.

    Only quiet hours have such an end: the end of their span.
    """
    end = quiet_until(spans, now.astimezone().replace(tzinfo=None))
    # `end` is a local time of day, and is converted with the UTC offset that applies then: daylight saving may change
    # it.
    ends = {PauseSource.QUIET: end.astimezone(UTC) if end else None}
    return tuple(replace(each, until=ends.get(each.source)) for each in reasons)
