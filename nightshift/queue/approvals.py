"""Asks: questions by which tasks request decisions and answers from their owner.

Each ask and each answer is stored in one transaction with its event and the change of status that it causes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from nightshift.core.clock import to_text
from nightshift.core.errors import IllegalMove, UnknownApproval
from nightshift.core.events import ApprovalData, Kind, Level
from nightshift.core.tasks.change_checks import Answerer, Approval, Ask, AskKind, holding
from nightshift.core.tasks.states import ENDED, Status
from nightshift.core.tasks.task import Task
from nightshift.queue import store
from nightshift.queue.store import Transaction
from nightshift.queue.transitions import leave, make_spent_column, move
from nightshift.storage.db.codec import read_row, storable
from nightshift.storage.db.sqlite import Connection, Row

_SHARED = (AskKind.PACKAGE, AskKind.ENVIRONMENT)
"""Kinds of asks whose answer applies to a whole repository, and not only to one task."""
_ASKED_ONCE = (*_SHARED, AskKind.SETUP)
"""Kinds of asks whose answer also answers the same ask of other waiting tasks."""
_REPEATED = (
    "(approvals.kind IN ('package', 'environment', 'setup') "
    "AND EXISTS (SELECT 1 FROM approvals AS first JOIN tasks AS its "
    "ON its.id = first.task_id WHERE first.id < approvals.id AND first.subject = approvals.subject "
    "AND first.granted IS NULL AND its.status = 'waiting' AND its.repo = tasks.repo))"
)
"""SQL condition: an earlier approval, not yet decided, asks for the same thing in the same repository."""
_SELECT = "SELECT approvals.*, tasks.description AS wanted FROM approvals LEFT JOIN tasks ON tasks.id = task_id "


def wait(tx: Transaction, owned: tuple[int, int], message: str, asks: Sequence[Ask]) -> Task:
    """Let a running task (`owned`: id and fence) wait for decisions on `asks`, or for an answer if there are no asks.

    If the owner has decided on all of them meanwhile, the task is queued again instead.

    Raises:
        StaleFence: the task no longer belongs to this worker.
    """
    task = store.read_owned(tx.conn, *owned).task
    decided = _find_decided(tx.conn, task.id) | holding(of_repository(tx.conn, task.id), task.project).keys()
    question = Ask(kind=AskKind.QUESTION, subject="", question=message)
    wanted = [ask for ask in asks or (question,) if ask.subject not in decided]
    to, reason = (Status.WAITING, message) if wanted else (Status.QUEUED, "answered")
    waiting = leave(tx, task, to, reason, {**make_spent_column(tx, task), "resume": 1})
    if waiting.status is Status.WAITING:
        _ask(tx, waiting, wanted)
    return waiting


def _ask(tx: Transaction, task: Task, wanted: Sequence[Ask]) -> None:
    """Store the asks that are not stored yet, and withdraw earlier open asks that `wanted` does not repeat.

    If another task of the repository already has the same open ask, this ask is stored without an event, because one
    answer settles both asks.
    """
    wanted = [replace(ask, question=tx.clean(ask.question)) for ask in wanted]
    still = set[str]()
    for approval in open_of(tx.conn, task.id):
        if _what(approval.ask) in map(_what, wanted):
            still.add(_what(approval.ask))
        else:
            tx.conn.execute("DELETE FROM approvals WHERE id = ? AND granted IS NULL", (approval.id,))
    for ask in wanted:
        if _what(ask) not in still:
            is_asked_already = ask.kind in _ASKED_ONCE and _same_open(tx.conn, task.id, ask.subject)
            asked = _insert(tx, task, ask)
            if not is_asked_already:
                _emit(tx, Kind.ASKED, task.attempt, asked, asked.ask.question)


def _what(ask: Ask) -> str:
    """Return the text that identifies an ask within its task: the subject, or the question if there is no subject."""
    return ask.subject or storable(ask.question)


def decide(tx: Transaction, approval_id: int, granted: bool, answer: str) -> Approval:
    """Decide on one ask; a question that is granted without an answer gets its default as the answer.

    For a package or an environment, a yes also decides the same ask of all waiting tasks of the repository. A no
    decides only the same ask of tasks in the same project; if another project has the same ask, that ask is announced
    to the owner now. A decision on a setup script, whether yes or no, decides the same ask of all waiting tasks of the
    repository.

    Raises:
        UnknownApproval: there is no approval with that id.
        IllegalMove: the ask was decided before, or its task has ended.
    """
    asked = read(tx.conn, approval_id)
    if asked.granted is not None:
        raise IllegalMove(f"approval {approval_id} is already {_word(asked.granted)}")
    task = store.read(tx.conn, asked.task_id).task
    if task.status in ENDED:
        raise IllegalMove(f"task {task.id}, which asked this, is {task.status}")
    decided = _decide(tx, asked, granted, answer, Answerer.OWNER)
    if task.status is Status.WAITING:
        _resume(tx, task)
    same = _same_open(tx.conn, task.id, asked.ask.subject) if asked.ask.kind in _ASKED_ONCE else []
    tasks = {other.id: store.read(tx.conn, other.task_id).task for other in same}
    is_setup = asked.ask.kind is AskKind.SETUP
    settled = [other for other in same if granted or is_setup or tasks[other.id].project == task.project]
    for other in settled:
        _decide(tx, other, granted, answer, Answerer.OWNER)
        _resume(tx, tasks[other.id])
    left = [other for other in same if other not in settled]
    if left and left[0].id > asked.id:  # it was not announced while the same ask was open
        _emit(tx, Kind.ASKED, left[0].attempt, left[0], left[0].ask.question)
    return decided


def answer(tx: Transaction, approval_id: int, text: str) -> Approval:
    """Answer a question.

    Raises:
        UnknownApproval: there is no approval with that id.
        IllegalMove: the ask is not a question, was answered before, or its task has ended.
    """
    ask = read(tx.conn, approval_id).ask
    if ask.kind is not AskKind.QUESTION:
        raise IllegalMove(
            f"approval {approval_id} asks for a decision ({ask.kind}), not for a text; approve or deny it"
        )
    return decide(tx, approval_id, True, text)


def assume(tx: Transaction, asked_before: datetime) -> int:
    """Answer the questions from before a time, each with its default; return how many were answered."""
    overdue = _overdue(tx.conn, asked_before)
    for asked in overdue:
        task = store.read(tx.conn, asked.task_id).task
        if task.status is Status.WAITING:
            _decide(tx, asked, True, asked.ask.default, Answerer.ASSUMED)
            _resume(tx, task)
    return len(overdue)


def _decide(tx: Transaction, asked: Approval, granted: bool, answer: str, by: Answerer) -> Approval:
    text = tx.clean(answer or (asked.ask.default if granted else ""))
    tx.conn.execute(
        "UPDATE approvals SET granted = ?, answer = ?, answered_at = ?, answered_by = ? WHERE id = ?",
        (int(granted), storable(text), to_text(tx.now), by, asked.id),
    )
    is_answer = granted and asked.ask.kind is AskKind.QUESTION
    named = asked.ask.subject and not is_answer
    how = "assumed, because nobody answered: " if by is Answerer.ASSUMED else ""
    message = f"{asked.ask.subject} {_word(granted)}" if named else f"{how}{text}" or "answered"
    decided = read(tx.conn, asked.id)
    _emit(tx, Kind.ANSWERED, asked.attempt, decided, message)
    return decided


def _resume(tx: Transaction, task: Task) -> None:
    """Queue a waiting task again unless it has another open ask; the next claim continues its attempt."""
    if not open_of(tx.conn, task.id):
        move(tx, task, Status.QUEUED, reason="answered")


def _emit(tx: Transaction, kind: Kind, attempt: int, about: Approval, message: str) -> None:
    data = ApprovalData(approval=about.id, kind=about.ask.kind, subject=about.ask.subject, granted=about.granted)
    level = Level.WARNING if kind is Kind.ASKED else Level.INFO
    tx.emitter.bind(task_id=about.task_id, attempt=attempt).emit(kind, message, level=level, **data)


def _word(granted: bool) -> str:
    return "granted" if granted else "denied"


# The following functions read and write rows of the table of approvals.


def _insert(tx: Transaction, task: Task, ask: Ask) -> Approval:
    """Store an ask that has no decision yet."""
    cursor = tx.conn.execute(
        "INSERT INTO approvals (task_id, attempt, kind, subject, question, fallback, asked_at) "
        "VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            *(task.id, task.attempt, ask.kind, storable(ask.subject), storable(ask.question)),
            *(storable(ask.default), to_text(tx.now)),
        ),
    )
    return read(tx.conn, int(cursor.lastrowid or 0))


def read(conn: Connection, approval_id: int) -> Approval:
    """Read an approval.

    Raises:
        UnknownApproval: there is no approval with that id.
    """
    row = conn.execute(f"{_SELECT} WHERE approvals.id = ?", (approval_id,)).fetchone()
    if row is None:
        raise UnknownApproval(approval_id)
    return _approval(row)


def find(conn: Connection, open_only: bool, task_id: int | None, limit: int) -> list[Approval]:
    """List the newest approvals, in ascending order.

    `open_only` selects the approvals that a waiting task waits for. If one answer settles several open approvals, only
    the first of them is listed, unless `task_id` is given.
    """
    once = f"(? IS NOT NULL OR NOT {_REPEATED})"
    which = f"granted IS NULL AND status = 'waiting' AND {once}" if open_only else "(? IS NULL OR TRUE)"
    query = f"{_SELECT} WHERE (? IS NULL OR task_id = ?) AND {which} ORDER BY approvals.id DESC LIMIT ?"
    return [_approval(row) for row in conn.execute(query, (task_id, task_id, task_id, limit))][::-1]


def decisions(conn: Connection, before: int | None, limit: int) -> list[Approval]:
    """List decided approvals with an id below `before`, newest first."""
    where = "granted IS NOT NULL AND (? IS NULL OR approvals.id < ?)"
    query = f"{_SELECT} WHERE {where} ORDER BY approvals.id DESC LIMIT ?"
    return [_approval(row) for row in conn.execute(query, (before, before, limit))]


def open_count(conn: Connection) -> int:
    """Count the owner's answers that waiting tasks need."""
    query = (
        "SELECT COUNT(*) FROM approvals JOIN tasks ON tasks.id = task_id WHERE granted IS NULL AND status = 'waiting'"
    )
    return int(conn.execute(f"{query} AND NOT {_REPEATED}").fetchone()[0])


def open_of(conn: Connection, task_id: int) -> list[Approval]:
    """List a task's open approvals, whether the task still waits for them or not."""
    query = f"{_SELECT} WHERE task_id = ? AND granted IS NULL ORDER BY approvals.id"
    return [_approval(row) for row in conn.execute(query, (task_id,))]


def of_repository(conn: Connection, task_id: int) -> dict[str | None, dict[str, bool]]:
    """Read the owner's decisions on packages and environments for the task's repository.

    The result maps each project of the workspace to its decisions: a subject maps to True if the owner granted it. The
    project None stands for a repository without projects, or for tasks that have no plan yet. A no from before the task
    was created is left out, because a later task may ask again (`holding`).
    """
    query = (
        "SELECT tasks.project, subject, granted FROM approvals JOIN tasks ON tasks.id = task_id "
        "JOIN tasks AS this ON this.id = ? WHERE approvals.kind IN (?, ?) AND granted IS NOT NULL "
        "AND tasks.repo = this.repo "
        "AND (granted OR approvals.answered_at > this.created_at) ORDER BY approvals.answered_at, approvals.id"
    )
    decisions: dict[str | None, dict[str, bool]] = {}
    for row in conn.execute(query, (task_id, *_SHARED)):
        decisions.setdefault(row["project"], {})[row["subject"]] = bool(row["granted"])
    return decisions


def latest(conn: Connection, subject: str) -> bool | None:
    """Read the owner's latest decision on a subject, for any task; None if there is no decision."""
    query = (
        "SELECT granted FROM approvals WHERE subject = ? AND granted IS NOT NULL "
        "ORDER BY answered_at DESC, id DESC LIMIT 1"
    )
    row = conn.execute(query, (subject,)).fetchone()
    return None if row is None else bool(row["granted"])


def _same_open(conn: Connection, task_id: int, subject: str) -> list[Approval]:
    """List the open approvals of the repository's other waiting tasks for the same subject, oldest first."""
    which = "repo = (SELECT repo FROM tasks WHERE id = ?) AND granted IS NULL AND status = 'waiting'"
    query = f"{_SELECT} WHERE task_id <> ? AND subject = ? AND {which} ORDER BY approvals.id"
    return [_approval(row) for row in conn.execute(query, (task_id, subject, task_id))]


def _find_decided(conn: Connection, task_id: int) -> set[str]:
    """Return the subjects that the owner has decided on for a task.

    A denied budget is left out. The denial ended the attempt, but if the owner retries the task, the task may ask
    again.
    """
    query = (
        "SELECT subject FROM approvals WHERE task_id = ? AND granted IS NOT NULL AND subject <> '' "
        "AND NOT (kind = ? AND NOT granted)"
    )
    return {row["subject"] for row in conn.execute(query, (task_id, AskKind.BUDGET))}


def _overdue(conn: Connection, asked_before: datetime) -> list[Approval]:
    """List the open approvals that have a default and were asked before the given time, oldest first."""
    query = f"{_SELECT} WHERE granted IS NULL AND fallback <> '' AND asked_at < ? ORDER BY approvals.id"
    return [_approval(row) for row in conn.execute(query, (to_text(asked_before),))]


def _approval(row: Row) -> Approval:
    return read_row(
        Approval,
        row,
        ask=Ask(kind=AskKind(row["kind"]), subject=row["subject"], question=row["question"], default=row["fallback"]),
        answer=row["answer"] or "",
        answered_by=Answerer(row["answered_by"]) if row["answered_by"] else None,
        wanted=row["wanted"] or "",
    )
