"""Submits the entries of `tasks.yaml` to the queue, and reports the result in the log and the status.

Valid entries are submitted one by one under their keys. A corrected entry replaces its task as long as the task has not
begun. An entry counts as corrected if it has the same key as the task, or a similar description while the task's own
entry is gone. An entry with faults stays in the file and is reported until it is corrected. An entry that the queue
refuses (because its repository or a dependency does not exist) is tried again periodically, because the cause may be
fixed outside the file.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace

from nightshift.core.errors import InvalidTask
from nightshift.core.events import Emitter, Kind, Level
from nightshift.core.ports import Sink
from nightshift.core.tasks.queueing import Submitted
from nightshift.core.tasks.states import OPEN
from nightshift.core.tasks.task import Task, TaskSpec
from nightshift.core.text.faults import and_more
from nightshift.queue.intake.marked_yaml import Fault, limit_faults
from nightshift.queue.intake.tasks_file import Entry, Reading
from nightshift.queue.manager import QueueManager

Keep = Callable[[tuple[str, ...], Sequence[int]], object]
SHOWN = 5
MOST_CORRECTED = 50
"""Maximum number of new entries, and of removed entries, that are compared. A larger edit is not treated as corrections
of existing entries.
"""
# Two limits: the minimum similarity (`difflib` ratio) at which a description counts as a correction of another, and the
# number of characters that are compared.
ALIKE, COMPARED_CHARS = 0.6, 2000


class Inbox:
    """Processes readings of the file. It belongs to the watcher's thread, but `notices` may be called on any thread.

    Args:
        queue: receives the tasks, and finds them by their keys.
        emit: receives the events.
        name: the file's name in messages.
        keep: stores the current notices and the ids of the entries' tasks. The status of a stopped daemon shows the
            notices.
        tasks: the ids of tasks that were stored last.
    """

    def __init__(
        self,
        queue: QueueManager,
        emit: Sink,
        name: str = "tasks.yaml",
        keep: Keep = lambda _notices, _tasks: None,
        tasks: Sequence[int] = (),
    ) -> None:
        self._queue, self._events, self._name, self._keep = queue, Emitter(emit), name, keep
        self._last_shown: tuple[tuple[str, ...], list[int]] | None = None
        self._ids = queue.keys(tasks)
        self._taken: dict[str, tuple[TaskSpec, tuple[str, ...]]] = {}
        self._faults: tuple[Fault, ...] = ()
        self._is_broken = False
        self._reported: Reading | None = None

    def take(self, reading: Reading) -> bool:
        """Submit the entries that are not in the queue yet.

        Returns False if the queue refused an entry, so that the caller tries again later.

        Raises:
            StoreError: the database could not be written; the same reading may be passed again.
        """
        gone = self._read_gone(reading)
        sent, refused = self._send([e for e in reading.entries if self._taken.get(e.key) != (e.spec, e.after)], gone)
        new, remarks = list[int](), list[str]()
        for entry, spec, answer in sent:
            try:
                submitted = answer.result()
                if submitted.differs:
                    submitted = self._queue.submit(spec, instead_of=submitted.task_id).result()
            except InvalidTask as invalid:
                refused += entry.faults(invalid.fields)
                continue
            self._ids[entry.key] = submitted.task_id
            if submitted.differs:
                why = f"{entry.key!r} already made task {submitted.task_id}, which stays as it is: "
                refused += entry.faults({"key": f"{why}{', '.join(submitted.differs)} differ; give it another key"})
                continue
            self._taken[entry.key] = entry.spec, entry.after
            new += [submitted.task_id] * submitted.created
            if submitted.replaces:
                remarks.append(f"task {submitted.task_id} replaces task {submitted.replaces}, which had not begun")
                gone.pop(submitted.replaces, None)
        if _is_complete(reading):
            remarks += [f"task {task_id} waits on, though its entry is gone" for task_id in gone]
        if new or remarks or reading != self._reported:
            self._report(reading, new, remarks)
        if _is_complete(reading):
            present = {entry.key for entry in reading.entries}
            self._ids = {key: task_id for key, task_id in self._ids.items() if key in present}
            self._taken = {key: taken for key, taken in self._taken.items() if key in present}
        self._tell([*reading.faults, *refused], is_broken=False)
        return not refused

    def _read_gone(self, reading: Reading) -> dict[int, Task]:
        """Return the tasks that have not begun and whose entries were removed from the file.

        If there are many, only the newest are returned.
        """
        present = {entry.key for entry in reading.entries}
        ids = sorted(task_id for key, task_id in self._ids.items() if key not in present)
        bad = reading.total - len(reading.entries)  # an entry with a fault is not gone
        tasks = map(self._queue.get, ids[-MOST_CORRECTED:] if reading.entries and len(ids) > bad else ())
        return {task.id: task for task in tasks if not task.attempt and task.status in OPEN}

    def refuse(self, faults: Sequence[Fault]) -> None:
        """Report why no entry of the file can be used."""
        self._reported = None
        self._tell(faults, is_broken=True)

    def notices(self) -> tuple[str, ...]:
        """List the faults that keep entries from being submitted now, for the status."""
        faults, follows = self._faults, "none of its entries is used" if self._is_broken else "the entry waits"
        lines = [f"{self._name}:{fault} ({follows} until this is fixed)" for fault in faults[:SHOWN]]
        rest = and_more(len(faults) - SHOWN) if len(faults) > SHOWN else ""
        return (*lines, f"{self._name}: {rest}") if rest else tuple(lines)

    def _tell(self, faults: Sequence[Fault], *, is_broken: bool) -> None:
        """Report faults, except those that were already reported."""
        current, before = limit_faults(sorted(faults, key=lambda fault: (fault.line, fault.column))), self._faults
        self._faults, self._is_broken = current, is_broken
        for fault in current:
            if fault not in before:
                self._events.emit(
                    Kind.INBOX_REJECTED,
                    f"{self._name}:{fault}",
                    level=Level.WARNING,
                    file=self._name,
                    line=fault.line,
                    column=fault.column,
                )
        if self._last_shown != (now := (self.notices(), list(self._ids.values()))):
            self._keep(*now)
            self._last_shown = now

    def _send(
        self, entries: Sequence[Entry], gone: Mapping[int, Task]
    ) -> tuple[list[tuple[Entry, TaskSpec, Future[Submitted]]], list[Fault]]:
        """Submit all entries before waiting for any result, so that they share database transactions.

        Only an entry that depends on others waits for their results.
        """
        sent: dict[str, tuple[Entry, TaskSpec, Future[Submitted]]] = {}
        refused: list[Fault] = []
        words = {task_id: _shorten(task.spec) for task_id, task in gone.items()}
        for entry in entries:
            try:
                ids = {key: sent[key][2].result().task_id if key in sent else self._ids[key] for key in entry.after}
            except (InvalidTask, KeyError):
                refused += entry.faults({"depends_on": "an entry above was refused"})
                continue
            spec = with_ids(entry, ids)
            is_compared = entry.key not in self._ids and len(entries) <= MOST_CORRECTED
            old = _find_alike(_shorten(spec), words) if is_compared else None
            words.pop(old or 0, None)
            sent[entry.key] = entry, spec, self._queue.submit(spec, instead_of=old)
        return list(sent.values()), refused

    def _report(self, reading: Reading, new: Sequence[int], remarks: Sequence[str]) -> None:
        self._reported, total = reading, reading.total
        notices = [*reading.notices, *remarks]
        message = f"{self._name}: {len(new)} new of {_count(total, 'entry', 'entries')}"
        data = {"file": self._name, "new": list(new[:100]), "entries": total, "notices": notices[:20]}
        level = Level.INFO if new or notices else Level.DEBUG
        self._events.emit(Kind.INBOX_READ, "; ".join([message, *notices]), level=level, **data)


def _is_complete(reading: Reading) -> bool:
    """Check whether entries that are missing were really removed.

    A file that is empty or has faults may be in the middle of an edit.
    """
    return bool(reading.entries) and not reading.faults


def _shorten(spec: TaskSpec) -> str:
    return spec.description[:COMPARED_CHARS]


def _find_alike(text: str, words: Mapping[int, str]) -> int | None:
    """Return the task whose words the text corrects: they are alike, or one begins with the other."""
    near = difflib.get_close_matches(text, words.values(), 1, ALIKE) or [
        other for other in words.values() if other.startswith(text) or text.startswith(other)
    ]
    return next((task_id for task_id, other in words.items() if near and other == near[0]), None)


def with_ids(entry: Entry, ids: Mapping[str, int]) -> TaskSpec:
    """Return the entry's task, with its dependencies on other entries replaced by the ids of their tasks.

    Raises:
        KeyError: an entry that it depends on has no id.
    """
    depends_on = dict.fromkeys((*entry.spec.depends_on, *(ids[key] for key in entry.after)))
    return replace(entry.spec, depends_on=tuple(depends_on))


def _count(number: int, singular: str, many: str) -> str:
    return f"{number} {singular if number == 1 else many}"
