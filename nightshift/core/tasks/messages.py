"""Messages of an owner to a task while it is open; they stay with the task, for all attempts that follow."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

MAX_MESSAGE_CHARS = 4000
MOST_MESSAGES = 50
"""So many are taken for one task: all of them stand in each of its prompts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerMessage:
    """One message, in the order of its `id`; with `interrupts` the model's request under way is not waited for.

    `attempt` is that of the task when it was said, 0 before the first.
    """

    id: int
    task_id: int
    attempt: int
    text: str
    interrupts: bool
    at: datetime
