"""Pauses that a provider asked for, and where they are kept: a limit that resets in hours outlives a restart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from models.circuit import Pause


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A pause, and the provider's words for it."""

    pause: Pause
    why: str


class Pauses(Protocol):
    """Keeps one pause for each account."""

    def read(self, account: str) -> Kept | None:
        """The last pause that was kept, over or not."""
        ...

    def write(self, account: str, kept: Kept) -> None:
        """Keep it; returns before it is durable."""
        ...


class Forgetful:
    """Keeps pauses as long as the process lives."""

    def __init__(self) -> None:
        self._kept: dict[str, Kept] = {}

    def read(self, account: str) -> Kept | None:
        """See `Pauses`."""
        return self._kept.get(account)

    def write(self, account: str, kept: Kept) -> None:
        """See `Pauses`."""
        self._kept[account] = kept
