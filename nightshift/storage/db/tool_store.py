"""Durable tool calls: the result of each call, and the change after it, are stored before the model is asked again.

A daemon that died finds the paid replies in `storage.db.step_store`, and the results of their tool calls in this store,
so that no call is run twice. A call without a stored result is run again. That is safe, because the call begins from
the stored change before it, and its only effect is a new change.
"""

from __future__ import annotations

import json
from concurrent.futures import Future
from dataclasses import astuple, dataclass
from datetime import datetime

from nightshift.core.clock import Clock, to_text, utc_now
from nightshift.core.errors import StaleFence
from nightshift.core.events import Event, Kind, ToolCalledData
from nightshift.core.tasks.states import Phase
from nightshift.core.text.masking import Masker
from nightshift.core.tools import ToolPlace, ToolRecord, brief
from nightshift.storage.db import artifacts
from nightshift.storage.db.codec import decode, encode, read_row, storable
from nightshift.storage.db.database import Database
from nightshift.storage.db.event_log import EventLog
from nightshift.storage.db.sqlite import Connection
from nightshift.storage.db.step_store import is_owned

MAX_NAME_CHARS = 100
_AT = "task_id = ? AND attempt = ? AND step_no = ? AND call_no = ?"
_PLACE = f"{_AT} AND seq = ?"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredCall:
    """The row of one tool call. `arguments` and `result` are digests; `chars` is the length of the result's text."""

    attempt: int
    step_no: int
    call_no: int
    seq: int
    name: str
    brief: str
    arguments: str
    result: str
    chars: int
    changed: bool
    ok: bool
    took_s: float
    at: datetime


class ToolStore:
    """Stores and reads the results of tool calls.

    Args:
        db: the database.
        events: receives one event for each call, in the call's transaction.
        clock: returns the time of calls.
        mask: removes secrets from arguments and results.
    """

    def __init__(self, db: Database, events: EventLog, *, clock: Clock = utc_now, mask: Masker | None = None) -> None:
        self._db, self._events, self._clock, self._mask = db, events, clock, mask or Masker()

    def stored(self, position: ToolPlace) -> ToolRecord | None:
        """Read the stored call at this position; None if there is none."""
        query = f"SELECT name, arguments, result, change, ok, took_s FROM tool_calls WHERE {_PLACE}"  # noqa: S608  a constant
        conn = self._db.reader()
        row = conn.execute(query, astuple(position)).fetchone()
        if row is None:
            return None
        change = artifacts.get(conn, row["change"]) if row["change"] else None
        return ToolRecord(
            name=row["name"],
            arguments=artifacts.get(conn, row["arguments"]) or "{}",
            text=artifacts.get(conn, row["result"]) or "",
            ok=bool(row["ok"]),
            change=None if change is None else decode(dict[str, str | None], change),
            took_s=row["took_s"],
        )

    def save(self, position: ToolPlace, fence: int, record: ToolRecord, *, worker: str | None = None) -> Future[None]:
        """Store a call, the change after it and its event, all or nothing.

        Secrets are removed from the arguments and the result. The change is stored without masking, since a resumed
        attempt commits its content. The future fails with `StaleFence` if the task no longer belongs to this worker.
        Storing a call twice is harmless, since the first one stays.
        """
        arguments = self._arguments(record.arguments)
        name = self._mask.clean(record.name, MAX_NAME_CHARS)
        values = ToolCalledData(
            name=name,
            brief=self._mask.shown(brief(name, arguments)),
            ok=record.ok,
            took_s=round(record.took_s, 3),
            chars=len(record.text),
            changed=record.change is not None,
        )
        text, change = self._mask(record.text), None if record.change is None else encode(record.change)

        def job(conn: Connection) -> None:
            if not is_owned(conn, position.task_id, fence):
                raise StaleFence
            if conn.execute(f"SELECT 1 FROM tool_calls WHERE {_PLACE}", astuple(position)).fetchone():  # noqa: S608  as above
                return
            conn.execute(
                "INSERT INTO tool_calls (task_id, attempt, step_no, call_no, seq, name, brief, arguments, result, "
                "change, ok, took_s, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *(*astuple(position), storable(name), storable(values["brief"])),
                    *(artifacts.put(conn, arguments), artifacts.put(conn, text)),
                    *(None if change is None else artifacts.put(conn, change), record.ok, record.took_s),
                    to_text(self._clock()),
                ),
            )
            self._events.append(conn, _event(conn, position, values, worker))

        return self._db.write_retrying(job)

    def _arguments(self, text: str) -> str:
        """Return the arguments as JSON without secrets; invalid or too deeply nested JSON becomes a JSON string."""
        try:
            given = json.loads(text)
            masked = self._mask.mask_data(given)
            return text if masked == given else encode(masked)
        except (ValueError, RecursionError):
            return encode(self._mask(text))


def _event(conn: Connection, position: ToolPlace, values: ToolCalledData, worker: str | None) -> Event:
    """Return the event of a call. Its iteration and phase are those of the reply that contains the call."""
    query = f"SELECT iteration, phase FROM replies WHERE {_AT}"  # noqa: S608  a constant
    reply = conn.execute(query, astuple(position)[:4]).fetchone()
    return Event(
        kind=Kind.TOOL_CALLED,
        message=values["brief"] if values["ok"] else f"failed: {values['brief']}",
        task_id=position.task_id,
        attempt=position.attempt,
        iteration=reply["iteration"] if reply else None,
        phase=Phase(reply["phase"]) if reply else None,
        worker=worker,
        data=dict(values),
    )


def calls(conn: Connection, task_id: int, attempt: int, step_no: int) -> list[StoredCall]:
    """List the calls of a step, in the order in which they were made."""
    query = (
        "SELECT attempt, step_no, call_no, seq, name, brief, arguments, result, artifacts.chars, change, ok, took_s, "
        "tool_calls.at FROM tool_calls JOIN artifacts ON digest = result "
        "WHERE task_id = ? AND attempt = ? AND step_no = ? ORDER BY call_no, seq"
    )
    return [
        read_row(StoredCall, row, changed=row["change"] is not None)
        for row in conn.execute(query, (task_id, attempt, step_no))
    ]


def counts(conn: Connection, task_id: int, attempt: int) -> dict[int, tuple[int, int]]:
    """Count the calls and the failed calls of each step of an attempt, by the step's number."""
    query = "SELECT step_no, COUNT(*), SUM(ok = 0) FROM tool_calls WHERE task_id = ? AND attempt = ? GROUP BY step_no"
    return {step_no: (count, failed) for step_no, count, failed in conn.execute(query, (task_id, attempt))}
