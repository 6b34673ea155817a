"""Puts a forecast of the open tasks into words, for the page, the terminal and notices.

Times are in the machine's time zone, which is named.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from nightshift.core.tasks.forecast import LEAST_MEASURED, Forecast, WorkSettings
from nightshift.core.tasks.queueing import PauseSource
from nightshift.core.text.formats import coarse, money
from nightshift.queue import pauses
from nightshift.report.wording import many, number
from nightshift.storage.db.forecasts import foreseen
from nightshift.storage.db.sqlite import Connection


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """A forecast in sentences.

    Attributes:
        line: the summary (`14 tasks, done about 04:20 CET, $0.80 of $5 left`); empty if no task is open.
        range: the ranges of time and cost in which the result lies in eight of ten cases, and the number of measured
            tasks on which they are based; empty if nothing was measured.
    """

    line: str = ""
    range: str = ""


def read(conn: Connection, work: WorkSettings, now: datetime) -> tuple[Forecast, Outlook]:
    """Compute the forecast of the open tasks; return it as figures and in words."""
    forecast = foreseen(conn, work, now)
    # The end of quiet hours is known, and the forecast includes it. The end of any other pause is unknown.
    is_held = any(reason.source is not PauseSource.QUIET for reason in pauses.read(conn).reasons)
    return forecast, outlook(forecast, now, is_held=is_held)


def outlook(forecast: Forecast, now: datetime, *, is_held: bool = False) -> Outlook:
    """Put a forecast into words.

    Args:
        forecast: the forecast.
        now: the current time; times that are not near it are shown with their day.
        is_held: True if no task starts until somebody ends a pause; durations are then given instead of times.
    """
    waits = _waits(forecast)
    if not forecast.tasks:
        return Outlook(line=", ".join(waits))
    tasks = many(forecast.tasks, "task")
    if forecast.for_model >= forecast.tasks:
        return Outlook(line=", ".join((tasks, *waits)))
    if forecast.takes_s is None or forecast.done_at is None:
        unknown = f"no forecast before a model has finished {LEAST_MEASURED} tasks ({forecast.measured} so far)"
        return Outlook(line=", ".join((tasks, unknown, *waits)))
    if is_held:
        done, times = f"about {coarse(forecast.takes_s.middle)} of work", forecast.takes_s
        low, high = coarse(times.low), coarse(times.high)
        between = f"{low} to {high} of work" if low != high else ""
    elif forecast.is_over_budget:  # work stops until tomorrow, so an end time would be wrong
        done = between = ""
    else:
        done, first, last = f"done {_about(forecast.done_at.middle, now)}", forecast.done_at.low, forecast.done_at.high
        between = f"done between {_when(first, now)} and {_when(last, now)}"
        between = between if _when(first, now) != _when(last, now) else ""
    return Outlook(
        line=", ".join(filter(None, (tasks, done, _cost(forecast), *waits))),
        range=_range(forecast, between),
    )


def _waits(forecast: Forecast) -> list[str]:
    waits = []
    if forecast.for_model:
        waits.append(f"{number(forecast.for_model)} of them {_verb(forecast.for_model)} for a model")
    if forecast.for_owner:
        more = f"{number(forecast.for_owner)} more" if forecast.tasks else many(forecast.for_owner, "task")
        waits.append(f"{more} {_verb(forecast.for_owner)} for you")
    if forecast.for_later:
        what = number(forecast.for_later) if forecast.tasks or waits else many(forecast.for_later, "task")
        waits.append(f"{what} for later")
    return waits


def _verb(count: int) -> str:
    return "waits" if count == 1 else "wait"


def _cost(forecast: Forecast) -> str:
    if forecast.cost_usd is None:
        return "cost not known"
    of = "" if forecast.left_usd is None else f" of the {money(forecast.left_usd)} left today"
    return f"about {money(forecast.cost_usd.middle)}{of}"


def _range(forecast: Forecast, between: str) -> str:
    parts = [between]
    if forecast.cost_usd and money(forecast.cost_usd.low) != money(forecast.cost_usd.high):
        parts.append(f"{money(forecast.cost_usd.low)} to {money(forecast.cost_usd.high)}")
    text = ", ".join(filter(None, parts))
    tasks = f"{number(forecast.measured)} tasks{f' of {forecast.model}' if forecast.model else ''}"
    return f"{text} (80 % range, from the last {tasks})" if text else ""


def _about(at: datetime | None, now: datetime) -> str:
    return "in more than two weeks" if at is None else f"about {_when(at, now)}"


def _when(at: datetime | None, now: datetime) -> str:
    """Format a time to the minute with its zone; a time more than 18 hours away also gets its day.

    The forecast has None in place of a time that is more than two weeks away.
    """
    if at is None:
        return "two weeks from now"
    is_near = at - now < timedelta(hours=18)
    form = "%H:%M" if is_near else "%a %H:%M" if at - now < timedelta(days=6) else "%Y-%m-%d %H:%M"
    return at.astimezone().strftime(f"{form} %Z")
