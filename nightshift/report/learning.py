"""The figures on failures and memory: the most common failures, the lessons, and whether recalling them helps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from nightshift.core.events import Kind
from nightshift.core.shares import Interval, Share, difference
from nightshift.storage.db.report_queries import FailureRow, LogRow, TrialRow

KINDS = (Kind.LESSON_RECALLED,)
COMMONEST = 6
ENOUGH = 20
"""Minimum number of attempts on either side for a comparison."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """A kind of failure by its normalised signature.

    `example` is the first such failure in the span, `lesson` the newest lesson from them, if any.
    """

    signature: str
    count: int
    tasks: int
    solved: int
    example: FailureRow
    lesson: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Uplift:
    """Attempts that were shown lessons, and a random control group without; each had a relevant lesson."""

    shown: Share
    control: Share

    @property
    def enough(self) -> bool:
        """True if both sides have enough attempts for a comparison."""
        return min(self.shown.whole, self.control.whole) >= ENOUGH

    @property
    def solved(self) -> Interval | None:
        """How much more often attempts were solved with lessons; None if a side is empty."""
        if not (self.shown.whole and self.control.whole):
            return None
        return difference(self.shown, self.control)


@dataclass(frozen=True, slots=True, kw_only=True)
class Learning:
    """The figures of learning. `stored` and `fixed` count failures of the span, `solutions` lessons of solved tasks.

    `recalled` is the number of recalled lessons according to the log. `uplift` covers all attempts that ended before
    the end of the span, `lately` those that ended within it: with a small control group a week is too short for a
    result.
    """

    patterns: Sequence[Pattern]
    stored: int
    fixed: int
    solutions: int
    recalled: int
    uplift: Uplift
    lately: Uplift


def fold(
    failures: Sequence[FailureRow], solutions: int, trials: Sequence[TrialRow], since: datetime, log: Sequence[LogRow]
) -> Learning:  # fmt: skip
    """Compute the figures of the failures and lessons of a span; `trials` are all trials up to its end."""
    return Learning(
        patterns=_patterns(failures),
        stored=len(failures),
        fixed=sum(failure.solved for failure in failures),
        solutions=solutions,
        recalled=sum(row.kind == Kind.LESSON_RECALLED for row in log),
        uplift=_uplift(trials),
        lately=_uplift([trial for trial in trials if trial.at >= since]),
    )


def _patterns(failures: Sequence[FailureRow]) -> list[Pattern]:
    groups: dict[str, list[FailureRow]] = {}
    for failure in failures:
        groups.setdefault(failure.signature, []).append(failure)
    ranked = sorted(groups, key=lambda signature: (-len(groups[signature]), signature))
    return [_pattern(signature, groups[signature]) for signature in ranked[:COMMONEST]]


def _pattern(signature: str, failures: Sequence[FailureRow]) -> Pattern:
    lessons = [failure.lesson for failure in failures if failure.lesson]
    return Pattern(
        signature=signature,
        count=len(failures),
        tasks=len({failure.task_id for failure in failures}),
        solved=sum(failure.solved for failure in failures),
        example=failures[0],
        lesson=lessons[-1] if lessons else "",
    )


def _uplift(trials: Sequence[TrialRow]) -> Uplift:
    shown, control = ([trial.solved for trial in trials if trial.control is side] for side in (False, True))
    return Uplift(shown=Share(sum(shown), len(shown)), control=Share(sum(control), len(control)))
