"""Follows the log or a task like `tail -f`, by repeatedly reading the events after a cursor.

This works whether a daemon runs or not.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from itertools import count
from typing import Any

from nightshift.client.daemon import live_or_noted
from nightshift.client.errors import DaemonGone, Exit
from nightshift.client.session import Session
from nightshift.client.tasks import submit
from nightshift.client.views import outcome, pause_reasons
from nightshift.core.program import format_command
from nightshift.core.tasks.states import ENDED, Status

LOOK_S = 0.3
"""Seconds between two reads for new events. A read is cheap, because it uses the loopback interface and an index."""
PAGE = 500


def logs(session: Session, query: Mapping[str, Any], *, follow: bool = False) -> int:
    """Print the last events of the log.

    With `follow`, continue with new events until interrupted, even if the daemon stops or starts meanwhile.
    """
    page = session.get("/api/logs", **query)
    if follow:
        for line in page.events:
            _print(session, line)
        _go_on(session, {**query, "limit": PAGE}, page.last_id)
    elif session.out.as_json:
        session.out.document(page.events)
    else:
        session.out.blocks(session.views.logs(page))
    return live_or_noted(session)


def run(session: Session, body: Mapping[str, Any]) -> int:
    """Submit a task to the running daemon, print its events, and return when it has ended."""
    newest = session.get("/api/logs", limit=1).last_id
    task_id = submit(session, body)[0].task_id
    _note_pause_reasons(session)
    try:
        return print_outcome(session, _follow_task(session, task_id, newest, lambda line: show_progress(session, line)))
    except KeyboardInterrupt:
        session.out.note(f"task {task_id} continues in the daemon; `{format_command(f'cancel {task_id}')}` cancels it")
        raise
    except DaemonGone as gone:
        raise DaemonGone(f"{gone}; task {task_id} continues when the daemon is back") from None


def wait(session: Session, task_id: int) -> int:
    """Wait until a task ends, without printing its events."""
    task = session.get(f"/api/task/{task_id}")
    if _goes_on(task) and not session.connection.live:
        raise DaemonGone(f"task {task.task_id} is {task.status}, and {session.connection.why_offline}")
    newest = session.get("/api/logs", limit=1).last_id
    if _goes_on(task):
        _note_pause_reasons(session)
    return print_outcome(session, _follow_task(session, task_id, newest, lambda _: None))


def print_outcome(session: Session, task: Any) -> int:
    """Print how a task ended, and return the exit code."""
    session.print(task, outcome(task))
    return Exit.OK if task.status == Status.DONE else Exit.FAILED


def show_progress(session: Session, line: Any) -> None:
    """Print an event of a task that is followed. With JSON output, only the result is printed."""
    if not session.out.as_json:
        session.out.line(session.views.log_line(line))


def _note_pause_reasons(session: Session) -> None:
    for line in pause_reasons(session.connection.status().holds).lines:
        session.out.note(line.text)


def _go_on(session: Session, query: Mapping[str, Any], after: int) -> None:
    for look in count(1):
        time.sleep(LOOK_S)
        if session.out.reader_has_gone():
            raise BrokenPipeError
        if not session.connection.live and look % 10 == 0:
            session.disconnect()
        try:
            page = session.get("/api/logs", **query, after=after)
        except DaemonGone as gone:
            session.out.note(f"{gone}; reading the database instead")
            session.disconnect()
            continue
        for line in page.events:
            _print(session, line)
        after = page.last_id


def _follow_task(session: Session, task_id: int, after: int, show: Callable[[Any], None]) -> Any:
    """Show the events of a task until it ends or waits for its owner, and return the task."""
    while True:
        task = session.get(f"/api/task/{task_id}")
        # The status is read before the events, so that a task that has ended is returned only after all its events are
        # shown.
        while page := session.get("/api/logs", after=after, limit=PAGE, task=task_id).events:
            for line in page:
                show(line)
            after = page[-1].id
        if not _goes_on(task):
            return task
        time.sleep(LOOK_S)


def _goes_on(task: Any) -> bool:
    return task.status not in ENDED | {Status.WAITING}


def _print(session: Session, line: Any) -> None:
    if session.out.as_json:
        session.out.document(line)
    else:
        session.out.line(session.views.log_line(line))
