"""Messages of owners to open tasks, each stored together with its event, so that none is lost if the daemon dies."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from nightshift.core.clock import to_text
from nightshift.core.errors import IllegalMove, InvalidTask
from nightshift.core.events import Kind
from nightshift.core.program import format_command
from nightshift.core.tasks.states import ENDED, Status
from nightshift.core.tasks.task import MAX_MESSAGE_CHARS, MOST_MESSAGES, OwnerMessage, Task
from nightshift.queue import store
from nightshift.queue.store import Transaction
from nightshift.storage.db.codec import read_row
from nightshift.storage.db.sqlite import Connection


def add(tx: Transaction, task_id: int, text: str, *, interrupts: bool) -> OwnerMessage:
    """Store an owner's message to a task.

    Raises:
        UnknownTask: there is no task with that id.
        IllegalMove: the task has ended, or is being cancelled.
        InvalidTask: the text is empty or too long, or the task has too many messages.
    """
    task = store.read(tx.conn, task_id).task
    if task.status in ENDED or task.cancel_requested:
        raise IllegalMove(_too_late(task))
    masked_text = tx.mask.shown(text.strip())
    if fault := _fault(masked_text, len(of_task(tx.conn, task_id))):
        raise InvalidTask({"text": fault})
    row = tx.conn.execute(
        "INSERT INTO task_messages (task_id, attempt, text, interrupts, at) VALUES (?, ?, ?, ?, ?) RETURNING *",
        (task_id, task.attempt, masked_text, interrupts, to_text(tx.now)),
    ).fetchone()
    about = tx.emitter.bind(task_id=task_id, attempt=task.attempt or None)
    about.emit(Kind.OWNER_SAID, masked_text[:1000], interrupts=interrupts)
    return read_row(OwnerMessage, row)


def _too_late(task: Task) -> str:
    if task.status is Status.DONE:
        return f"task {task.id} is done; add a follow-up task instead"
    if task.cancel_requested and task.status not in ENDED:
        return f"task {task.id} is being cancelled and takes no more messages"
    return f"task {task.id} is {task.status}; retry it first (`{format_command(f'retry {task.id}')}`), then send this"


def _fault(text: str, message_count: int) -> str:
    if not text:
        return "is empty; write what the model is to know"
    if len(text) > MAX_MESSAGE_CHARS:
        return f"has {len(text):,} characters, and {MAX_MESSAGE_CHARS:,} are the most; shorten it"
    if message_count >= MOST_MESSAGES:
        return f"comes after {MOST_MESSAGES} messages, the limit for a task; cancel it and add one with a better text"
    return ""


def of_task(conn: Connection, task_id: int) -> tuple[OwnerMessage, ...]:
    """List the messages to a task, oldest first."""
    rows = conn.execute("SELECT * FROM task_messages WHERE task_id = ? ORDER BY id", (task_id,))
    return tuple(read_row(OwnerMessage, row) for row in rows)


def interrupting(conn: Connection, task_ids: Collection[int]) -> dict[int, int]:
    """Map task ids to the id of the newest interrupting message, for those of the tasks that have one."""
    return dict(_newest(conn, task_ids))


def _newest(conn: Connection, task_ids: Collection[int]) -> Iterator[tuple[int, int]]:
    query = "SELECT max(id) FROM task_messages WHERE task_id = ? AND interrupts"
    for task_id in task_ids:
        (newest,) = conn.execute(query, (task_id,)).fetchone()
        if newest is not None:
            yield task_id, newest
