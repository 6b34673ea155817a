"""`nightshift load-tasks`: submits the tasks of a YAML file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from nightshift.client.errors import Exit
from nightshift.client.output import Cell
from nightshift.client.session import Session
from nightshift.client.tasks import submit
from nightshift.core.errors import InvalidTask
from nightshift.core.tasks.submission import as_input
from nightshift.queue.intake.inbox import with_ids
from nightshift.queue.intake.tasks_file import load_file


def load(session: Session, path: Path) -> int:
    """Submit the valid entries of a file, each with its key, and print the faults of the invalid entries."""
    reading, ids = load_file(path), dict[str, int]()
    rows: list[Mapping[str, object]] = []
    faults = list(reading.faults)
    for entry in reading.entries:
        try:
            task, is_new = submit(session, as_input(with_ids(entry, ids)))
        except KeyError:
            faults += entry.faults({"depends_on": "an entry above was refused"})
        except InvalidTask as invalid:
            faults += entry.faults(invalid.fields)
        else:
            ids[entry.key] = task.task_id
            rows.append({"task_id": task.task_id, "status": task.status, "new": is_new, "line": entry.line})
    lines = [f"{path.name}:{fault}" for fault in sorted(faults, key=lambda fault: (fault.line, fault.column))]
    _print_loaded(session, rows, lines, reading.notices)
    return Exit.USAGE if lines else Exit.OK


def _print_loaded(
    session: Session, rows: Sequence[Mapping[str, object]], faults: Sequence[str], notices: Sequence[str]
) -> None:
    if session.out.as_json:
        session.out.document({"tasks": rows, "notices": list(notices), "faults": faults})
        return
    for row in rows:
        what = row["status"] if row["new"] else "known"
        session.out.line(Cell(f"task {row['task_id']} {what} (line {row['line']})"))
    for text in (*notices, *(f"error: {fault}" for fault in faults)):
        session.out.note(text)
    session.out.note(f"{sum(bool(row['new']) for row in rows)} new of {len(rows)} tasks")
    session.note_if_down("the tasks wait in the queue until it starts")
