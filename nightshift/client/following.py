"""Follows the log or a task by reading on from a cursor, as `tail -f` does, whether a daemon runs or not."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import count
from typing import Any

from nightshift.client.daemon import live_or_noted
from nightshift.client.daemon_client import LogQuery
from nightshift.client.errors import DaemonGone, Exit
from nightshift.client.session import Session
from nightshift.client.views import outcome, pause_reasons
from nightshift.core.events import Event
from nightshift.core.program import typed
from nightshift.core.tasks.states import ENDED, Status
from nightshift.server.schemas import LogLine, TaskDetail, log_line

LOOK_S = 0.3
"""How often a follower looks for news; loopback and an index on the id make a look cheap."""
PAGE = 500


def logs(session: Session, query: LogQuery, *, follow: bool = False) -> int:
    """Print the last events; with `follow` go on until interrupted, whether a daemon comes or goes."""
    page = session.client.logs(query)
    if follow:
        for line in page.events:
            _print(session, line)
        _go_on(session, replace(query, after=page.last_id, limit=PAGE))
    elif session.out.as_json:
        session.out.documents([line.model_dump_json() for line in page.events])
    else:
        session.out.blocks(session.views.logs(page))
    return live_or_noted(session)


def run(session: Session, body: Mapping[str, Any]) -> int:
    """Work on a task in the foreground: in the daemon where one runs, else in this very process."""
    if not session.connection.live:
        return _run_here(session, body)
    newest = session.client.logs(LogQuery(limit=1)).last_id
    task_id = session.client.submit(body).task.task_id
    _note_pause_reasons(session)
    try:
        return _print_outcome(session, _follow_task(session, task_id, newest, lambda line: _progress(session, line)))
    except KeyboardInterrupt:
        session.out.note(f"task {task_id} goes on in the daemon; `{typed(f'cancel {task_id}')}` ends it")
        raise
    except DaemonGone as gone:
        raise DaemonGone(f"{gone}; task {task_id} goes on when the daemon is back") from None


def wait(session: Session, task_id: int) -> int:
    """Wait for a task's end, without a word until then."""
    task = session.client.task(task_id)
    if _goes_on(task) and not session.connection.live:
        raise DaemonGone(f"task {task.task_id} is {task.status}, and {session.connection.why_offline}")
    newest = session.client.logs(LogQuery(limit=1)).last_id
    if _goes_on(task):
        _note_pause_reasons(session)
    return _print_outcome(session, _follow_task(session, task_id, newest, lambda _: None))


def _note_pause_reasons(session: Session) -> None:
    for line in pause_reasons(session.connection.status().holds).lines:
        session.out.note(line.text)


def _run_here(session: Session, body: Mapping[str, Any]) -> int:
    import asyncio  # noqa: PLC0415  # only here a daemon's machinery is needed

    from nightshift.app.main import run_one  # noqa: PLC0415  # as above
    from nightshift.core.clock import utc_now  # noqa: PLC0415  # as above
    from nightshift.core.tasks.submission import parse_spec  # noqa: PLC0415  # as above

    def on_event(event: Event) -> None:
        _progress(session, log_line(event if event.at else replace(event, at=utc_now())))

    task = asyncio.run(run_one(parse_spec(body), session.settings, on_event))
    session.disconnect()
    code = _print_outcome(session, session.client.task(task.id))
    return Exit.INTERRUPTED if task.status is Status.CANCELLED else code


def _go_on(session: Session, query: LogQuery) -> None:
    for look in count(1):
        time.sleep(LOOK_S)
        if session.out.reader_has_gone():
            raise BrokenPipeError
        if not session.connection.live and look % 10 == 0:
            session.disconnect()
        try:
            page = session.client.logs(query)
        except DaemonGone as gone:
            session.out.note(f"{gone}; reading on in the database")
            session.disconnect()
            continue
        for line in page.events:
            _print(session, line)
        query = replace(query, after=page.last_id)


def _follow_task(session: Session, task_id: int, after: int, show: Callable[[LogLine], None]) -> TaskDetail:
    """Show the task's events until it ends or waits for a person; returns how it stands then."""
    while True:
        task = session.client.task(task_id)
        # Read after the task, so that the events of its end are among them.
        while page := session.client.logs(LogQuery(after=after, limit=PAGE, task_id=task_id)).events:
            for line in page:
                show(line)
            after = page[-1].id
        if not _goes_on(task):
            return task
        time.sleep(LOOK_S)


def _goes_on(task: TaskDetail) -> bool:
    return task.status not in ENDED | {Status.WAITING}


def _print_outcome(session: Session, task: TaskDetail) -> int:
    session.print(task, outcome(task))
    return Exit.OK if task.status is Status.DONE else Exit.FAILED


def _progress(session: Session, line: LogLine) -> None:
    """Events on the way to a result; where JSON was asked for, the result alone is printed."""
    if not session.out.as_json:
        session.out.line(session.views.log_line(line))


def _print(session: Session, line: LogLine) -> None:
    if session.out.as_json:
        session.out.document(line.model_dump_json())
    else:
        session.out.line(session.views.log_line(line))
