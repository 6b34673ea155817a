"""Steering from the terminal: the urgency of a task, and all that failed once more."""

from __future__ import annotations

import re

import click

from client.asked import Asked
from client.blocks import Cell
from client.exits import Exit
from client.session import Session
from core.states import Status
from server.lists.bulk import MAX_PRIORITY, Action, BulkIn, BulkResult, FilterIn

FAILED = FilterIn(status=frozenset({Status.FAILED}))


def prioritise(session: Session, asked: Asked) -> int:
    """Make a task more or less urgent.

    Raises:
        click.UsageError: it was not said which one, or how urgent.
    """
    found = re.fullmatch(r"(\d{1,18})=([+-]?\d{1,7})", asked.name)
    if not found or abs(int(found[2])) > MAX_PRIORITY or not int(found[1]):
        raise click.UsageError(f"--prioritise takes ID=N, as in 7=5, not {asked.name!r}.")
    done = session.door.prioritise(int(found[1]), int(found[2]))
    session.answer_line(done, Cell(f"task {done.task_id} {done.status}, priority {done.priority}"))
    return Exit.OK


def retry_failed(session: Session, _: Asked) -> int:
    """Queue all again that failed; what still depends on a failure is told, and the others go on."""
    results, after = list[BulkResult](), 0
    while True:
        done = session.door.act_on_many(BulkIn(action=Action.RETRY, filter=FAILED, after=after))
        results += done.results
        if done.next_after is None:
            break
        after = done.next_after
    refused = [each for each in results if not each.ok]
    if session.out.as_json:
        session.out.mapping({"tasks": [each.model_dump(mode="json") for each in results]})
    else:
        session.out.line(Cell(f"{len(results) - len(refused)} of {len(results)} failed tasks queued again"))
        for each in refused:
            session.out.note(f"task {each.task_id}: {each.error}")
    session.say_if_down("they wait in the queue until it starts")
    return Exit.REFUSED if refused else Exit.OK
