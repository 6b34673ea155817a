"""Puts the readings of `tasks.yaml` into the queue, and tells in the log what came of them.

A broken file is refused whole, so its last good reading stays. A good one is submitted entry by entry under its keys;
what was submitted before stays as it is. An entry that the queue itself refuses (it depends on a task that is not
there) is reported with its line, and is tried again at the next change of the file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path

from core.errors import InvalidTask
from core.events import Emitter, Kind, Level
from core.ports import Sink
from core.queueing import Submitted
from core.tasks import TaskSpec
from intake.marked_yaml import Fault, bounded
from intake.tasks_file import Entry, Reading
from intake.watcher import OnCrash, Watcher

Submit = Callable[[TaskSpec], Future[Submitted]]


class Inbox:
    """Takes readings; lives on the watcher's thread.

    Args:
        submit: hands a task to the queue, which knows it by its key.
        emit: takes the events.
        name: what the file is called in messages.
    """

    def __init__(self, submit: Submit, emit: Sink, name: str = "tasks.yaml") -> None:
        self._submit, self._events, self._name = submit, Emitter(emit), name
        self._ids: dict[str, int] = {}

    def take(self, reading: Reading) -> None:
        """Submit what is not in the queue yet.

        Raises:
            StoreError: the database did not take it; the same reading may be handed in again.
        """
        sent, refused = self._send([entry for entry in reading.entries if entry.key not in self._ids])
        new: list[int] = []
        for entry, answer in sent:
            try:
                submitted = answer.result()
            except InvalidTask as invalid:
                refused.append(Fault(line=entry.line, column=1, message=str(invalid)))
                continue
            self._ids[entry.key] = submitted.task_id
            if submitted.differs:
                why = f"key: {entry.key!r} made task {submitted.task_id} before, which stays as it is: "
                why += f"{', '.join(submitted.differs)} differ; give the entry another key"
                refused.append(Fault(line=entry.line, column=1, message=why))
            new += [submitted.task_id] * submitted.created
        self._report(reading, new)
        self.refuse(refused)

    def refuse(self, faults: Sequence[Fault]) -> None:
        """Report the faults of a reading."""
        for fault in bounded(faults):
            self._events.emit(
                Kind.INBOX_REJECTED,
                f"{self._name}:{fault}",
                level=Level.WARNING,
                file=self._name,
                line=fault.line,
                column=fault.column,
            )

    def _send(self, entries: Sequence[Entry]) -> tuple[list[tuple[Entry, Future[Submitted]]], list[Fault]]:
        """Hand all in before waiting for any, so that they share commits; only what others depend on is waited for."""
        sent: dict[str, tuple[Entry, Future[Submitted]]] = {}
        refused: list[Fault] = []
        for entry in entries:
            try:
                ids = {**self._ids, **{key: sent[key][1].result().task_id for key in entry.after if key in sent}}
                spec = with_ids(entry, ids)
            except (InvalidTask, KeyError):
                refused.append(Fault(line=entry.line, column=1, message="depends_on: an entry above was refused"))
            else:
                sent[entry.key] = entry, self._submit(spec)
        return list(sent.values()), refused

    def _report(self, reading: Reading, new: Sequence[int]) -> None:
        total = len(reading.entries)
        message = f"{self._name}: {len(new)} new of {_count(total, 'entry', 'entries')}"
        data = {"file": self._name, "new": list(new[:100]), "entries": total, "notices": list(reading.notices[:20])}
        level = Level.INFO if new or reading.notices else Level.DEBUG
        self._events.emit(Kind.INBOX_READ, "; ".join([message, *reading.notices]), level=level, **data)


def with_ids(entry: Entry, ids: Mapping[str, int]) -> TaskSpec:
    """The entry's task, its dependencies on other entries replaced by the ids of their tasks.

    Raises:
        KeyError: one of those entries has no id.
    """
    depends_on = dict.fromkeys((*entry.spec.depends_on, *(ids[key] for key in entry.after)))
    return replace(entry.spec, depends_on=tuple(depends_on))


def watch(path: Path, submit: Submit, emit: Sink, on_crash: OnCrash) -> Watcher:
    """A watcher, not started, that feeds the queue from the file."""
    inbox = Inbox(submit, emit, path.name)
    return Watcher(path, inbox.take, inbox.refuse, on_crash)


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
