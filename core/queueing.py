"""What the queue answers, and how it spaces attempts."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from core.states import Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Submitted:
    """The answer to a submission; `created` is False when its key was known."""

    task_id: int
    status: Status
    created: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Heartbeat:
    """What a worker pool learns: the ids of tasks it lost, and of those that the owner wants cancelled."""

    lost: frozenset[int]
    cancelled: frozenset[int]


class HoldSource(StrEnum):
    """Who holds claims back. The owner lets go of the first two; the others go when their cause does."""

    OWNER = "owner"
    CHECKPOINT = "checkpoint"
    REVIEW = "review"
    QUIET = "quiet"
    BATTERY = "battery"
    DISK = "disk"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """One reason why no task is begun."""

    source: HoldSource
    reason: str
    since: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class PauseState:
    """Whether claims are held back, why, and since when."""

    paused: bool
    reason: str = ""
    since: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often a task is tried, and how long it rests in between: “full jitter”.

    The rest after try n is uniform in [0, min(cap_s, base_s · 2^(n - 1))] seconds, after Marc Brooker, “Exponential
    Backoff And Jitter”, AWS Architecture Blog, 2015.
    """

    attempts: int = 3
    base_s: float = 10.0
    cap_s: float = 600.0
    rng: random.Random = field(default_factory=random.Random)

    def rest_s(self, tries: int) -> float:
        """The rest after `tries` tries, in seconds."""
        return self.rng.uniform(0.0, min(self.cap_s, self.base_s * 2.0 ** min(tries - 1, 60)))
