"""How tasks wait for their owner and go on: each ask and each answer is stored with its event and the move it makes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from types import MappingProxyType

from core.clock import Clock
from core.errors import IllegalMove
from core.events import Event, Kind, Level
from core.gates import Answerer, Approval, Ask, AskKind
from core.states import ENDED, Status
from core.tasks import Task
from db import approval_rows
from db import task_rows as rows
from db.event_log import EventLog
from db.sqlite import Connection
from db.task_moves import MAX_REASON_CHARS, TaskMoves
from db.task_rows import Value

NOTHING: Mapping[str, Value] = MappingProxyType({})


class TaskAsks:
    """Asks, and takes answers, inside write jobs.

    Args:
        events: gets an event for each ask and each answer.
        clock: gives them their time.
        moves: moves the tasks.
    """

    def __init__(self, events: EventLog, clock: Clock, moves: TaskMoves) -> None:
        self._events, self._clock, self._moves = events, clock, moves

    def hold(
        self, conn: Connection, task: Task, message: str, asks: Sequence[Ask], columns: Mapping[str, Value] = NOTHING
    ) -> Task:
        """Let a running task wait, and set `columns` with it.

        It is queued again instead when its owner has decided on everything meanwhile.
        """
        decided = approval_rows.decided(conn, task.id)
        question = Ask(kind=AskKind.QUESTION, subject="", question=self._events.clean(message, MAX_REASON_CHARS))
        wanted = [ask for ask in asks or (question,) if ask.subject not in decided]
        to, reason = (Status.WAITING, message) if wanted else (Status.QUEUED, "answered")
        held = self._moves.leave(conn, task, to, reason, {**columns, "resume": 1})
        if held.status is Status.WAITING:
            self._ask(conn, held, wanted)
        return held

    def _ask(self, conn: Connection, task: Task, wanted: Sequence[Ask]) -> None:
        """Store what is not stored yet; what an earlier attempt asked and this one does not is withdrawn."""
        still = set[str]()
        for known in approval_rows.open_of(conn, task.id):
            if known.ask.subject and known.ask.subject in {ask.subject for ask in wanted}:
                still.add(known.ask.subject)
            else:
                approval_rows.withdraw(conn, known.id)
        for ask in wanted:
            if ask.subject not in still:
                shown = replace(ask, question=self._events.clean(ask.question, MAX_REASON_CHARS))
                approval_id = approval_rows.insert(conn, task, shown, self._clock())
                self._tell(conn, Kind.ASKED, task.attempt, approval_rows.read(conn, approval_id), ask.question)

    def decide(self, conn: Connection, approval_id: int, granted: bool, answer: str) -> Approval:
        """Answer one ask; a question that is granted without an answer gets its default.

        Raises:
            UnknownApproval: there is none with that id.
            IllegalMove: it was decided before, or its task has ended.
        """
        asked = approval_rows.read(conn, approval_id)
        if asked.granted is not None:
            raise IllegalMove(f"approval {approval_id} was {_word(asked.granted)} before")
        task = rows.read(conn, asked.task_id).task
        if task.status in ENDED:
            raise IllegalMove(f"task {task.id}, which asked this, is {task.status}")
        settled = self._settle(conn, asked, granted, answer)
        if task.status is Status.WAITING:
            self._gone_on(conn, task)
        return settled

    def answer(self, conn: Connection, approval_id: int, text: str) -> Approval:
        """Answer a question.

        Raises:
            UnknownApproval: there is none with that id.
            IllegalMove: it is a decision and no question, was answered before, or its task has ended.
        """
        ask = approval_rows.read(conn, approval_id).ask
        if ask.kind is not AskKind.QUESTION:
            raise IllegalMove(
                f"approval {approval_id} asks for a decision ({ask.kind}), which no text answers; approve or deny it"
            )
        return self.decide(conn, approval_id, True, text)

    def assume(self, conn: Connection, asked_before: datetime) -> int:
        """Answer what nobody has answered since then with its default; returns how many."""
        found = approval_rows.overdue(conn, asked_before)
        for asked in found:
            task = rows.read(conn, asked.task_id).task
            if task.status is Status.WAITING:
                self._settle(conn, asked, True, asked.ask.default, Answerer.ASSUMED)
                self._gone_on(conn, task)
        return len(found)

    def _settle(
        self, conn: Connection, asked: Approval, granted: bool, answer: str, by: Answerer = Answerer.OWNER
    ) -> Approval:
        assumed = asked.ask.default if granted else ""
        clean = self._events.clean(answer or assumed, MAX_REASON_CHARS)
        settled = approval_rows.settle(conn, asked.id, granted, clean, self._clock(), by)
        is_answer = granted and asked.ask.kind is AskKind.QUESTION
        named = asked.ask.subject and not is_answer
        how = "assumed, as nobody answered: " if by is Answerer.ASSUMED else ""
        what = f"{asked.ask.subject} {_word(granted)}" if named else f"{how}{clean}" or "answered"
        self._tell(conn, Kind.ANSWERED, asked.attempt, settled, what)
        return settled

    def _gone_on(self, conn: Connection, task: Task) -> Task:
        """Queue a waiting task again unless something else is open; its attempt goes on with the next claim."""
        if approval_rows.open_of(conn, task.id):
            return task
        return self._moves.move(conn, task, Status.QUEUED, reason="answered")

    def _tell(self, conn: Connection, kind: Kind, attempt: int, about: Approval, message: str) -> None:
        data = {"approval": about.id, "kind": about.ask.kind, "subject": about.ask.subject, "granted": about.granted}
        level = Level.WARNING if kind is Kind.ASKED else Level.INFO
        event = Event(kind=kind, level=level, message=message, task_id=about.task_id, attempt=attempt, data=data)
        self._events.append(conn, event)


def _word(granted: bool) -> str:
    return "granted" if granted else "denied"
