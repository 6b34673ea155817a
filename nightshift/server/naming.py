"""Resolves a name that the owner gives for a task or a commit.

A name is a task's number, or the beginning of a commit id or of a branch name. Every command about one task or one
commit uses this module, so that a name means the same everywhere. A word of at most six digits can be both a task's
number and the beginning of a commit id. If several tasks or commits match, the error lists them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePath
from typing import Literal

from pydantic import Field

from nightshift.core.errors import AmbiguousName, UnknownName, UnknownTask
from nightshift.core.tasks.task import Task
from nightshift.queue.manager import QueueManager
from nightshift.server.formatting import Mask, short
from nightshift.server.query import Query
from nightshift.server.schemas import Answer
from nightshift.storage.db.commit_ledger import CommitLedger
from nightshift.storage.db.database import Database
from nightshift.storage.db.event_log import EventLog
from nightshift.storage.db.state_store import Commit

_TASK = re.compile(r"#?([0-9]{1,6})", re.ASCII)
_NUMBER = re.compile(r"#([0-9]{1,18})", re.ASCII)
"""A task's number after `#`. With the `#`, the text cannot be the beginning of a commit id."""
_COMMIT = re.compile(r"[0-9a-fA-F]{4,64}")
_DIGITS = re.compile(r"#?[0-9]+", re.ASCII)
MOST_CHARS = 250
SHOWN = 8
"""Maximum number of matches that an error lists."""


class NameQuery(Query):
    """A name to look up."""

    name: str = Field(
        min_length=1, max_length=MOST_CHARS, description="a number, or the beginning of a commit's id or of a branch"
    )
    repo: str | None = Field(None, max_length=4096, description="only commits of this repository, or below it")


class Named(Answer):
    """The task or commit that a name stands for.

    `by` is the kind of thing that the name matched. `commit` is the commit whose id matched, or else the newest commit
    of the task; it is null if the task has no commit. `newest` is the newest commit of the task. `branch`, `repo` and
    `label` are those of `commit`. `title` is the subject of `commit`, or the first line of the task if there is no
    commit.
    """

    by: Literal["task", "commit", "branch"]
    task_id: int
    commit: str | None
    newest: str | None
    branch: str
    repo: str
    label: str | None
    title: str


class Naming:
    """Finds tasks and commits by name; thread-safe.

    Args:
        database: contains the ledger; may be read-only.
        queue: contains the tasks.
        events: the event log, which the ledger needs.
        mask: removes secrets from titles.
    """

    def __init__(self, database: Database, queue: QueueManager, events: EventLog, mask: Mask) -> None:
        self._ledger, self._queue, self._mask = CommitLedger(database, events), queue, mask

    def find(self, name: str, repo: str | None = None) -> Named:
        """Return the single task or commit that a name matches.

        Raises:
            UnknownName: nothing matches.
            AmbiguousName: several things match; the message lists them.
        """
        name = name.strip()
        matches = {(each.task_id, each.commit): each for each in self._fitting(name) if _is_in(each, repo)}
        if not matches:
            raise _unknown(name)
        if len(matches) > 1:
            raise ambiguous(name, [_describe(each) for each in matches.values()])
        return next(iter(matches.values()))

    def _fitting(self, name: str) -> Iterator[Named]:
        number = _TASK.fullmatch(name) or _NUMBER.fullmatch(name)
        if number and (task := self._task(int(number[1]))):
            words = task.spec.description.partition("\n")[0]
            yield self._name_entry("task", task.id, self._newest(task.id), words)
        if _COMMIT.fullmatch(name):
            for entry in self._ledger.named(name.lower()):
                yield self._name_entry("commit", entry.task_id, entry)
        if not _DIGITS.fullmatch(name):
            entries = self._ledger.on_branches((name, f"agent/{name}"))
            exact = [entry for entry in entries if entry.branch in {name, f"agent/{name}"}]
            for entry in exact or entries:
                yield self._name_entry("branch", entry.task_id, entry)

    def _task(self, number: int) -> Task | None:
        try:
            return self._queue.get(number)
        except UnknownTask:
            return None

    def _newest(self, task_id: int) -> Commit | None:
        return next(iter(self._ledger.page(1, task_id=task_id)), None)

    def _name_entry(
        self, by: Literal["task", "commit", "branch"], task_id: int, entry: Commit | None, words: str = ""
    ) -> Named:
        newest = self._newest(task_id)
        return Named(
            by=by,
            task_id=task_id,
            commit=entry.commit if entry else None,
            newest=newest.commit if newest else None,
            branch=entry.branch if entry else "",
            repo=entry.repo if entry else "",
            label=entry.label if entry else None,
            title=short(entry.subject if entry else words, self._mask),
        )


def ambiguous(name: str, fitting: list[str]) -> AmbiguousName:
    """Build the error for a name that several things match; `fitting` describes each of them."""
    more = [f"and {len(fitting) - SHOWN} more"] if len(fitting) > SHOWN else []
    hint = f"; '#{name}' is the task alone" if _TASK.fullmatch(name) else "; give more characters of it"
    return AmbiguousName(f"{name} matches {len(fitting)}: {', '.join((*fitting[:SHOWN], *more))}{hint}")


def _describe(named: Named) -> str:
    title = " ".join(named.title.split())[:60]
    match named.by:
        case "task":
            return f"task {named.task_id} ({title})"
        case "commit":
            return f"commit {(named.commit or '')[:12]} of task {named.task_id} ({title})"
        case "branch":
            return f"branch {named.branch} of task {named.task_id}"


def _is_in(named: Named, repo: str | None) -> bool:
    return repo is None or (bool(named.repo) and PurePath(repo).is_relative_to(named.repo))


def _unknown(name: str) -> UnknownName:
    if number := _TASK.fullmatch(name):
        also = f", and no commit of Nightshift's begins with {name}" if _COMMIT.fullmatch(name) else ""
        return UnknownName(f"there is no task {number[1]}{also}")
    return UnknownName(
        f"no commit and no branch of Nightshift's begins with {name}; give a task's number, or the beginning of a "
        "commit's id (four digits or more) or of a branch"
    )
