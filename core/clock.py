"""Time as the rest of the code sees it: aware UTC, from a clock that can be injected."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """The current time, aware UTC."""
    return datetime.now(UTC)


def to_text(at: datetime) -> str:
    """ISO 8601 with microseconds and `Z`; texts of this form sort as the times do."""
    return at.astimezone(UTC).isoformat(timespec="microseconds")[:-6] + "Z"


def from_text(text: str) -> datetime:
    """Read what `to_text` wrote, or any ISO 8601 time; a time without a zone is UTC."""
    at = datetime.fromisoformat(text)
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
