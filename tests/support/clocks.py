"""Clocks that a test moves: the wall's, which may jump, and those that only time itself moves."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from nightshift.core.clock import Clocks


@dataclass
class HandClocks:
    """All clocks of a machine. Call it for the wall's time."""

    wall: datetime = field(default_factory=lambda: datetime(2026, 11, 2, 8, tzinfo=UTC))
    awake_s: float = 1000.0
    since_boot_s: float = 1000.0

    def __call__(self) -> datetime:
        """The time on the wall."""
        return self.wall

    def all(self) -> Clocks:
        """The clocks as the daemon takes them."""
        return Clocks(wall=self, monotonic=self.monotonic, passed=self.boottime)

    def monotonic(self) -> float:
        """Seconds that the machine was awake."""
        return self.awake_s

    def boottime(self) -> float:
        """Seconds that have passed, asleep or awake."""
        return self.since_boot_s

    def pass_s(self, seconds: float) -> None:
        """Time passes as it should."""
        self.awake_s += seconds
        self.sleep_s(seconds)

    def sleep_s(self, seconds: float) -> None:
        """The machine sleeps."""
        self.since_boot_s += seconds
        self.set_by_s(seconds)

    def set_by_s(self, seconds: float) -> None:
        """Somebody sets the wall's clock."""
        self.wall += timedelta(seconds=seconds)
