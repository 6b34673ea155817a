"""The report's figures about tasks: how they ended, how many tries and how much time they took, and why some failed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from nightshift.core.shares import Share
from nightshift.core.tasks.states import Ending, Status
from nightshift.report.causes import Cause, cluster
from nightshift.report.stats import Spread, count_each, spread
from nightshift.storage.db.brief_queries import TITLE_CHARS, FailedTask
from nightshift.storage.db.report_queries import EndedTask, FailureRow

SLOWEST = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFigures:
    """The tasks that ended in the span. `first_try` counts done tasks that needed one attempt and one iteration."""

    submitted: int
    open_at_end: int
    by_status: Mapping[Status, int]
    by_ending: Mapping[Ending, int]
    first_try: int
    iterations: Spread
    duration_s: Spread
    queue_wait_s: Spread
    slowest: Sequence[EndedTask]
    causes: Sequence[Cause]
    """The causes of the failed tasks, as in the brief."""

    @property
    def ended(self) -> int:
        """Number of tasks that ended, whatever their status."""
        return sum(self.by_status.values())

    def count(self, status: Status) -> int:
        """Return the number of tasks that ended with this status."""
        return self.by_status.get(status, 0)

    @property
    def success(self) -> Share:
        """The share of done tasks among done and failed ones. Cancelled tasks say nothing about the agent."""
        return Share(part=self.count(Status.DONE), whole=self.count(Status.DONE) + self.count(Status.FAILED))


def fold(
    ended: Sequence[EndedTask],
    failures: Iterable[FailureRow],
    needed: Mapping[int, Sequence[int]],
    *,
    submitted: int,
    open_at_end: int,
) -> TaskFigures:
    """Compute the figures of the tasks that ended in a span. `ended` must have each task only once.

    `failures` are those of the span, oldest first. `needed` maps task ids to the ids of the tasks' dependencies, for
    tasks that failed because of a dependency.
    """
    worked = [task for task in ended if task.started_at]
    return TaskFigures(
        submitted=submitted,
        open_at_end=open_at_end,
        by_status=count_each(task.status for task in ended),
        by_ending=count_each(task.ending for task in ended if task.ending),
        first_try=sum(map(at_first_try, ended)),
        iterations=spread(float(task.iterations) for task in worked),
        duration_s=spread(map(duration_s, worked)),
        queue_wait_s=spread(map(wait_s, worked)),
        slowest=sorted(worked, key=lambda task: (-duration_s(task), task.id))[:SLOWEST],
        causes=cluster(_find_failures(ended, failures, needed)),
    )


def last_ends(ended: Iterable[EndedTask]) -> list[EndedTask]:
    """Return each task once, with its last ending, sorted by id."""
    last: dict[int, EndedTask] = {}
    for task in ended:
        if task.id not in last or last[task.id].ended_at <= task.ended_at:
            last[task.id] = task
    return [last[number] for number in sorted(last)]


def at_first_try(task: EndedTask) -> bool:
    """Check whether a task is done and needed only one attempt and one iteration."""
    return task.status is Status.DONE and task.attempt <= 1 and task.iterations <= 1


def duration_s(task: EndedTask) -> float:
    """Return the seconds from a started task's first start to its end."""
    assert task.started_at is not None
    return (task.ended_at - task.started_at).total_seconds()


def wait_s(task: EndedTask) -> float:
    """Return the seconds that a started task waited before its first start.

    If the task had a time before which it could not start, waiting counts from that time.
    """
    assert task.started_at is not None
    asked = task.not_before if task.not_before and task.not_before <= task.started_at else task.created_at
    return max(0.0, (task.started_at - max(asked, task.created_at)).total_seconds())


def _find_failures(
    ended: Iterable[EndedTask], failures: Iterable[FailureRow], needed: Mapping[int, Sequence[int]]
) -> list[FailedTask]:
    """Return the failed tasks, each with its last failure. A failed dependency is included if it was the cause."""
    of_task: dict[int | None, list[FailureRow]] = {}
    for failure in failures:
        of_task.setdefault(failure.task_id, []).append(failure)
    failed = {task.id: task for task in ended if task.status is Status.FAILED}
    return [
        _with_cause(
            task,
            [each for each in of_task.get(task.id, ()) if each.at <= task.ended_at],
            next((other for other in needed.get(task.id, ()) if other in failed), None),
        )
        for task in failed.values()
    ]


def _with_cause(task: EndedTask, failures: Sequence[FailureRow], blocker: int | None) -> FailedTask:
    last = failures[-1] if failures else None
    return FailedTask(
        id=task.id,
        title=task.description[:TITLE_CHARS],
        repo=task.repo,
        ending=task.ending,
        reason=task.reason,
        ended_at=task.ended_at,
        error=last.error if last else "",
        signature=last.signature if last else "",
        blocker=blocker,
    )
