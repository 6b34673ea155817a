"""A page of tasks for API and overview."""

from __future__ import annotations

from core.states import Status
from queue_manager import QueueManager
from server.schemas import TaskSummary
from server.task_answers import task_summary

SLICE = 20
"""Tasks come with their files, megabytes each at worst; so many are held at a time."""


def task_page(
    queue: QueueManager, limit: int, *, after: int | None = None, status: Status | None = None
) -> tuple[list[TaskSummary], int | None]:
    """The newest tasks below the id `after`, and the `after` of the next page, None on the last."""
    page: list[TaskSummary] = []
    # One more than asked for tells whether another page follows.
    while len(page) <= limit:
        wanted = min(SLICE, limit + 1 - len(page))
        found = queue.find(status=status, limit=wanted, after=page[-1].task_id if page else after)
        page += map(task_summary, found)
        if len(found) < wanted:
            return page, None
    return page[:limit], page[limit - 1].task_id
