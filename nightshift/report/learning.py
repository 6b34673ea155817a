"""The figures on failures and memory: the most common failures, the lessons, and whether recalling them helps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from nightshift.core.shares import Interval, Share, difference
from nightshift.storage.db.report_queries import FailureRow, TrialRow

COMMONEST = 6
ENOUGH = 20
"""Minimum number of attempts with lessons, and without, for a comparison."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """Failures with the same normalised signature.

    Attributes:
        signature: the signature.
        count: number of failures.
        tasks: number of tasks with such a failure.
        solved: number of these failures that were fixed.
        example: the first such failure in the span.
        lesson: the newest lesson from these failures; empty if there is none.
    """

    signature: str
    count: int
    tasks: int
    solved: int
    example: FailureRow
    lesson: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Uplift:
    """A comparison of two groups of attempts: one was shown lessons, the other (a random control group) none.

    For every attempt in either group, there was a relevant lesson.
    """

    shown: Share
    control: Share

    @property
    def enough(self) -> bool:
        """True if both groups have enough attempts for a comparison."""
        return min(self.shown.whole, self.control.whole) >= ENOUGH

    @property
    def solved(self) -> Interval | None:
        """Difference of the solved shares, with lessons minus without; None if a group is empty."""
        if not (self.shown.whole and self.control.whole):
            return None
        return difference(self.shown, self.control)


@dataclass(frozen=True, slots=True, kw_only=True)
class Learning:
    """The report's figures about learning.

    Attributes:
        patterns: the most common failures of the span.
        stored: number of failures in the span.
        fixed: number of failures in the span that were fixed.
        solutions: number of lessons from solved tasks.
        uplift: the comparison over all attempts that ended before the end of the span. With a small control group, one
            week is too short for a result.
        lately: the comparison over attempts that ended within the span.
    """

    patterns: Sequence[Pattern]
    stored: int
    fixed: int
    solutions: int
    uplift: Uplift
    lately: Uplift


def fold(failures: Sequence[FailureRow], solutions: int, trials: Sequence[TrialRow], since: datetime) -> Learning:
    """Compute the figures of a span; `trials` are all compared attempts up to the end of the span."""
    return Learning(
        patterns=_patterns(failures),
        stored=len(failures),
        fixed=sum(failure.solved for failure in failures),
        solutions=solutions,
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
