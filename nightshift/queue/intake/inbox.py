"""Puts the readings of `tasks.yaml` into the queue, and tells in the log and the status what came of them.

Good entries are submitted one by one under their keys; what was submitted before stays as it is. An entry with faults
stays in the file and is told until it is mended. One that the queue refuses (its repository is not there, it depends on
a task that is not there) is tried again now and then, since what is wrong may be mended outside of the file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace

from nightshift.core.errors import InvalidTask
from nightshift.core.events import Emitter, Kind, Level
from nightshift.core.ports import Sink
from nightshift.core.tasks.queueing import Submitted
from nightshift.core.tasks.task import TaskSpec
from nightshift.core.text.faults import and_more
from nightshift.queue.intake.marked_yaml import Fault, bounded
from nightshift.queue.intake.tasks_file import Entry, Reading

Submit = Callable[[TaskSpec], Future[Submitted]]
Keep = Callable[[tuple[str, ...]], object]
SHOWN = 5


class Inbox:
    """Takes readings; lives on the watcher's thread. `notices` may be asked for on any.

    Args:
        submit: hands a task to the queue, which knows it by its key.
        emit: takes the events.
        name: what the file is called in messages.
        keep: stores the notices as they are now, for a status without a daemon.
    """

    def __init__(self, submit: Submit, emit: Sink, name: str = "tasks.yaml", keep: Keep = lambda _: None) -> None:
        self._submit, self._events, self._name, self._keep = submit, Emitter(emit), name, keep
        self._kept: tuple[str, ...] | None = None
        self._ids: dict[str, int] = {}
        self._faults: tuple[Fault, ...] = ()
        self._whole = False
        self._reported: Reading | None = None

    def take(self, reading: Reading) -> bool:
        """Submit what is not in the queue yet; False where the queue refused an entry, so that it is tried again.

        Raises:
            StoreError: the database did not take it; the same reading may be handed in again.
        """
        sent, refused = self._send([entry for entry in reading.entries if entry.key not in self._ids])
        new: list[int] = []
        for entry, answer in sent:
            try:
                submitted = answer.result()
            except InvalidTask as invalid:
                refused += entry.faults(invalid.fields)
                continue
            self._ids[entry.key] = submitted.task_id
            if submitted.differs:
                why = f"{entry.key!r} made task {submitted.task_id} before, which stays as it is: "
                refused += entry.faults({"key": f"{why}{', '.join(submitted.differs)} differ; give it another key"})
            new += [submitted.task_id] * submitted.created
        if new or reading != self._reported:
            self._report(reading, new)
        self._tell([*reading.faults, *refused], whole=False)
        return not refused

    def refuse(self, faults: Sequence[Fault]) -> None:
        """Report why nothing of a file counts."""
        self._reported = None
        self._tell(faults, whole=True)

    def notices(self) -> tuple[str, ...]:
        """What holds entries up at the moment, for the status."""
        faults, follows = self._faults, "none of its entries counts" if self._whole else "the entry waits"
        told = [f"{self._name}:{fault} ({follows} until this is mended)" for fault in faults[:SHOWN]]
        rest = and_more(len(faults) - SHOWN) if len(faults) > SHOWN else ""
        return (*told, f"{self._name}: {rest}") if rest else tuple(told)

    def _tell(self, faults: Sequence[Fault], *, whole: bool) -> None:
        """Report what was not reported before."""
        found, before = bounded(sorted(faults, key=lambda fault: (fault.line, fault.column))), self._faults
        self._faults, self._whole = found, whole
        for fault in found:
            if fault not in before:
                self._events.emit(
                    Kind.INBOX_REJECTED,
                    f"{self._name}:{fault}",
                    level=Level.WARNING,
                    file=self._name,
                    line=fault.line,
                    column=fault.column,
                )
        if self._kept != (now := self.notices()):
            self._keep(now)
            self._kept = now

    def _send(self, entries: Sequence[Entry]) -> tuple[list[tuple[Entry, Future[Submitted]]], list[Fault]]:
        """Hand all in before waiting for any, so that they share commits; only what others depend on is waited for."""
        sent: dict[str, tuple[Entry, Future[Submitted]]] = {}
        refused: list[Fault] = []
        for entry in entries:
            try:
                ids = {**self._ids, **{key: sent[key][1].result().task_id for key in entry.after if key in sent}}
                spec = with_ids(entry, ids)
            except (InvalidTask, KeyError):
                refused += entry.faults({"depends_on": "an entry above was refused"})
            else:
                sent[entry.key] = entry, self._submit(spec)
        return list(sent.values()), refused

    def _report(self, reading: Reading, new: Sequence[int]) -> None:
        self._reported, total = reading, reading.total
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


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
