"""Subtasks: the parts that a plan may split a task into, and the key that links each part to the task that was split.

A part is a normal task with a special idempotency key. The key names the task that was split (the whole), the attempt
that planned the part, and the part's position in the plan. So a plan that is carried out twice creates no task twice,
and no separate table can disagree with the tasks. These keys are reserved: `core.tasks.submission` rejects them from
people.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from nightshift.core.tasks.task import Task, TaskSpec

MOST = 8
"""Maximum number of parts in a plan."""
FEWEST = 2
RESERVED = "split:"
"""Prefix of each subtask's idempotency key."""

_KEY = re.compile(r"split:(\d{1,15}):(\d{1,9}):\d{1,3}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Subtask:
    """One part of a plan.

    `files` are the paths that only this part changes. `tests` are those of the owner's test files that are enough to
    judge the part. `acceptance` are the conditions that must be true when the part is done. `after` are the positions,
    counted from 0, of earlier parts whose work this part needs.
    """

    description: str
    files: tuple[str, ...]
    tests: tuple[str, ...] = ()
    acceptance: tuple[str, ...] = ()
    after: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SubtaskSpec:
    """A subtask as a task to submit. `after` has positions as in `Subtask`, because task ids are not known yet."""

    spec: TaskSpec
    after: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """The relatives of a task: its parent, if it is a subtask, and its own subtasks from all attempts, oldest first."""

    parent_id: int | None = None
    subtasks: tuple[Task, ...] = ()


def part_key(parent_id: int, attempt: int, number: int) -> str:
    """Return the idempotency key of a part; `number` counts the parts of an attempt's plan from 1."""
    return f"{RESERVED}{parent_id}:{attempt}:{number}"


def key_range(parent_id: int, attempt: int | None = None) -> tuple[str, str]:
    """Return the range of the keys of a task's parts (start, exclusive end), for one attempt or for all attempts."""
    start = f"{RESERVED}{parent_id}" if attempt is None else f"{RESERVED}{parent_id}:{attempt}"
    return f"{start}:", f"{start};"  # `;` is the character after `:`


def whole_of(key: str | None) -> tuple[int, int] | None:
    """Return the id of the task that was split and the attempt that planned the part; None if this is no part's key."""
    match = _KEY.fullmatch(key or "")
    return (int(match[1]), int(match[2])) if match else None


def as_plan(parts: Sequence[Subtask]) -> str:
    """Return the parts as the text of a numbered plan."""
    return "\n".join(f"{number}. {' '.join(part.description.split())}" for number, part in enumerate(parts, 1))
