"""Messages of an owner to an open task; they stay with the task, for all later attempts."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

MAX_MESSAGE_CHARS = 4000
MOST_MESSAGES = 50
"""Most messages of one task: all of them are in each of its prompts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerMessage:
    """One message; `id` gives the order. With `interrupts`, a running model request is not awaited.

    `attempt` is the task's attempt at that time, 0 before the first.
    """

    id: int
    task_id: int
    attempt: int
    text: str
    interrupts: bool
    at: datetime
