"""How events are selected from the log's table, and made of its rows."""

from __future__ import annotations

import json
from dataclasses import dataclass

from core.clock import from_text
from core.events import RANK, Event, Kind, Level
from core.states import Phase
from db.codec import storable
from db.sqlite import Row

SELECT = "SELECT id, at, level, kind, message, task_id, attempt, iteration, phase, worker, data FROM execution_logs "
_AT_LEAST = {
    Level.DEBUG: "",
    Level.INFO: "AND level <> 'DEBUG' ",
    Level.WARNING: "AND level IN ('WARNING', 'ERROR') ",  # as the partial index has it
    Level.ERROR: "AND level IN ('WARNING', 'ERROR') AND level = 'ERROR' ",
}
assert list(_AT_LEAST) == list(RANK)


@dataclass(frozen=True, slots=True, kw_only=True)
class EventFilter:
    """Which events are wanted: of `level` or a worse one, of one task, one worker, one kind; None wants all."""

    level: Level | None = None
    task_id: int | None = None
    worker: str | None = None
    kind: Kind | None = None


def conditions(wanted: EventFilter, text: str | None = None) -> tuple[str, list[object]]:
    """What to add to a WHERE, each part beginning with AND, and the values for it.

    Args:
        wanted: which events.
        text: only those whose message holds it, in any case.
    """
    where, values = _AT_LEAST[wanted.level or Level.DEBUG], list[object]()
    for column in ("task_id", "worker", "kind"):
        if (value := getattr(wanted, column)) is not None:
            where, values = where + f"AND {column} = ? ", [*values, value]
    if text:
        where, values = where + "AND message LIKE ? ESCAPE '\\' ", [*values, like(text)]
    return where, values


def like(text: str) -> str:
    r"""A LIKE pattern (escape character `\`) for texts that hold this one."""
    escaped = storable(text).replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"%{escaped}%"


def event_of(row: Row) -> Event:
    """The event of a row of `SELECT`."""
    return Event(
        id=row["id"],
        at=from_text(row["at"]),
        level=Level(row["level"]),
        kind=Kind(row["kind"]),
        message=row["message"],
        task_id=row["task_id"],
        attempt=row["attempt"],
        iteration=row["iteration"],
        phase=row["phase"] and Phase(row["phase"]),
        worker=row["worker"],
        data=json.loads(row["data"]),
    )
