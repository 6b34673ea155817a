"""Decides whether a failure is the fault of a request or of the backend, from the answers to other tasks.

A single refusal says nothing about the backend, since a filter may have flagged the request's text. If the next request
of another task is answered, the refused request was at fault. If that request is refused too, the backend is at fault
(a wrong model name, a revoked key), and both tasks wait for the owner to fix it.

Tasks wait for the end of an outage, however long it lasts. But a reply that always breaks off at the same word, or a
prompt that crashes the server, would be tried forever, perhaps at a cost. Therefore a failure counts against a task if
the backend has answered another task since the previous failure.
"""

from __future__ import annotations

from collections import OrderedDict

from nightshift.core.errors import ModelRefused
from nightshift.models.errors import BackendMisconfigured, RequestRefused

POISON_FAILURES = 40
"""Number of counted failures after which a task is given up. A failure that costs money counts as `PAID_FAILURE_WEIGHT`
failures.
"""
PAID_FAILURE_WEIGHT = 4
REMEMBERED_TASKS = 1000


class TaskFailures:
    """The failures of all tasks at one backend. The failures of a task are counted since its last answer.

    A request outside any task has the task None.
    """

    def __init__(self) -> None:
        self._answers = 0
        self._refused = dict[int | None, int]()
        """Maps a task to the number of answers that the backend had given when it refused the task."""
        self._counts = OrderedDict[int, tuple[int, int]]()
        """Maps a task to the number of its failures and of the answers that the backend had given at the last one."""

    def note_answer(self, task_id: int | None) -> None:
        """Record an answer to a task, and forget the failures of this task.

        Because of this answer, the next failure of each other task counts against that task.
        """
        self._answers += 1
        self._refused.pop(task_id, None)
        if task_id is not None:
            self._counts.pop(task_id, None)

    def note_refusal(self, task_id: int | None, error: RequestRefused) -> ModelRefused:
        """Record a refusal. Return an error that says what is at fault, or `error` itself while that is not known.

        If a task is refused again before it gets an answer, its requests are at fault.
        """
        if task_id in self._refused:
            self._refused[task_id] = -1
            return ModelRefused(str(error))
        if self._answers in self._refused.values():
            return BackendMisconfigured(f"{error}. The backend refused requests of several tasks in this way")
        self._refused[task_id] = self._answers
        return error

    def note_failure(self, task_id: int | None, *, is_paid: bool) -> bool:
        """Record a temporary failure; return True if the task must be given up.

        Args:
            task_id: the task of the request. A failure outside any task never counts.
            is_paid: True if part of a reply came, which costs money.
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
