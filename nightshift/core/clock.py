"""Time as the rest of the code sees it: aware UTC, from a clock that can be injected."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from datetime import time as time_of_day
from typing import Annotated, Any

Clock = Callable[[], datetime]
Seconds = Callable[[], float]

# Linux alone has it; elsewhere a machine that slept looks like one whose clock was set.
_PASSING: int = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def utc_now() -> datetime:
    """The current time, aware UTC."""
    return datetime.now(UTC)


def boottime() -> float:
    """Seconds that have passed since some moment, those that the machine slept included."""
    return time.clock_gettime(_PASSING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Clocks:
    """All clocks of a machine: the wall's, which may be set, and two that nobody sets.

    `monotonic` counts seconds awake, `passed` all seconds that pass, asleep or awake.
    """

    wall: Clock = utc_now
    monotonic: Seconds = time.monotonic
    passed: Seconds = boottime


def no_number(value: object) -> object:
    """Return a person's value for a point in time unless it is a number: seconds since 1970 are rather a mistake.

    Raises:
        ValueError: it is a number; says how to write a time.
    """
    is_number = isinstance(value, int | float) or (isinstance(value, str) and value.replace(".", "", 1).isdigit())
    if is_number:
        raise ValueError("write a time as 2026-12-24T18:00:00Z")
    return value


def to_text(at: datetime) -> str:
    """ISO 8601 with microseconds and `Z`; texts of this form sort as the times do."""
    return at.astimezone(UTC).isoformat(timespec="microseconds")[:-6] + "Z"


class _AsText:
    """How pydantic writes a time and describes it; whoever does not use pydantic does not import it for this."""

    @staticmethod
    def __get_pydantic_core_schema__(source: Any, handler: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
        from pydantic_core import core_schema  # noqa: PLC0415  pydantic has loaded it when it asks

        text = core_schema.str_schema()
        written = core_schema.plain_serializer_function_ser_schema(to_text, return_schema=text)
        return {**handler(source), "serialization": written}

    @staticmethod
    def __get_pydantic_json_schema__(_schema: Any, _handler: Any) -> dict[str, Any]:
        return {"type": "string", "format": "date-time", "description": "ISO 8601, UTC, ends in Z"}


Moment = Annotated[datetime, _AsText]
"""A time in a value that the API sends as it is."""


def on_the_wall(wall: datetime, zone: tzinfo | None = None) -> datetime:
    """The UTC time at which the wall's clock shows `wall` in a zone, or (None) where the machine is.

    Of a `wall` that has a zone already, the same time in UTC.
    """
    return (wall if zone is None else wall.replace(tzinfo=zone)).astimezone(UTC)


def midnight(now: datetime, zone: tzinfo | None = None) -> datetime:
    """Return the time when the day began on the wall's clock."""
    return on_the_wall(datetime.combine(now.astimezone(zone), time_of_day()), zone)


def from_text(text: str) -> datetime:
    """Read what `to_text` wrote, or any ISO 8601 time; a time without a zone is UTC."""
    at = datetime.fromisoformat(text)
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
