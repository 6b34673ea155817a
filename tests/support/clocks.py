"""Clocks that a test moves: the wall clock, which may jump, and the monotonic clocks, which only run forward."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from nightshift.core.clock import Clocks


@dataclass
class HandClocks:
    """All clocks of a machine. Calling the object returns the wall clock's time."""

    wall: datetime = field(default_factory=lambda: datetime(2026, 11, 2, 8, tzinfo=UTC))
    awake_s: float = 1000.0
    since_boot_s: float = 1000.0

    def __call__(self) -> datetime:
        """Return the wall clock's time."""
        return self.wall

    def all(self) -> Clocks:
        """Return the clocks in the form that the daemon expects."""
        return Clocks(wall=self, monotonic=self.monotonic, passed=self.boottime)

    def monotonic(self) -> float:
        """Return the seconds for which the machine has been awake."""
        return self.awake_s

    def boottime(self) -> float:
        """Return the seconds since boot, including the time for which the machine slept."""
        return self.since_boot_s

    def pass_s(self, seconds: float) -> None:
        """Let time pass while the machine is awake: all clocks advance."""
        self.awake_s += seconds
        self.sleep_s(seconds)

    def sleep_s(self, seconds: float) -> None:
        """Let the machine sleep: all clocks but `monotonic` advance."""
        self.since_boot_s += seconds
        self.set_by_s(seconds)

    def set_by_s(self, seconds: float) -> None:
        """Move the wall clock alone by this many seconds, as if somebody had set it."""
        self.wall += timedelta(seconds=seconds)
