"""What the API answers to a task that was sent."""

from __future__ import annotations

from core.states import Status
from server.schemas import Answer


class Submitted(Answer):
    """The task that was made, or that the same key made before.

    `differs` names the fields in which that earlier task is another one than what was sent; it stays as it was.
    """

    task_id: int
    status: Status
    differs: tuple[str, ...] = ()
