"""What waits for the owner, and his decisions."""

from __future__ import annotations

from core.gates import AskKind
from hand.asked import Action, Asked
from hand.blocks import Cell
from hand.exits import Exit
from hand.hand import Hand


def approvals(hand: Hand, _: Asked) -> int:
    """List what is open."""
    found = hand.door.approvals()
    hand.answer(found, hand.views.approvals(found))
    return Exit.OK


def decide(hand: Hand, asked: Asked) -> int:
    """Grant or deny one ask, or answer a question."""
    granted = asked.action is Action.APPROVE
    row = hand.door.decide(asked.approval_id, granted, asked.answer)
    what = "answered" if row.kind is AskKind.QUESTION and granted else "granted" if granted else "denied"
    named = row.subject if row.kind is not AskKind.BUDGET else ""
    about = f"{named or row.question} (task {row.task_id})"
    hand.answer_line(row, Cell(f"approval {row.approval_id} {what}: {about}"))
    hand.say_if_down("the task goes on when it starts")
    return Exit.OK
