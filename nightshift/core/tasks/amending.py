"""Amendments to a task that is requested again: a note that overrides the description, and packages to allow."""

from __future__ import annotations

from dataclasses import dataclass, replace

from nightshift.core.errors import InvalidTask
from nightshift.core.tasks.task import Language, TaskSpec

MAX_NOTE_CHARS = 4000
MAX_DESCRIPTION_CHARS = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Amendment:
    """Additions to a task: a note to its description, and distributions that the task may use."""

    note: str = ""
    packages: tuple[str, ...] = ()


NOTHING = Amendment()


def with_note(description: str, note: str) -> str:
    """Return a task's description with the owner's note below it.

    Raises:
        InvalidTask: The description and the note together are too long.
    """
    if not note:
        return description
    text = f"{description}\n\nA remark of the owner's, which holds where it differs: {note}"
    if len(text) > MAX_DESCRIPTION_CHARS:
        why = f"too long: with the task's description it has {len(text):,} characters; shorten it"
        raise InvalidTask({"note": why})
    return text


def amend(spec: TaskSpec, amendment: Amendment) -> TaskSpec:
    """Return the specification with the owner's additions.

    Raises:
        InvalidTask: The note is too long, or the additions name packages although the task is not in Python.
    """
    if amendment.packages and spec.language is not Language.PYTHON:
        raise InvalidTask({"package": "packages are only for tasks in Python; leave it out"})
    packages = tuple(dict.fromkeys((*spec.packages, *amendment.packages)))
    return replace(spec, description=with_note(spec.description, amendment.note), packages=packages)
