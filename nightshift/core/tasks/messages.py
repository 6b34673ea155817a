"""Messages of an owner to an open task; they stay with the task and apply to all its later attempts."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

MAX_MESSAGE_CHARS = 4000
MOST_MESSAGES = 50
"""Maximum number of messages to one task, because each of its prompts contains all of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerMessage:
    """One message; `id` gives the order. With `interrupts`, a model request in progress is interrupted.

    `attempt` is the attempt that the task was in when the message was sent; 0 before the first attempt.
    """

    id: int
    task_id: int
    attempt: int
    text: str
    interrupts: bool
    at: datetime
