"""How tasks wait for their owner and go on: each ask and each answer is stored with its event and the move it makes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from nightshift.core.clock import from_text, to_text
from nightshift.core.errors import IllegalMove, UnknownApproval
from nightshift.core.events import ApprovalData, Kind, Level
from nightshift.core.tasks.change_checks import Answerer, Approval, Ask, AskKind, holding
from nightshift.core.tasks.states import ENDED, Status
from nightshift.core.tasks.task import Task
from nightshift.queue import store
from nightshift.queue.store import Transaction
from nightshift.queue.transitions import leave, make_spent_column, move
from nightshift.storage.db.codec import storable
from nightshift.storage.db.sqlite import Connection, Row

_SHARED = (AskKind.PACKAGE, AskKind.ENVIRONMENT)
"""Kinds of questions whose answer holds for a repository, and not for one task alone."""
_ASKED_ONCE = (*_SHARED, AskKind.SETUP)
"""Kinds of questions whose answer settles the same question of other waiting tasks as well."""
_REPEATED = (
    "(approvals.kind IN ('package', 'environment', 'setup') "
    "AND EXISTS (SELECT 1 FROM approvals AS first JOIN tasks AS its "
    "ON its.id = first.task_id WHERE first.id < approvals.id AND first.subject = approvals.subject "
    "AND first.granted IS NULL AND its.status = 'waiting' AND its.repo = tasks.repo))"
)
"""Tells of a row of approvals that an earlier one asks the same for its repository."""
_SELECT = "SELECT approvals.*, tasks.description AS wanted FROM approvals LEFT JOIN tasks ON tasks.id = task_id "


def wait(tx: Transaction, owned: tuple[int, int], message: str, asks: Sequence[Ask]) -> Task:
    """Let a running task (`owned` is its id and fence) wait for what it asks its owner; without `asks` for an answer.

    It is queued again instead when its owner has decided on everything meanwhile.

    Raises:
        StaleFence: the task is no longer this worker's.
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
    """Store what is not stored yet; what an earlier attempt asked and this one does not is withdrawn.

    What another task of the repository asks already is stored without a word: a yes is for both.
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
    """Return the text that tells the questions of a task apart: the subject, or the words where there is no subject."""
    return ask.subject or storable(ask.question)


def decide(tx: Transaction, approval_id: int, granted: bool, answer: str) -> Approval:
    """Answer one ask; a question that is granted without an answer gets its default.

    A yes to a package or an environment answers all tasks of the repository that wait for the same, a no those of the
    project there; of another project the question is told then. What is said of a setup script is for all of them.

    Raises:
        UnknownApproval: there is none with that id.
        IllegalMove: it was decided before, or its task has ended.
    """
    asked = read(tx.conn, approval_id)
    if asked.granted is not None:
        raise IllegalMove(f"approval {approval_id} was {_word(asked.granted)} before")
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
    if left and left[0].id > asked.id:  # it was not told while this one asked the same
        _emit(tx, Kind.ASKED, left[0].attempt, left[0], left[0].ask.question)
    return decided


def answer(tx: Transaction, approval_id: int, text: str) -> Approval:
    """Answer a question.

    Raises:
        UnknownApproval: there is none with that id.
        IllegalMove: it is a decision and no question, was answered before, or its task has ended.
    """
    ask = read(tx.conn, approval_id).ask
    if ask.kind is not AskKind.QUESTION:
        raise IllegalMove(
            f"approval {approval_id} asks for a decision ({ask.kind}), which no text answers; approve or deny it"
        )
    return decide(tx, approval_id, True, text)


def assume(tx: Transaction, asked_before: datetime) -> int:
    """Answer what nobody has answered since then with its default; returns how many."""
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
    how = "assumed, as nobody answered: " if by is Answerer.ASSUMED else ""
    message = f"{asked.ask.subject} {_word(granted)}" if named else f"{how}{text}" or "answered"
    decided = read(tx.conn, asked.id)
    _emit(tx, Kind.ANSWERED, asked.attempt, decided, message)
    return decided


def _resume(tx: Transaction, task: Task) -> None:
    """Queue a waiting task again unless something else is open; its attempt goes on with the next claim."""
    if not open_of(tx.conn, task.id):
        move(tx, task, Status.QUEUED, reason="answered")


def _emit(tx: Transaction, kind: Kind, attempt: int, about: Approval, message: str) -> None:
    data = ApprovalData(approval=about.id, kind=about.ask.kind, subject=about.ask.subject, granted=about.granted)
    level = Level.WARNING if kind is Kind.ASKED else Level.INFO
    tx.emitter.bind(task_id=about.task_id, attempt=attempt).emit(kind, message, level=level, **data)


def _word(granted: bool) -> str:
    return "granted" if granted else "denied"


# Rows


def _insert(tx: Transaction, task: Task, ask: Ask) -> Approval:
    """Store an open ask."""
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
    """Read a question.

    Raises:
        UnknownApproval: there is none with that id.
    """
    row = conn.execute(f"{_SELECT} WHERE approvals.id = ?", (approval_id,)).fetchone()
    if row is None:
        raise UnknownApproval(approval_id)
    return _approval(row)


def find(conn: Connection, open_only: bool, task_id: int | None, limit: int) -> list[Approval]:
    """The newest asks, the oldest of them first; `open_only` leaves those that a waiting task waits for.

    Of open ones that one answer is for, the first alone, unless one task's are wanted.
    """
    once = f"(? IS NOT NULL OR NOT {_REPEATED})"
    which = f"granted IS NULL AND status = 'waiting' AND {once}" if open_only else "(? IS NULL OR TRUE)"
    query = f"{_SELECT} WHERE (? IS NULL OR task_id = ?) AND {which} ORDER BY approvals.id DESC LIMIT ?"
    return [_approval(row) for row in conn.execute(query, (task_id, task_id, task_id, limit))][::-1]


def decisions(conn: Connection, before: int | None, limit: int) -> list[Approval]:
    """List answered questions with an id below `before`, newest question first."""
    where = "granted IS NOT NULL AND (? IS NULL OR approvals.id < ?)"
    query = f"{_SELECT} WHERE {where} ORDER BY approvals.id DESC LIMIT ?"
    return [_approval(row) for row in conn.execute(query, (before, before, limit))]


def open_count(conn: Connection) -> int:
    """Count the answers that waiting tasks wait for."""
    query = (
        "SELECT COUNT(*) FROM approvals JOIN tasks ON tasks.id = task_id WHERE granted IS NULL AND status = 'waiting'"
    )
    return int(conn.execute(f"{query} AND NOT {_REPEATED}").fetchone()[0])


def open_of(conn: Connection, task_id: int) -> list[Approval]:
    """List a task's questions that are not answered, whether the task still waits for them or not."""
    query = f"{_SELECT} WHERE task_id = ? AND granted IS NULL ORDER BY approvals.id"
    return [_approval(row) for row in conn.execute(query, (task_id,))]


def of_repository(conn: Connection, task_id: int) -> dict[str | None, dict[str, bool]]:
    """Read the owner's decisions on packages and environments for the task's repository: subject to a yes or no.

    They are kept for each project of the workspace; None is a repository without projects, or a task without a plan.
    A no is left out for tasks that were not there when it was given: a later one may ask again (`holding`).
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
    """Read the owner's last decision on a subject, for whichever task; None where there is none."""
    query = (
        "SELECT granted FROM approvals WHERE subject = ? AND granted IS NOT NULL "
        "ORDER BY answered_at DESC, id DESC LIMIT 1"
    )
    row = conn.execute(query, (subject,)).fetchone()
    return None if row is None else bool(row["granted"])


def _same_open(conn: Connection, task_id: int, subject: str) -> list[Approval]:
    """The open asks of other waiting tasks of the repository for the same, oldest first."""
    which = "repo = (SELECT repo FROM tasks WHERE id = ?) AND granted IS NULL AND status = 'waiting'"
    query = f"{_SELECT} WHERE task_id <> ? AND subject = ? AND {which} ORDER BY approvals.id"
    return [_approval(row) for row in conn.execute(query, (task_id, subject, task_id))]


def _find_decided(conn: Connection, task_id: int) -> set[str]:
    """The subjects that the owner has decided on for a task.

    That he denied more budget ended the attempt; when he has the task tried again, he may be asked again.
    """
    query = (
        "SELECT subject FROM approvals WHERE task_id = ? AND granted IS NOT NULL AND subject <> '' "
        "AND NOT (kind = ? AND NOT granted)"
    )
    return {row["subject"] for row in conn.execute(query, (task_id, AskKind.BUDGET))}


def _overdue(conn: Connection, asked_before: datetime) -> list[Approval]:
    """Open asks that have something to assume and were asked before then, oldest first."""
    query = f"{_SELECT} WHERE granted IS NULL AND fallback <> '' AND asked_at < ? ORDER BY approvals.id"
    return [_approval(row) for row in conn.execute(query, (to_text(asked_before),))]


def _approval(row: Row) -> Approval:
    granted = row["granted"]
    return Approval(
        id=row["id"],
        task_id=row["task_id"],
        attempt=row["attempt"],
        ask=Ask(kind=AskKind(row["kind"]), subject=row["subject"], question=row["question"], default=row["fallback"]),
        asked_at=from_text(row["asked_at"]),
        granted=None if granted is None else bool(granted),
        answer=row["answer"] or "",
        answered_at=row["answered_at"] and from_text(row["answered_at"]),
        answered_by=Answerer(row["answered_by"]) if row["answered_by"] else None,
        wanted=row["wanted"] or "",
    )
