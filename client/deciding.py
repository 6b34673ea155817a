"""What waits for the owner: his decisions, and his answers to questions."""

from __future__ import annotations

import click

from client.asked import Action, Asked
from client.blocks import Cell
from client.exits import Exit
from client.session import Session
from core.errors import IllegalMove
from core.gates import AskKind
from server.approvals import ApprovalRow


def approvals(session: Session, _: Asked) -> int:
    """List what is open."""
    found = session.door.approvals()
    session.answer(found, session.views.approvals(found))
    return Exit.OK


def decide(session: Session, asked: Asked) -> int:
    """Grant or deny one ask; to grant a question is to go with what is assumed.

    Raises:
        IllegalMove: a remark came with the grant of a question, which it would answer.
    """
    granted = asked.action is Action.APPROVE
    if granted and asked.answer and _is_question(session, asked.approval_id):
        raise IllegalMove(
            f"approval {asked.approval_id} is a question, which takes an answer and no remark: "
            f'cli.py --answer {asked.approval_id} "…"'
        )
    row = session.door.decide(asked.approval_id, granted, asked.answer)
    is_answer = row.kind is AskKind.QUESTION and granted
    return _told(session, row, "answered" if is_answer else "granted" if granted else "denied")


def answer(session: Session, asked: Asked) -> int:
    """Answer a question.

    Raises:
        IllegalMove: it is a decision and no question, or was answered before.
        click.UsageError: the answer is empty.
    """
    text = asked.answer.strip()
    if not text:
        why = f"--answer: the answer is empty; --approve {asked.approval_id} goes with what is assumed."
        raise click.UsageError(why)
    return _told(session, session.door.answer(asked.approval_id, text), "answered")


def _is_question(session: Session, approval_id: int) -> bool:
    """What kind an ask has never changes, so it may be looked at first."""
    kinds = {row.approval_id: row.kind for row in session.door.approvals().approvals}
    return kinds.get(approval_id) is AskKind.QUESTION


def _told(session: Session, row: ApprovalRow, what: str) -> int:
    has_name = row.kind not in {AskKind.BUDGET, AskKind.QUESTION} and row.subject
    said = f": {row.answer}" if row.kind is AskKind.QUESTION and row.answer else ""
    line = f"approval {row.approval_id} {what}: {row.subject if has_name else row.question} (task {row.task_id}){said}"
    session.answer_line(row, Cell(line))
    session.say_if_down("the task goes on when it starts")
    return Exit.OK
