"""Notices a request that breaks a backend which answers all others: trying that again and again is no patience.

An outage is waited out, however long it lasts. But a reply that always breaks off at the same word, or a prompt that
crashes the server, would be tried, and perhaps be paid for, for ever. The difference is seen in the others: only
failures between which the backend has answered somebody else count against a task.
"""

from __future__ import annotations

from collections import OrderedDict

ENOUGH = 40
"""So many failures in a row; one that was paid for counts as `PAID`."""
PAID = 4
REMEMBERED = 1000


class Hopeless:
    """Counts, for each task, what failed since its last reply from one backend."""

    def __init__(self) -> None:
        self._counts: OrderedDict[int, tuple[int, int]] = OrderedDict()

    def answered(self, task_id: int | None) -> None:
        """The task got a reply: all is forgotten."""
        if task_id is not None:
            self._counts.pop(task_id, None)

    def failed(self, task_id: int | None, answers: int, *, paid: bool) -> bool:
        """Note a failure.

        Args:
            task_id: whose request it was; one outside any task never counts.
            answers: how many replies the backend has given so far, to anybody.
            paid: whether part of a reply came, which costs.

        Returns:
            Whether it makes no sense to go on.
        """
        if task_id is None:
            return False
        count, seen = self._counts.pop(task_id, (0, -1))
        if answers > seen:
            count += PAID if paid else 1
        self._counts[task_id] = (count, answers)
        while len(self._counts) > REMEMBERED:
            self._counts.popitem(last=False)
        return count >= ENOUGH
