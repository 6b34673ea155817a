"""Implements the commands with which the owner decides on approvals and answers questions."""

from __future__ import annotations

from typing import Any

import click

from nightshift.client.errors import Exit
from nightshift.client.output import Cell
from nightshift.client.session import Session
from nightshift.core.errors import IllegalMove
from nightshift.core.program import format_command

QUESTION, BUDGET = "question", "budget"
"""Kinds of asks (`core.tasks.change_checks.AskKind`) whose `subject` is not a name.

A line about such an ask shows its question instead of the subject.
"""


def approvals(session: Session) -> int:
    """List the approvals that wait for a decision."""
    answer = _open(session)
    session.print(answer, session.views.approvals(answer))
    return Exit.OK


def _open(session: Session) -> Any:
    return session.get("/api/approvals", open=1)


def approve(session: Session, approval_id: int, remark: str = "") -> int:
    """Grant an approval. Granting a question accepts its default answer.

    Raises:
        IllegalMove: a remark was given for a question, although the remark would become its answer.
    """
    if remark and _is_question(session, approval_id):
        raise IllegalMove(
            f"approval {approval_id} is a question; it takes an answer, not a remark: "
            f'{format_command(f"answer {approval_id}")} "…"'
        )
    row = _decide(session, approval_id, True, remark)
    return _print_decision(session, row, "answered" if row.kind == QUESTION else "granted")


def deny(session: Session, approval_id: int, remark: str = "") -> int:
    """Deny an approval."""
    return _print_decision(session, _decide(session, approval_id, False, remark), "denied")


def answer(session: Session, approval_id: int, text: str) -> int:
    """Answer a question.

    Raises:
        IllegalMove: the approval is not a question, or is already answered.
        click.UsageError: the answer is empty.
    """
    text = text.strip()
    if not text:
        approving = format_command(f"approve {approval_id}")
        raise click.UsageError(f"the answer is empty; {approving} uses the default answer.")
    return _print_decision(session, session.post(f"/api/approvals/{approval_id}/answer", {"answer": text}), "answered")


def _decide(session: Session, approval_id: int, granted: bool, remark: str) -> Any:
    return session.post(f"/api/approvals/{approval_id}", {"granted": granted, "answer": remark})


def _is_question(session: Session, approval_id: int) -> bool:
    """Check whether an approval is a question.

    Its kind never changes, so it may be read before the decision is made.
    """
    kinds = {row.approval_id: row.kind for row in _open(session).approvals}
    return kinds.get(approval_id) == QUESTION


def _print_decision(session: Session, row: Any, what: str) -> int:
    has_name = row.kind not in {BUDGET, QUESTION} and row.subject
    reply = f": {row.answer}" if row.kind == QUESTION and row.answer else ""
    line = f"approval {row.approval_id} {what}: {row.subject if has_name else row.question} (task {row.task_id}){reply}"
    session.print(row, Cell(line))
    session.note_if_down("the task continues when it starts")
    return Exit.OK
