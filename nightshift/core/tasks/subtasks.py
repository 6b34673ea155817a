"""Subtasks: the parts that a plan may split a task into, and the key that links each part to its whole.

A part is a normal task with a special idempotency key, which names the whole, the attempt that planned it and its
position in the plan. So a plan that is carried out twice creates no task twice, and no separate table can disagree with
the tasks. These keys are reserved: `core.tasks.submission` rejects them from people.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from nightshift.core.tasks.task import Task, TaskSpec

MOST = 8
"""Most parts that a plan may have."""
FEWEST = 2
RESERVED = "split:"
"""Prefix of every subtask's key."""

_KEY = re.compile(r"split:(\d{1,15}):(\d{1,9}):\d{1,3}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Subtask:
    """One part of a plan.

    `files` are the paths that only this part changes, `tests` the given test files that are enough to judge it,
    `acceptance` the conditions that must be true when it is done. `after` are the positions, from 0, of earlier parts
    whose work it needs.
    """

    description: str
    files: tuple[str, ...]
    tests: tuple[str, ...] = ()
    acceptance: tuple[str, ...] = ()
    after: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SubtaskSpec:
    """A subtask as a task to be submitted. `after` has positions as in `Subtask`, because ids are not known yet."""

    spec: TaskSpec
    after: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """The whole that a task is a subtask of, and the task's own subtasks over all attempts, oldest first."""

    parent_id: int | None = None
    subtasks: tuple[Task, ...] = ()


def part_key(parent_id: int, attempt: int, number: int) -> str:
    """Return the key of a part; `number` counts the parts of an attempt's plan from 1."""
    return f"{RESERVED}{parent_id}:{attempt}:{number}"


def key_range(parent_id: int, attempt: int | None = None) -> tuple[str, str]:
    """Return the key range of the parts of an attempt, or of all attempts; the end is exclusive."""
    start = f"{RESERVED}{parent_id}" if attempt is None else f"{RESERVED}{parent_id}:{attempt}"
    return f"{start}:", f"{start};"  # `;` follows `:`


def whole_of(key: str | None) -> tuple[int, int] | None:
    """Return the whole's id and the attempt that planned the part with this key; None if the key is not a part's."""
    match = _KEY.fullmatch(key or "")
    return (int(match[1]), int(match[2])) if match else None


def as_plan(parts: Sequence[Subtask]) -> str:
    """Return the parts as a numbered plan."""
    return "\n".join(f"{number}. {' '.join(part.description.split())}" for number, part in enumerate(parts, 1))
