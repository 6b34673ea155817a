"""A task's budget for models: what it has used of it, what its owner granted, and how he is asked for more.

What the parts of a task used that was split counts as used of the whole's budget, but never as used by it: no call is
counted twice in a total.
"""

from __future__ import annotations

from attempt.services import AttemptServices
from core import allowance
from core.change_checks import Approval, AskKind
from core.errors import BudgetSpent, Interruption, NeedsApproval
from core.tasks import Limits, Spent, Task
from model_handler import BoundModel


class TaskBudget:
    """The budget of one run of an attempt.

    Args:
        task: the claimed task.
        limits: its own limits over those of the settings.
        services: what an attempt is given.
    """

    def __init__(self, task: Task, limits: Limits, services: AttemptServices) -> None:
        self._task, self._limits, self._services = task, limits, services
        self._model: BoundModel | None = None
        self._granted: tuple[str, ...] = ()
        self._allowed, self._on_parts = limits, Spent()

    @property
    def spent(self) -> Spent:
        """All that the task has used of models since it was submitted."""
        return self._task.spent_before + self._used

    @property
    def _used(self) -> Spent:
        return self._model.spent if self._model else self._task.spent - self._task.spent_before

    @property
    def left(self) -> Limits:
        """The limits, with what may still be used of models; known once it was opened."""
        return allowance.lowered(self._allowed, self._used)

    def open(self, wanted: str = "") -> BoundModel:
        """The gateway to the models, with what is left. Reads the ledger: call it in a thread.

        Args:
            wanted: whom the task's owner wants to be asked first.

        Raises:
            BudgetSpent: the owner has denied this attempt more.
        """
        task = self._task
        asked = self._services.queue.approvals(open_only=False, task_id=task.id)
        decided = [each for each in asked if each.ask.kind is AskKind.BUDGET and each.granted is not None]
        self._granted = tuple(each.ask.subject for each in decided if each.granted)
        used = self._services.steps.spent_of(task.id) - task.spent_before
        self._on_parts = self._services.queue.spent_on_parts(task.id)
        raised = allowance.raised(self._limits, task.spent_before, self._granted)
        self._allowed = allowance.lowered(raised, self._on_parts)
        self._model = self._services.models.for_task(task.id, self._allowed, used, wanted)
        for each in decided:
            if not each.granted and each.attempt == task.attempt:
                raise BudgetSpent(_denied(each))
        return self._model

    def question(self, over: BudgetSpent) -> Interruption:
        """How an attempt waits for its owner whose budget is spent; where he cannot help, it ends as it would."""
        if over.measure is None:
            return over
        ask = allowance.ask_for_more(
            allowance.Measure(over.measure),
            self._task.id,
            self._limits,
            self._task.spent_before,
            self._used + self._on_parts,
            self._granted,
            over.short,
        )
        return NeedsApproval(ask.question, (ask,)) if ask else over


def _denied(approval: Approval) -> str:
    remark = f" ({approval.answer})" if approval.answer else ""
    return f"its owner did not grant more{remark}: {approval.ask.question.partition(';')[0]}"
