"""Storage of tasks: a transaction on the database, and tasks and forks as rows.

The rules need some twenty queries inside one transaction with the event of each change. All SQL about tasks is in this
module, `listing`, `approvals` and `pauses`. `INDEXED BY`, `json_extract` and the status trigger of the schema are
specific to SQLite.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta

from nightshift.core.clock import from_text, to_text
from nightshift.core.errors import StaleFence, UnknownTask
from nightshift.core.events import Emitter, Event
from nightshift.core.tasks.forking import Fork
from nightshift.core.tasks.queueing import WAITING_FOR
from nightshift.core.tasks.states import Status
from nightshift.core.tasks.task import Spent, Task, TaskSpec, key_range
from nightshift.core.text.masking import Masker
from nightshift.storage.db.codec import decode, encode_sparse, like, read_row, spec_digest, storable
from nightshift.storage.db.event_log import EventLog
from nightshift.storage.db.sqlite import Connection, Row

Value = str | int | None
MAX_REASON_CHARS = 2000
"""Maximum number of characters of each text in the queue's rows, such as a reason, a question or an answer."""
_NOTHING = Spent()
_SELECT = "SELECT tasks.*, spec FROM tasks JOIN task_specs ON task_id = id "


@dataclass(frozen=True, slots=True, kw_only=True)
class Transaction:
    """The current transaction, with all the data and services that a change of the queue needs."""

    conn: Connection
    """The writer's connection."""
    events: EventLog
    """Stores the event of each change, in this transaction."""
    mask: Masker
    """Masks secrets in the texts of the queue's rows."""
    now: datetime
    """The time of all changes in this transaction."""
    shares: Callable[[TaskSpec], bool] = lambda _spec: False
    """Returns whether a hub schedules a task with this specification."""

    @property
    def emitter(self) -> Emitter:
        """Emitter that stores the events of changes in this transaction."""

        def store(event: Event) -> None:
            self.events.append(self.conn, event)

        return Emitter(store)

    def clean(self, text: str) -> str:
        """Prepare a text for a row: mask secrets, make it printable, and cut it to `MAX_REASON_CHARS`."""
        return self.mask.clean(text, MAX_REASON_CHARS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A task with the data that only the queue needs.

    `tries` counts the attempts since a person last requested the task. `resume` is True if the next claim continues the
    interrupted attempt. `fault` is set if the specification can no longer be read.
    """

    task: Task
    tries: int
    resume: bool
    fault: str = ""


def read(conn: Connection, task_id: int) -> Entry:
    """Read a task.

    Raises:
        UnknownTask: there is no task with that id.
    """
    if (entry := find_one(conn, task_id)) is None:
        raise UnknownTask(task_id)
    return entry


def find_one(conn: Connection, task_id: int) -> Entry | None:
    """Read a task; None if there is no task with that id."""
    row = conn.execute(_SELECT + "WHERE id = ?", (task_id,)).fetchone()
    return None if row is None else _entry(row)


def read_submitted(conn: Connection, task_id: int) -> TaskSpec:
    """Read the specification of an existing task as it was submitted, without later changes of the priority."""
    return _spec(conn.execute(_SELECT + "WHERE id = ?", (task_id,)).fetchone())[0]


def read_owned(conn: Connection, task_id: int, fence: int) -> Entry:
    """Read a task that runs under this fence.

    Raises:
        UnknownTask: there is no task with that id.
        StaleFence: the task does not run, or runs under another fence.
    """
    entry = read(conn, task_id)
    if entry.task.status is not Status.RUNNING or entry.task.fence != fence:
        raise StaleFence
    return entry


def next_ready(conn: Connection, only: int | None = None) -> Entry | None:
    """Return the task to claim next: the one with the highest priority, or the oldest of several.

    This is a single step into an index, however many tasks wait. With `only`, return the task with that id instead, or
    None if it is not queued.
    """
    if only is not None:
        row = conn.execute(_SELECT + "WHERE id = ? AND status = 'queued'", (only,)).fetchone()
        return None if row is None else _entry(row)
    head = "SELECT id FROM tasks INDEXED BY tasks_ready WHERE status = 'queued' ORDER BY priority DESC, id LIMIT 1"
    row = conn.execute(_SELECT + f"WHERE id = ({head})").fetchone()
    return None if row is None else _entry(row)


def running(conn: Connection, *, expired_at: datetime | None = None) -> list[Entry]:
    """List the running tasks; with `expired_at`, only those whose lease had expired at that time."""
    where = "WHERE status = 'running' AND (? IS NULL OR lease_until < ?) ORDER BY id"
    bound = expired_at and to_text(expired_at)
    return [_entry(row) for row in conn.execute(_SELECT + where, (bound, bound))]


def due(conn: Connection, now: datetime, limit: int) -> list[Entry]:
    """List scheduled tasks whose time has come, the longest due first."""
    where = "WHERE status = 'scheduled' AND not_before <= ? ORDER BY not_before LIMIT ?"
    return [_entry(row) for row in conn.execute(_SELECT + where, (to_text(now), limit))]


def without_model(conn: Connection, crashes: int) -> list[Entry]:
    """List scheduled tasks that can continue when a model is available, even if they have a time for the next try."""
    where = (
        "WHERE status = 'scheduled' AND (not_before IS NULL OR (resume = 1 AND crashes < ? AND reason NOT GLOB ?)) "
        "ORDER BY id"
    )
    return [_entry(row) for row in conn.execute(_SELECT + where, (crashes, f"{WAITING_FOR}*"))]


def list_parked(conn: Connection, crashes: int) -> list[Entry]:
    """List scheduled tasks whose attempt was interrupted, except those with `crashes` or more crashes."""
    where = "WHERE status = 'scheduled' AND resume = 1 AND crashes < ? ORDER BY id"
    return [_entry(row) for row in conn.execute(_SELECT + where, (crashes,))]


def list_parked_ids(conn: Connection, crashes: int) -> list[int]:
    """List the ids of tasks that wait for a model or a budget, without reading the rest of these tasks."""
    query = (
        "SELECT id FROM tasks WHERE status = 'scheduled' AND resume = 1 AND crashes < ? "
        "AND reason NOT GLOB ? ORDER BY id"
    )
    return [row["id"] for row in conn.execute(query, (crashes, f"{WAITING_FOR}*"))]


def put_off_for(conn: Connection, reason: str) -> list[Entry]:
    """List scheduled tasks that wait for exactly this reason."""
    return [_entry(row) for row in conn.execute(_SELECT + "WHERE status = 'scheduled' AND reason = ?", (reason,))]


def troubles(conn: Connection) -> tuple[tuple[str, int], ...]:
    """Count scheduled tasks by the external problem that they wait for."""
    query = "SELECT reason, count(*) FROM tasks WHERE status = 'scheduled' AND reason GLOB ? GROUP BY reason"
    rows = conn.execute(query, (f"{WAITING_FOR}*",)).fetchall()
    return tuple((row[0].removeprefix(WAITING_FOR), int(row[1])) for row in rows)


def next_due(conn: Connection) -> datetime | None:
    """Return when the next scheduled task is due; None if there is none."""
    query = "SELECT MIN(not_before) FROM tasks WHERE status = 'scheduled' AND not_before IS NOT NULL"
    text = conn.execute(query).fetchone()[0]
    return None if text is None else from_text(text)


def list_blocked_by(conn: Connection, task_id: int) -> list[Entry]:
    """List the blocked tasks that depend on this task."""
    where = (
        "WHERE status = 'blocked' AND id IN (SELECT task_id FROM task_dependencies WHERE depends_on = ?) ORDER BY id"
    )
    return [_entry(row) for row in conn.execute(_SELECT + where, (task_id,))]


def waiting_for(conn: Connection, task_id: int) -> set[int]:
    """Return the ids of all tasks that depend on this task, directly or indirectly."""
    query = (
        "WITH RECURSIVE waiting (id) AS (SELECT task_id FROM task_dependencies WHERE depends_on = ? "
        "UNION SELECT task_id FROM task_dependencies JOIN waiting ON depends_on = waiting.id) SELECT id FROM waiting"
    )
    return {row["id"] for row in conn.execute(query, (task_id,))}


def dependencies(conn: Connection, task_id: int) -> dict[int, Status]:
    """Map the tasks that this task depends on to their statuses."""
    query = "SELECT id, status FROM task_dependencies JOIN tasks ON id = depends_on WHERE task_id = ?"
    return {row["id"]: Status(row["status"]) for row in conn.execute(query, (task_id,))}


def subtasks(conn: Connection, parent_id: int, attempt: int | None = None) -> list[Entry]:
    """List a task's subtasks, from one attempt or from all attempts; see `core.tasks.task` for their keys."""
    query = _SELECT + "WHERE key >= ? AND key < ? ORDER BY id"
    return [_entry(row) for row in conn.execute(query, key_range(parent_id, attempt))]


def statuses(conn: Connection, ids: Iterable[int]) -> dict[int, Status]:
    """Map the ids of the given tasks to their statuses, for those tasks that exist."""
    rows = (conn.execute("SELECT id, status FROM tasks WHERE id = ?", (task_id,)).fetchone() for task_id in ids)
    return {row["id"]: Status(row["status"]) for row in rows if row is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """State of a task.

    `is_untouched` is True if the task has not begun and has no start time. A retry would lose a start time.
    """

    status: Status
    priority: int
    is_untouched: bool


def standings(conn: Connection, ids: Iterable[int]) -> dict[int, Standing]:
    """Map the ids of the given tasks to their states, for those tasks that exist."""
    query = "SELECT id, status, priority, attempt = 0 AND not_before IS NULL AS untouched FROM tasks WHERE id = ?"
    rows = (conn.execute(query, (task_id,)).fetchone() for task_id in ids)
    return {
        row["id"]: Standing(status=Status(row["status"]), priority=row["priority"], is_untouched=bool(row["untouched"]))
        for row in rows
        if row is not None
    }


def id_of_key(conn: Connection, key: str) -> int | None:
    """Return the id of the task that was submitted under this idempotency key; None if there is none."""
    row = conn.execute("SELECT id FROM tasks WHERE key = ?", (storable(key),)).fetchone()
    return None if row is None else int(row["id"])


def keys(conn: Connection, ids: Sequence[int]) -> dict[str, int]:
    """Map keys to task ids, for those of the given tasks that have a key."""
    query = "SELECT key, id FROM tasks WHERE key IS NOT NULL AND id IN (SELECT value FROM json_each(?))"
    return {row["key"]: row["id"] for row in conn.execute(query, (json.dumps(ids),))}


def insert(conn: Connection, spec: TaskSpec, status: Status, now: datetime) -> int:
    """Store a new task with its dependencies; return its id."""
    cursor = conn.execute(
        "INSERT INTO tasks (status, priority, key, description, not_before, created_at, project) "
        "VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            *(status, spec.priority, spec.key and storable(spec.key), storable(spec.description)),
            *(spec.not_before and to_text(spec.not_before), to_text(now), spec.project),
        ),
    )
    task_id = int(cursor.lastrowid or 0)
    text = encode_sparse(spec)
    row = (task_id, text, spec_digest(task_id, text))
    conn.execute("INSERT INTO task_specs (task_id, spec, digest) VALUES (?, ?, ?)", row)
    for other in spec.depends_on:
        conn.execute("INSERT INTO task_dependencies (task_id, depends_on) VALUES (?, ?)", (task_id, other))
    return task_id


def amend(conn: Connection, task_id: int, spec: TaskSpec) -> None:
    """Replace a task's specification; its dependencies stay as they are."""
    text = encode_sparse(spec)
    row = (text, spec_digest(task_id, text), task_id)
    conn.execute("UPDATE task_specs SET spec = ?, digest = ? WHERE task_id = ?", row)
    conn.execute("UPDATE tasks SET description = ? WHERE id = ?", (storable(spec.description), task_id))


def free_key(conn: Connection, task_id: int) -> None:
    """Remove the key of a task, so that another task can have the key."""
    amend(conn, task_id, replace(read_submitted(conn, task_id), key=None))
    conn.execute("UPDATE tasks SET key = NULL WHERE id = ?", (task_id,))


def hand_over_dependants(conn: Connection, old: int, new: int) -> None:
    """Make the tasks that depend on the task `old` depend on the task `new` instead."""
    for entry in list_blocked_by(conn, old):
        spec = read_submitted(conn, entry.task.id)
        others = tuple(new if each == old else each for each in spec.depends_on)
        amend(conn, entry.task.id, replace(spec, depends_on=others))
    conn.execute("UPDATE task_dependencies SET depends_on = ? WHERE depends_on = ?", (new, old))


def update(conn: Connection, task: Task, columns: Mapping[str, Value]) -> Task | None:
    """Change the row if it still has the status and the fence of `task`; return the changed task, or else None.

    Args:
        conn: the writer's connection.
        task: the task as it was read from the row.
        columns: new values by column name; the names come only from this program.
    """
    names = ", ".join(f"{name} = ?" for name in columns)
    changed = conn.execute(
        f"UPDATE tasks SET {names} WHERE id = ? AND status = ? AND fence = ? RETURNING *",  # noqa: S608  see above
        (*columns.values(), task.id, task.status, task.fence),
    ).fetchall()
    return _task(changed[0], task.spec) if changed else None


def extend_lease(conn: Connection, task_id: int, fence: int, until: datetime) -> bool | None:
    """Renew the lease; return True if a cancellation was requested, False if not, and None if the lease is lost."""
    renewed = conn.execute(
        "UPDATE tasks SET lease_until = ? WHERE id = ? AND fence = ? AND status = 'running' RETURNING cancel_requested",
        (to_text(until), task_id, fence),
    ).fetchall()
    return bool(renewed[0]["cancel_requested"]) if renewed else None


def renew_all(conn: Connection, until: datetime) -> None:
    """Set the end of every running task's lease to `until`, whether that is later or earlier than before."""
    conn.execute("UPDATE tasks SET lease_until = ? WHERE status = 'running'", (to_text(until),))


def bring_forward(conn: Connection, by: timedelta) -> int:
    """Make scheduled tasks due sooner, but not before a time that their owner set; return how many were changed."""
    owners = "SELECT json_extract(spec, '$.not_before') FROM task_specs WHERE task_id = id"
    rows = conn.execute(
        f"SELECT id, not_before, ({owners}) AS owners FROM tasks "  # noqa: S608  a constant of this function
        "WHERE status = 'scheduled' AND not_before IS NOT NULL"
    ).fetchall()
    times = [
        (max(to_text(from_text(row["not_before"]) - by), row["owners"] or ""), row["id"], row["not_before"])
        for row in rows
    ]
    sooner = [(new, task_id) for new, task_id, old in times if new < old]
    conn.executemany("UPDATE tasks SET not_before = ? WHERE id = ?", sooner)
    return len(sooner)


def find(conn: Connection, status: Status | None, limit: int, after: int | None, text: str | None) -> list[Task]:
    """List tasks, newest first; filters that are None do not apply. `after` is the last id of the previous page."""
    clauses: Sequence[tuple[str, Value]] = (
        ("status = ?", status),
        ("id < ?", after),
        ("description LIKE ? ESCAPE '\\'", like(text) if text else None),
    )
    given = [(clause, value) for clause, value in clauses if value is not None]
    where = "".join(f"AND {clause} " for clause, _ in given)
    query = _SELECT + f"WHERE id > 0 {where}ORDER BY id DESC LIMIT ?"
    return [_entry(row).task for row in conn.execute(query, (*(value for _, value in given), limit))]


def counts(conn: Connection) -> dict[Status, int]:
    """Count the tasks of each status, reading only an index."""
    by_status = dict(conn.execute("SELECT status, COUNT(*) FROM tasks GROUP BY status").fetchall())
    return {status: by_status.get(status, 0) for status in Status}


def keep_end(conn: Connection, task: Task, ended_at: datetime) -> None:
    """Store the end of a task that is tried again, because its next end will overwrite this one in its row."""
    conn.execute(
        "INSERT INTO earlier_ends (task_id, ended_at, status, iterations) VALUES (?, ?, ?, ?)",
        (task.id, to_text(ended_at), task.status, task.iterations),
    )


def insert_fork(conn: Connection, task_id: int, fork: Fork, state: str) -> None:
    """Store where a fork begins.

    `state` is the digest of the source attempt's state at that step. A state that a fork refers to is not pruned.
    """
    flags = (int(fork.noted), int(fork.held))
    conn.execute(
        "INSERT INTO task_forks (task_id, source, attempt, step_no, model, noted, held, work) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (task_id, fork.source, fork.attempt, fork.step_no, fork.model, *flags, state),
    )


def fork_origin(conn: Connection, task_id: int) -> tuple[Fork, str] | None:
    """Read the origin of a fork, and the digest of the state that it began with; None if the task is not a fork."""
    row = conn.execute("SELECT * FROM task_forks WHERE task_id = ?", (task_id,)).fetchone()
    return None if row is None else (read_row(Fork, row), row["work"])


def forks_of(conn: Connection, source: int) -> Sequence[tuple[int, Fork]]:
    """List the newest hundred forks of a task with their ids, oldest first."""
    query = "SELECT * FROM task_forks WHERE source = ? ORDER BY task_id DESC LIMIT 100"
    return [(row["task_id"], read_row(Fork, row)) for row in conn.execute(query, (source,))][::-1]


def list_held_beside(conn: Connection, task_id: int) -> list[int]:
    """List the other held forks of the task that this held fork came from; empty if the task is not a held fork."""
    query = (
        "SELECT beside.task_id FROM task_forks AS mine JOIN task_forks AS beside ON beside.source = mine.source "
        "WHERE mine.task_id = ? AND mine.held AND beside.held AND beside.task_id <> mine.task_id "
        "ORDER BY beside.task_id"
    )
    return [row["task_id"] for row in conn.execute(query, (task_id,))]


def write_spent(spent: Spent) -> str:
    """Encode a `Spent` value as the text of its column."""
    return json.dumps(asdict(spent))


def _entry(row: Row) -> Entry:
    spec, fault = _spec(row)
    return Entry(task=_task(row, spec), tries=row["tries"], resume=bool(row["resume"]), fault=fault)


def _spec(row: Row) -> tuple[TaskSpec, str]:
    """Read the specification, or its fault.

    The queue must continue even if another version wrote a specification that has other fields.
    """
    try:
        return decode(TaskSpec, row["spec"]), ""
    except ValueError as error:
        return TaskSpec(description=row["description"]), f"its specification cannot be read: {error}"


def _task(row: Row, spec: TaskSpec) -> Task:
    priority = row["priority"]  # the specification stays as submitted; the owner may have changed the priority
    return read_row(
        Task,
        row,
        spec=spec if spec.priority == priority else replace(spec, priority=priority),
        commit=row["commit_id"],
        spent=_read_spent(row["spent"]),
        spent_before=_read_spent(row["spent_before"]),
    )


def _read_spent(text: str) -> Spent:
    return _NOTHING if text == "{}" else Spent(**json.loads(text))
