"""The limits of an attempt: its task's budget for models, and its time.

The budget accounts for what was used and what the owner granted, and builds the question that asks the owner for more.
What the subtasks of a task used is deducted from the task's budget, but never counted as the task's own usage, so that
no call is counted twice in a total.

The clock stops while the attempt waits for a model. A local model may take minutes for a reply, and a busy server makes
the attempt wait; both have limits of their own (`models.call.CallPolicy`). `limits.wall_s` only ends Nightshift's own
work if it does not finish.
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
from nightshift.core.tasks.change_checks import Approval, AskKind
from nightshift.core.tasks.task import Limits, Spent, Task
from nightshift.models.gateway import BoundModel


class TaskBudget:
    """The model budget for one run of an attempt.

    Args:
        task: the claimed task.
        limits: the task's own limits, or those of the settings where it has none.
        services: the services of an attempt.
    """

    def __init__(self, task: Task, limits: Limits, services: AttemptServices) -> None:
        self._task, self._limits, self._services = task, limits, services
        self._model: BoundModel | None = None
        self._granted: tuple[str, ...] = ()
        self._allowed, self._on_subtasks = limits, Spent()

    @property
    def spent(self) -> Spent:
        """All model usage of the task since it was submitted."""
        return self._task.spent_before + self._used

    @property
    def _used(self) -> Spent:
        return self._model.spent if self._model else self._task.spent - self._task.spent_before

    @property
    def left(self) -> Limits:
        """The task's limits with the part of the model budget that is left; only available after `open`."""
        return allowance.lower_limits(self._allowed, self._used)

    def open(self, wanted: str = "") -> BoundModel:
        """Return the model gateway, limited to the remaining budget. Reads the ledger, so call it in a thread.

        Args:
            wanted: the model that the owner wants the task to ask first.

        Raises:
            BudgetSpent: the owner has denied this attempt a larger budget.
        """
        task = self._task
        asked = self._services.queue.approvals(open_only=False, task_id=task.id)
        decided = [each for each in asked if each.ask.kind is AskKind.BUDGET and each.granted is not None]
        self._granted = tuple(each.ask.subject for each in decided if each.granted)
        used = self._services.steps.sum_spent_of(task.id) - task.spent_before
        self._on_subtasks = self._services.queue.sum_spent_on_subtasks(task.id)
        raised = allowance.raise_limits(self._limits, task.spent_before, self._granted)
        self._allowed = allowance.lower_limits(raised, self._on_subtasks)
        self._model = self._services.models.for_task(task.id, self._allowed, used, wanted)
        for each in decided:
            if not each.granted and each.attempt == task.attempt:
                raise BudgetSpent(_tell_denied(each))
        return self._model

    def question(self, over: BudgetSpent) -> Interruption:
        """Return the exception that interrupts the attempt because its budget is spent.

        The exception asks the owner for a larger budget. If the owner cannot raise the budget, `over` is returned
        instead.
        """
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
    """A time limit that can be paused; each run of an attempt has its own.

    Args:
        wall_s: seconds that the run may take, without pauses; None means no limit.
    """

    def __init__(self, wall_s: float | None) -> None:
        self._limit = asyncio.timeout(wall_s)
        self._left_s: float | None = None
        self._stopped = 0

    @asynccontextmanager
    async def limit(self) -> AsyncIterator[None]:
        """Run under the limit.

        Raises:
            TimeoutError: the time is up.
        """
        async with self._limit:
            yield

    def late_s(self, now: float) -> float:
        """Return the seconds since the limit passed; 0 before that and while the clock is paused.

        `now` is the loop's time.
        """
        ends_at = self._limit.when()
        return 0.0 if ends_at is None or self._stopped else max(0.0, now - ends_at)

    @asynccontextmanager
    async def stopped(self) -> AsyncIterator[None]:
        """Pause the clock inside this context; contexts may be nested."""
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
    """A model that stops the attempt's clock while it replies; `on_reply` is called after each new reply."""

    def __init__(
        self, model: Model, time: PausableTimeLimit, on_reply: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        self._model, self._time, self._on_reply = model, time, on_reply

    async def complete(self, request: ModelRequest) -> Completion:
        """Complete a request, see `core.ports.Model.complete`."""
        async with self._time.stopped():
            completion = await self._model.complete(request)
        if self._on_reply and not completion.replayed:
            await self._on_reply()
        return completion
