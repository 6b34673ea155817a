"""Time for the rest of the code: UTC times with a time zone, from a clock that tests can replace."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from datetime import time as time_of_day
from typing import Annotated, Any

Clock = Callable[[], datetime]
Seconds = Callable[[], float]

# Only Linux has this clock. On other systems, a machine that slept looks like a machine whose clock was set.
_PASSING: int = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def utc_now() -> datetime:
    """Return the current time in UTC, with its time zone."""
    return datetime.now(UTC)


def boottime() -> float:
    """Return the seconds since an arbitrary moment, including the time during which the machine slept."""
    return time.clock_gettime(_PASSING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Clocks:
    """All clocks of a machine: the wall clock, which can be set, and two clocks that cannot be set.

    `monotonic` counts the seconds during which the machine is awake. `passed` also counts the seconds during which it
    sleeps.
    """

    wall: Clock = utc_now
    monotonic: Seconds = time.monotonic
    passed: Seconds = boottime


def no_number(value: object) -> object:
    """Return a value that a person entered for a time, but refuse a number.

    Numbers (seconds since 1970) are refused, because they are probably a mistake.

    Raises:
        ValueError: The value is a number; the message says how to write a time.
    """
    is_number = isinstance(value, int | float) or (isinstance(value, str) and value.replace(".", "", 1).isdigit())
    if is_number:
        raise ValueError("write a time as 2026-12-24T18:00:00Z")
    return value


def to_text(at: datetime) -> str:
    """Return a time as ISO 8601 with microseconds and `Z`. Such texts sort like the times."""
    return at.astimezone(UTC).isoformat(timespec="microseconds")[:-6] + "Z"


class _AsText:
    """Tells pydantic how to serialise and describe a time. Importing this module does not import pydantic."""

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
"""A time in a value that the API sends without conversion."""


def on_the_wall(wall: datetime, zone: tzinfo | None = None) -> datetime:
    """Return the UTC time at which the wall clock in a zone shows `wall`; None stands for the machine's zone.

    If `wall` already has a zone, it is only converted to UTC.
    """
    return (wall if zone is None else wall.replace(tzinfo=zone)).astimezone(UTC)


def midnight(now: datetime, zone: tzinfo | None = None) -> datetime:
    """Return the time at which the current day began on the wall clock."""
    return on_the_wall(datetime.combine(now.astimezone(zone), time_of_day()), zone)


def from_text(text: str) -> datetime:
    """Read a time that `to_text` wrote, or any other ISO 8601 time. A time without a zone is taken as UTC."""
    at = datetime.fromisoformat(text)
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
