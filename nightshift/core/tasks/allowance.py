"""How much model use a task is allowed: its limits, raised by the owner's grants.

A grant names the new limit for the total use since the task was created (`budget:tokens:100000`), and not the increase.
So only the highest grant counts, whatever was used between two grants, and reading a grant twice has no effect. If the
settings have raised the limit meanwhile, the grant is not added to it.
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
    """The quantities that a budget limits; the values are names of fields of both `Limits` and `Spent`."""

    MODEL_CALLS = "model_calls"
    TOKENS = "tokens"
    COST_USD = "cost_usd"


_UNITS = {Measure.MODEL_CALLS: " model calls", Measure.TOKENS: " tokens", Measure.COST_USD: ""}


def raise_limits(limits: Limits, before: Spent, granted: Iterable[str]) -> Limits:
    """Return the limits after the owner's grants, each as the amount that may be used in addition to `before`.

    Args:
        limits: The task's own limits and those of the settings.
        before: The use at the time when the owner last requested the task.
        granted: The subjects of all grants since the owner first requested the task.
    """
    subjects = tuple(granted)
    ceilings: dict[str, Any] = {each.value: _ceiling(each, limits, before, subjects) for each in Measure}
    return replace(limits, **ceilings)


def lower_limits(limits: Limits, used: Spent) -> Limits:
    """Return the limits minus the use; never below zero."""
    left: dict[str, Any] = {
        each.value: max(0, own - getattr(used, each)) for each in Measure if (own := getattr(limits, each)) is not None
    }
    return replace(limits, **left)


def ask_for_more(
    measure: Measure, task_id: int, limits: Limits, before: Spent, used: Spent, granted: Iterable[str], short: float
) -> Ask | None:
    """Return the question that asks the owner whether to raise a limit.

    The question offers to add the amount of the original limit, or a multiple of that amount if the next call needs
    more.

    Args:
        measure: The limit that is reached.
        task_id: The id of the task.
        limits: The task's own limits and those of the settings.
        before: The use at the time when the owner last requested the task.
        used: The use since then.
        granted: The subjects of the owner's grants.
        short: The amount that the next call lacks.

    Returns:
        The question; None if there is no such limit, or the limit is 0.
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
    """Return the amount that may be used in addition to `before`, after the grants; None means no limit."""
    own: float | int | None = getattr(limits, measure)
    if own is None:
        return None
    start = getattr(before, measure)
    given = [limit - start for subject in granted if (limit := _read_limit(measure, subject)) is not None]
    most = max([own, *given])
    return most if measure is Measure.COST_USD else int(most)


def _read_limit(measure: Measure, subject: str) -> float | None:
    """Return the new limit of this measure that a subject grants; None if the subject is about something else."""
    prefix, _, rest = subject.partition(":")
    name, _, number = rest.partition(":")
    try:
        return float(number) if (prefix, name) == (_PREFIX, measure.value) else None
    except ValueError:
        return None


def _count(amount: float) -> str:
    return f"{amount:,}"
