"""The figures on failures and on memory: what went wrong most often, what was learned, and whether recalling helps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from core.events import Kind
from core.shares import Interval, Share, difference
from core.states import Status
from db.report_rows import EndedTask, FailureRow, LogRow, ModelCall
from weekly.stats import Spread, spread
from weekly.task_figures import at_first_try

KINDS = (Kind.LESSON_RECALLED,)
COMMONEST = 6
ENOUGH = 20
"""Fewer tasks than this on either side are too few to compare."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """A kind of failure by its normalised signature.

    `example` is the error as it was met first in the span, `lesson` the newest thing learned from it, if anything.
    """

    signature: str
    count: int
    tasks: int
    solved: int
    example: FailureRow
    lesson: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """One side of a comparison."""

    solved: Share
    first_try: Share
    iterations: Spread
    tokens: Spread


@dataclass(frozen=True, slots=True, kw_only=True)
class Uplift:
    """Tasks whose first plan saw lessons against those whose first plan saw none. `unknown`: it is not known."""

    recalled: Arm
    without: Arm
    unknown: int

    @property
    def enough(self) -> bool:
        """Tell whether both sides have enough tasks to be compared at all."""
        return min(self.recalled.solved.whole, self.without.solved.whole) >= ENOUGH

    @property
    def interval(self) -> Interval | None:
        """The 95 % interval of the difference of the solve rates; None where a side is empty."""
        if not (self.recalled.solved.whole and self.without.solved.whole):
            return None
        return difference(self.recalled.solved, self.without.solved)


@dataclass(frozen=True, slots=True, kw_only=True)
class Learning:
    """What was learned. `stored` and `fixed` count failures of the span, `solutions` what was kept of solved tasks.

    `recalled` is how often lessons were; the log tells it.
    """

    patterns: Sequence[Pattern]
    stored: int
    fixed: int
    solutions: int
    recalled: int
    uplift: Uplift


def fold(
    failures: Sequence[FailureRow], solutions: int, tasks: Sequence[EndedTask], calls: Sequence[ModelCall],
    log: Sequence[LogRow],
) -> Learning:  # fmt: skip
    """The figures of the failures and lessons of a span; `tasks` has each task once."""
    return Learning(
        patterns=_patterns(failures),
        stored=len(failures),
        fixed=sum(failure.solved for failure in failures),
        solutions=solutions,
        recalled=sum(row.kind == Kind.LESSON_RECALLED for row in log),
        uplift=_uplift(tasks, _tokens(calls)),
    )


def _patterns(failures: Sequence[FailureRow]) -> list[Pattern]:
    groups: dict[str, list[FailureRow]] = {}
    for failure in failures:
        groups.setdefault(failure.signature, []).append(failure)
    ranked = sorted(groups, key=lambda signature: (-len(groups[signature]), signature))
    return [_pattern(signature, groups[signature]) for signature in ranked[:COMMONEST]]


def _pattern(signature: str, found: Sequence[FailureRow]) -> Pattern:
    lessons = [failure.lesson for failure in found if failure.lesson]
    return Pattern(
        signature=signature,
        count=len(found),
        tasks=len({failure.task_id for failure in found}),
        solved=sum(failure.solved for failure in found),
        example=found[0],
        lesson=lessons[-1] if lessons else "",
    )


def _tokens(calls: Sequence[ModelCall]) -> dict[int | None, int]:
    found = dict[int | None, int]()
    for call in calls:
        found[call.task_id] = found.get(call.task_id, 0) + call.tokens
    return found


def _uplift(tasks: Sequence[EndedTask], tokens: Mapping[int | None, int]) -> Uplift:
    judged = [task for task in tasks if task.started_at and task.status in {Status.DONE, Status.FAILED}]
    return Uplift(
        recalled=_arm([task for task in judged if task.lessons], tokens),
        without=_arm([task for task in judged if task.lessons == 0], tokens),
        unknown=sum(task.lessons is None for task in judged),
    )


def _arm(tasks: Sequence[EndedTask], tokens: Mapping[int | None, int]) -> Arm:
    done = sum(task.status is Status.DONE for task in tasks)
    return Arm(
        solved=Share(part=done, whole=len(tasks)),
        first_try=Share(part=sum(map(at_first_try, tasks)), whole=len(tasks)),
        iterations=spread(float(task.iterations) for task in tasks),
        tokens=spread(float(tokens.get(task.id, 0)) for task in tasks),
    )
