"""A clock that tests set by hand, and the stores on one file."""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Self

from nightshift.core.tasks.queueing import RetryPolicy
from nightshift.core.text.masking import Masker
from nightshift.queue.manager import QueueManager
from nightshift.storage.db.database import Database
from nightshift.storage.db.event_log import EventLog
from nightshift.storage.db.state_store import StateStore
from nightshift.storage.db.step_store import StepStore
from nightshift.storage.db.tool_store import ToolStore
from tests.support.ready_database import ready


class HandClock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = datetime(2026, 3, 1, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@dataclass(frozen=True)
class Store:
    """All stores on one database file; the `with` block closes them."""

    db: Database
    clock: HandClock
    events: EventLog
    mask: Masker
    queue: QueueManager
    steps: StepStore
    tools: ToolStore
    state: StateStore

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.db.close()


def open_store(path: Path, clock: HandClock | None = None, *, secrets: tuple[str, ...] = ()) -> Store:
    """Open the stores.

    A task gets three attempts, with pauses of at most 40 seconds between them. A lease lasts one minute.
    """
    clock = clock or HandClock()
    db = Database(ready(path))
    mask = Masker(secrets)
    events = EventLog(db, clock, mask)
    retry = RetryPolicy(attempts=3, base_s=10, cap_s=40, rng=random.Random(1))
    queue = QueueManager(db, events, clock=clock, mask=mask, retry=retry, lease_s=60, max_crashes=3)
    steps = StepStore(db, events, clock=clock, mask=mask)
    tools = ToolStore(db, events, clock=clock, mask=mask)
    return Store(db, clock, events, mask, queue, steps, tools, StateStore(db, clock=clock, events=events))
