"""The bounds of an attempt: the budget of its task for models, and its time.

Of the budget it knows what was used, what the owner granted, and how he is asked for more. What the subtasks of a task
used counts as used of the whole's budget, but never as used by it: no call is counted twice in a total.

The time stands still while a model is waited for. A local model may take minutes for a reply, and a busy server has it
waited for; both have limits of their own (`models.budgets.CallPolicy`). What `limits.wall_s` is there to end is work of
ours that does not come to an end.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from nightshift.attempt.services import AttemptServices
from nightshift.core.dialogue import Completion, ModelRequest
from nightshift.core.errors import BudgetSpent, Interruption, NeedsApproval
from nightshift.core.ports import Model
from nightshift.core.tasks import allowance
from nightshift.core.tasks.benchmarked import Benchmarked
from nightshift.core.tasks.change_checks import Approval, AskKind
from nightshift.core.tasks.task import Limits, Spent, Task
from nightshift.models.gateway import BoundModel


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
        self._allowed, self._on_subtasks = limits, Spent()

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
        return allowance.lower_limits(self._allowed, self._used)

    def open(self, wanted: str = "", benchmarked: tuple[Benchmarked, ...] = ()) -> BoundModel:
        """The gateway to the models, with what is left. Reads the ledger: call it in a thread.

        Args:
            wanted: whom the task's owner wants to be asked first.
            benchmarked: what a benchmark of its repository says of models.

        Raises:
            BudgetSpent: the owner has denied this attempt more.
        """
        task = self._task
        asked = self._services.queue.approvals(open_only=False, task_id=task.id)
        decided = [each for each in asked if each.ask.kind is AskKind.BUDGET and each.granted is not None]
        self._granted = tuple(each.ask.subject for each in decided if each.granted)
        used = self._services.steps.sum_spent_of(task.id) - task.spent_before
        self._on_subtasks = self._services.queue.sum_spent_on_subtasks(task.id)
        raised = allowance.raise_limits(self._limits, task.spent_before, self._granted)
        self._allowed = allowance.lower_limits(raised, self._on_subtasks)
        self._model = self._services.models.for_task(task.id, self._allowed, used, wanted, benchmarked)
        for each in decided:
            if not each.granted and each.attempt == task.attempt:
                raise BudgetSpent(_tell_denied(each))
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
            self._used + self._on_subtasks,
            self._granted,
            over.short,
        )
        return NeedsApproval(ask.question, (ask,)) if ask else over


def _tell_denied(approval: Approval) -> str:
    remark = f" ({approval.answer})" if approval.answer else ""
    return f"its owner did not grant more{remark}: {approval.ask.question.partition(';')[0]}"


class PausableTimeLimit:
    """A time limit that can be stopped; one for each run of an attempt.

    Args:
        wall_s: how long it may run, in seconds, without what it was stopped for; None is for ever.
    """

    def __init__(self, wall_s: float | None) -> None:
        self._limit = asyncio.timeout(wall_s)
        self._left_s: float | None = None
        self._stopped = 0

    @asynccontextmanager
    async def limit(self) -> AsyncIterator[None]:
        """Run under the limit.

        Raises:
            TimeoutError: it is over.
        """
        async with self._limit:
            yield

    def late_s(self, now: float) -> float:
        """By how much it is over, 0 while it is not or stands still; `now` is the loop's time, which is monotonic."""
        ends_at = self._limit.when()
        return 0.0 if ends_at is None or self._stopped else max(0.0, now - ends_at)

    @asynccontextmanager
    async def stopped(self) -> AsyncIterator[None]:
        """Stop the clock in this context; may be nested."""
        if not self._stopped and (ends_at := self._limit.when()) is not None:
            self._left_s = ends_at - asyncio.get_running_loop().time()
            self._limit.reschedule(None)
        self._stopped += 1
        try:
            yield
        finally:
            self._stopped -= 1
            if not self._stopped and self._left_s is not None:
                self._limit.reschedule(asyncio.get_running_loop().time() + self._left_s)
                self._left_s = None


class TimedModel:
    """A model whose replies are waited for without time going by; `on_reply` is called after each that is new."""

    def __init__(
        self, model: Model, time: PausableTimeLimit, on_reply: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        self._model, self._time, self._on_reply = model, time, on_reply

    async def complete(self, request: ModelRequest) -> Completion:
        """See `core.ports.Model.complete`."""
        async with self._time.stopped():
            completion = await self._model.complete(request)
        if self._on_reply and not completion.replayed:
            await self._on_reply()
        return completion
