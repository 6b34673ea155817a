"""Use of models that a task is allowed: its limits, and the owner's grants on top of them.

A grant names the new limit and not the step to it (`budget:tokens:100000`), counted from the task's first day: so
several add up whatever became of the attempts between them, one that is read twice counts once, and a limit that was
raised in the settings meanwhile is not raised again by it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from enum import StrEnum
from typing import Any

from nightshift.core.tasks.change_checks import Ask, AskKind
from nightshift.core.tasks.task import Limits, Spent
from nightshift.core.text.formats import money

_PREFIX = "budget"


class Measure(StrEnum):
    """Measures of a budget: fields of `Limits`, and of `Spent`."""

    MODEL_CALLS = "model_calls"
    TOKENS = "tokens"
    COST_USD = "cost_usd"


_UNITS = {Measure.MODEL_CALLS: " model calls", Measure.TOKENS: " tokens", Measure.COST_USD: ""}


def raise_limits(limits: Limits, before: Spent, granted: Iterable[str]) -> Limits:
    """The limits as they stand, counted from `before`.

    Args:
        limits: the task's own and the settings' limits.
        before: what it had used when its owner last asked for it.
        granted: the subjects of what he granted since he first did.
    """
    subjects = tuple(granted)
    ceilings: dict[str, Any] = {each.value: _ceiling(each, limits, before, subjects) for each in Measure}
    return replace(limits, **ceilings)


def lower_limits(limits: Limits, used: Spent) -> Limits:
    """The limits without what was used of them; never below nothing."""
    left: dict[str, Any] = {
        each.value: max(0, own - getattr(used, each)) for each in Measure if (own := getattr(limits, each)) is not None
    }
    return replace(limits, **left)


def ask_for_more(
    measure: Measure, task_id: int, limits: Limits, before: Spent, used: Spent, granted: Iterable[str], short: float
) -> Ask | None:
    """The question to the owner: as much again, or as often as much as the next call needs.

    Args:
        measure: the limit that is reached.
        task_id: whose.
        limits: the task's own and the settings' limits.
        before: what it had used when its owner last asked for it.
        used: what it has used since.
        granted: the subjects of what he granted.
        short: how much too little is left for the next call.

    Returns:
        None where there is no such limit, or none that would grow.
    """
    step, now = getattr(limits, measure), _ceiling(measure, limits, before, tuple(granted))
    if not step or now is None:
        return None
    more = step * max(1, math.ceil(short / step))
    new_limit = getattr(before, measure) + now + more
    shown = money if measure is Measure.COST_USD else _count
    has = f"task {task_id} has used {shown(getattr(used, measure))} of {shown(now)}{_UNITS[measure]}"
    next_one = f", and the next call needs {shown(short)} more than is left" if getattr(used, measure) < now else ""
    offer = f"grant {shown(more)} more" if more > step else f"grant as much again ({shown(more)})"
    return Ask(
        kind=AskKind.BUDGET, subject=f"{_PREFIX}:{measure}:{new_limit:.12g}", question=f"{has}{next_one}; {offer}?"
    )


def _ceiling(measure: Measure, limits: Limits, before: Spent, granted: tuple[str, ...]) -> float | int | None:
    """Return the most that may be used after `before`; None is unlimited."""
    own: float | int | None = getattr(limits, measure)
    if own is None:
        return None
    start = getattr(before, measure)
    given = [limit - start for subject in granted if (limit := _read_limit(measure, subject)) is not None]
    most = max([own, *given])
    return most if measure is Measure.COST_USD else int(most)


def _read_limit(measure: Measure, subject: str) -> float | None:
    """The limit that a subject grants; None where it is about something else."""
    prefix, _, rest = subject.partition(":")
    name, _, number = rest.partition(":")
    try:
        return float(number) if (prefix, name) == (_PREFIX, measure.value) else None
    except ValueError:
        return None


def _count(amount: float) -> str:
    return f"{amount:,}"
