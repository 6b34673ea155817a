"""Implements `nightshift run` for a home without a running daemon: this process itself works on the task."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from nightshift.app.single import run_single
from nightshift.client.errors import Exit
from nightshift.client.following import print_outcome, show_progress
from nightshift.client.new_task import task_body, text_or_stdin
from nightshift.client.session import Session, Values
from nightshift.core.clock import utc_now
from nightshift.core.events import Event
from nightshift.core.tasks.states import Status
from nightshift.core.tasks.submission import parse_spec
from nightshift.server.schemas import log_line


def run(session: Session, values: Values) -> int:
    """Work on a task until it ends, and print its outcome."""

    def on_event(event: Event) -> None:
        show_progress(session, log_line(event if event.at else replace(event, at=utc_now())))

    body = task_body(text_or_stdin(" ".join(values["text"])), values)
    task = asyncio.run(run_single(parse_spec(body), session.settings, on_event))
    session.disconnect()
    code = print_outcome(session, session.get(f"/api/task/{task.id}"))
    return Exit.INTERRUPTED if task.status is Status.CANCELLED else code
