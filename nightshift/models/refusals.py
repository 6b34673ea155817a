"""Whether a refusal is about one request or about the backend: shown by what another task's request meets.

A request that is refused says nothing of the backend: a filter may have flagged its words. If the next request of
another task is answered, it was the request; if that is refused too, it is the backend (a wrong model name, a revoked
key), and both wait for their owner to mend it.
"""

from __future__ import annotations

from enum import Enum, auto


class Blame(Enum):
    """The cause of a refusal, as far as it is known."""

    OPEN = auto()
    REQUEST = auto()
    BACKEND = auto()


class Refusals:
    """The refusals of one backend."""

    def __init__(self) -> None:
        self._suspects = set[int | None]()
        self._at_fault = set[int | None]()

    def note_answer(self, task_id: int | None) -> None:
        """Note that a task was answered: whoever else was refused before is to blame himself."""
        self._at_fault |= self._suspects - {task_id}
        self._at_fault.discard(task_id)
        self._suspects.clear()

    def note_refusal(self, task_id: int | None) -> Blame:
        """Note a refusal, and say who is to blame; a second one of the same task alone ends the wait."""
        if task_id in self._at_fault or task_id in self._suspects:
            self._suspects.discard(task_id)
            return Blame.REQUEST
        if self._suspects:
            return Blame.BACKEND
        self._suspects.add(task_id)
        return Blame.OPEN
