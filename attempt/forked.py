"""How a forked task begins: at the case file that a step of another task left behind, and with the model it names."""

from __future__ import annotations

from dataclasses import dataclass, replace

from attempt.services import Parts
from core.forking import begun
from core.tasks import Task
from core.work import Work
from taskqueue import store


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Who is asked first (empty: as the settings say), and the first case file of an attempt; None: a fresh one."""

    model: str = ""
    work: Work | None = None


def origin(parts: Parts, task: Task) -> Origin:
    """Where an attempt of a task begins; each attempt of a fork begins at the same place. Reads the database."""
    found = store.fork_origin(parts.db.reader(), task.id)
    if found is None:
        return Origin()
    fork, digest = found
    work = parts.steps.work(digest)
    first = work and replace(begun(work, fork), attempt=task.attempt, spent=task.spent)
    return Origin(model=fork.model, work=first)
