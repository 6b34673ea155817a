"""Follows the log or a task by reading on from a cursor, as `tail -f` does; the same through either door."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from itertools import count

from core.clock import utc_now
from core.events import Event
from core.states import ENDED, Status
from core.submission import parse_spec
from hand.asked import Asked
from hand.door import DaemonGone, LogQuery
from hand.exits import Exit
from hand.hand import Hand
from hand.views import held, outcome
from server.schemas import LogLine, TaskDetail, log_line

LOOK_S = 0.3
"""How often a follower looks for news; loopback and an index on the id make a look cheap."""
PAGE = 500


def follow_logs(hand: Hand, asked: Asked) -> None:
    """Print the last events; with `asked.follow` go on until interrupted, whether a daemon comes or goes."""
    query = LogQuery(limit=asked.count, level=asked.level, task_id=asked.log_task)
    page = hand.door.logs(query)
    if not asked.follow and hand.out.as_json:
        hand.out.documents([line.model_dump_json() for line in page.events])
    elif not asked.follow:
        hand.out.blocks(hand.views.logs(page))
    else:
        for line in page.events:
            _print(hand, line)
        _go_on(hand, replace(query, after=page.last_id, limit=PAGE))


def run(hand: Hand, asked: Asked) -> int:
    """Work on one task in the foreground: in the daemon where one runs, else in this very process."""
    if not hand.door.live:
        return _run_here(hand, asked)
    newest = hand.door.logs(LogQuery(limit=1)).last_id
    task_id = hand.door.submit(asked.data).task.task_id
    _say_if_held_back(hand)
    try:
        return _ended(hand, _follow_task(hand, task_id, newest, lambda line: _progress(hand, line)))
    except KeyboardInterrupt:
        hand.out.note(f"task {task_id} goes on in the daemon; `cli.py --cancel {task_id}` ends it")
        raise
    except DaemonGone as gone:
        raise DaemonGone(f"{gone}; task {task_id} goes on when the daemon is back") from None


def wait(hand: Hand, asked: Asked) -> int:
    """Wait for a task's end, without a word until then."""
    task = hand.door.task(asked.task_id)
    if _goes_on(task) and not hand.door.live:
        raise DaemonGone(f"task {task.task_id} is {task.status}, and {hand.choice.why_not_live}")
    newest = hand.door.logs(LogQuery(limit=1)).last_id
    if _goes_on(task):
        _say_if_held_back(hand)
    return _ended(hand, _follow_task(hand, asked.task_id, newest, lambda _: None))


def _say_if_held_back(hand: Hand) -> None:
    for line in held(hand.door.report().holds).lines:
        hand.out.note(line.text)


def _run_here(hand: Hand, asked: Asked) -> int:
    import asyncio  # noqa: PLC0415  # only here a daemon's machinery is needed

    from main import run_one  # noqa: PLC0415  # as above

    def on_event(event: Event) -> None:
        _progress(hand, log_line(event if event.at else replace(event, at=utc_now())))

    task = asyncio.run(run_one(parse_spec(asked.data), hand.settings, on_event))
    hand.let_go()
    code = _ended(hand, hand.door.task(task.id))
    return Exit.INTERRUPTED if task.status is Status.CANCELLED else code


def _go_on(hand: Hand, query: LogQuery) -> None:
    for look in count(1):
        time.sleep(LOOK_S)
        if hand.out.reader_has_gone():
            raise BrokenPipeError
        if not hand.door.live and look % 10 == 0:
            hand.let_go()
        try:
            page = hand.door.logs(query)
        except DaemonGone as gone:
            hand.out.note(f"{gone}; reading on in the database")
            hand.let_go()
            continue
        for line in page.events:
            _print(hand, line)
        query = replace(query, after=page.last_id)


def _follow_task(hand: Hand, task_id: int, after: int, show: Callable[[LogLine], None]) -> TaskDetail:
    """Show the task's events until it ends or waits for a person; returns how it stands then."""
    while True:
        task = hand.door.task(task_id)
        # Read after the task, so that the events of its end are among them.
        while page := hand.door.logs(LogQuery(after=after, limit=PAGE, task_id=task_id)).events:
            for line in page:
                show(line)
            after = page[-1].id
        if not _goes_on(task):
            return task
        time.sleep(LOOK_S)


def _goes_on(task: TaskDetail) -> bool:
    return task.status not in ENDED | {Status.WAITING}


def _ended(hand: Hand, task: TaskDetail) -> int:
    hand.answer_line(task, outcome(task))
    return Exit.OK if task.status is Status.DONE else Exit.FAILED


def _progress(hand: Hand, line: LogLine) -> None:
    """Events on the way to a result; where JSON was asked for, the result alone is printed."""
    if not hand.out.as_json:
        hand.out.line(hand.views.log_line(line))


def _print(hand: Hand, line: LogLine) -> None:
    if hand.out.as_json:
        hand.out.document(line.model_dump_json())
    else:
        hand.out.line(hand.views.log_line(line))
