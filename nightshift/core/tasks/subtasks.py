"""Subtasks: the parts that a plan may split a task into, and the key that ties each part to its whole.

A part is a task like any other. What makes it a part is its idempotency key, which names the whole, the attempt that
planned it and its place in the plan: so a plan that is carried out twice makes no task twice, and no table beside the
tasks can disagree with them. The keys are the program's own; `core.tasks.submission` refuses them from people.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from nightshift.core.tasks.task import Task, TaskSpec

MOST = 8
"""How many parts a plan may have."""
FEWEST = 2
RESERVED = "split:"
"""Start of every subtask's key."""

_KEY = re.compile(r"split:(\d{1,15}):(\d{1,9}):\d{1,3}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Subtask:
    """One part of a plan.

    `files` are the paths that it alone changes, `tests` the given test files that judge it by themselves, `acceptance`
    what must be true when it is done. `after` are the positions, from 0, of earlier parts whose work it needs.
    """

    description: str
    files: tuple[str, ...]
    tests: tuple[str, ...] = ()
    acceptance: tuple[str, ...] = ()
    after: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SubtaskSpec:
    """A subtask as a task to be submitted; `after` as in `Subtask`, because ids are not known before."""

    spec: TaskSpec
    after: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """The whole that a task is a subtask of, and its own subtasks over all attempts, oldest first."""

    parent_id: int | None = None
    subtasks: tuple[Task, ...] = ()


def part_key(parent_id: int, attempt: int, number: int) -> str:
    """The key of the part with that number, from 1, of an attempt's plan."""
    return f"{RESERVED}{parent_id}:{attempt}:{number}"


def key_range(parent_id: int, attempt: int | None = None) -> tuple[str, str]:
    """The keys of the parts of an attempt, or of all: from the first text to before the second."""
    start = f"{RESERVED}{parent_id}" if attempt is None else f"{RESERVED}{parent_id}:{attempt}"
    return f"{start}:", f"{start};"  # `;` follows `:`


def whole_of(key: str | None) -> tuple[int, int] | None:
    """The whole's id and the attempt that planned the part with this key; None where it is no part."""
    match = _KEY.fullmatch(key or "")
    return (int(match[1]), int(match[2])) if match else None


def as_plan(parts: Sequence[Subtask]) -> str:
    """The parts as a numbered plan."""
    return "\n".join(f"{number}. {' '.join(part.description.split())}" for number, part in enumerate(parts, 1))
