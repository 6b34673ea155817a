"""Tells whether a failure is the fault of one request or of the backend, by the answers that other tasks get.

A request that is refused says nothing of the backend: a filter may have flagged its words. If the next request of
another task is answered, it was the request; if that is refused too, it is the backend (a wrong model name, a revoked
key), and both wait for their owner to mend it.

An outage is waited out, however long it lasts. But a reply that always breaks off at the same word, or a prompt that
crashes the server, would be tried, and perhaps be paid for, for ever: failures between which the backend has answered
somebody else count against a task.
"""

from __future__ import annotations

from collections import OrderedDict

from nightshift.core.errors import ModelRefused
from nightshift.models.errors import BackendMisconfigured, RequestRefused

POISON_FAILURES = 40
"""A task is given up after so many failures in a row; one that was paid for counts as `PAID_FAILURE_WEIGHT`."""
PAID_FAILURE_WEIGHT = 4
REMEMBERED_TASKS = 1000


class TaskFailures:
    """The failures of all tasks at one backend since their last answers; a request outside of any has the task None."""

    def __init__(self) -> None:
        self._answers = 0
        self._refused = dict[int | None, int]()
        """Tasks to the answers that the backend had given when they were refused."""
        self._counts = OrderedDict[int, tuple[int, int]]()
        """Tasks to their failures, and to the answers given at the last one."""

    def note_answer(self, task_id: int | None) -> None:
        """Note that a task was answered: its own failures are forgotten, and those of others are their own fault."""
        self._answers += 1
        self._refused.pop(task_id, None)
        if task_id is not None:
            self._counts.pop(task_id, None)

    def note_refusal(self, task_id: int | None, error: RequestRefused) -> ModelRefused:
        """Note a refusal; the error that says who is to blame, which is `error` itself while that is open.

        A second refusal of the same task alone ends the wait.
        """
        if task_id in self._refused:
            self._refused[task_id] = -1
            return ModelRefused(str(error))
        if self._answers in self._refused.values():
            return BackendMisconfigured(f"{error}. Requests of several tasks were refused so")
        self._refused[task_id] = self._answers
        return error

    def note_failure(self, task_id: int | None, *, is_paid: bool) -> bool:
        """Note a failure that may pass; whether it makes no sense to go on.

        Args:
            task_id: whose request it was; one outside any task never counts.
            is_paid: whether part of a reply came, which costs.
        """
        if task_id is None:
            return False
        count, answers = self._counts.pop(task_id, (0, -1))
        if self._answers > answers:
            count += PAID_FAILURE_WEIGHT if is_paid else 1
        self._counts[task_id] = (count, self._answers)
        if len(self._counts) > REMEMBERED_TASKS:
            self._counts.popitem(last=False)
        return count >= POISON_FAILURES
