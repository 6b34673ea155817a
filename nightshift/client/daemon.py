"""Implements the commands for the daemon: status, forges, pauses, checkpoints, settings, extras, environments."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from nightshift.client.errors import DaemonGone, Exit
from nightshift.client.output import Block, Cell, Lines, Table, Tone, cells
from nightshift.client.session import Session
from nightshift.client.views import pause_reasons
from nightshift.config.reloaded import HOW_TO_REMOVE, OVERRULED
from nightshift.core.errors import ConfigError
from nightshift.core.program import format_command
from nightshift.core.status import OverallState, install_by_hand

HEALTH: Mapping[OverallState, Exit] = {
    OverallState.NO_MODEL: Exit.FAILED,
    OverallState.PAUSED: Exit.WAITS,
    OverallState.NEEDS_YOU: Exit.WAITS,
}
"""Exit codes of `status` for states of a running daemon. A state that is not listed gives 0."""
WATCH_S = 2.0


def status(session: Session, *, watch: bool = False) -> int:
    """Print the daemon's status.

    With `watch`, print it again and again until interrupted, even if the daemon stops or starts meanwhile.
    """
    if not watch:
        return _status(session)
    while True:
        session.out.clear()
        _status(session)
        time.sleep(WATCH_S)
        if session.out.reader_has_gone():
            raise BrokenPipeError
        session.disconnect()


def _status(session: Session) -> int:
    report = session.connection.status()
    session.print(report, session.views.report(report))
    return live_or_noted(session) or HEALTH.get(report.overall.state, Exit.OK)


def live_or_noted(session: Session) -> int:
    """Return the exit code of a command that only reads.

    If no daemon runs, print that the data come from the database.
    """
    if session.connection.live:
        return Exit.OK
    session.out.note(f"{session.connection.why_offline}; showing saved data")
    return Exit.DAEMON_DOWN


def forges(session: Session) -> int:
    """Print the state of the connections to forges, and the problems of each."""
    statuses = session.connection.status().forges
    notes = ((each, note) for each in statuses for note in filter(None, _describe_forge(each)))
    lines = [Cell(f"{each.address}: {note}", Tone.WARN) for each, note in notes]
    blocks: list[Block] = [session.views.forges(statuses)] if statuses else []
    if not statuses:
        lines = [Cell("no repository at a forge is followed; add one to `forges` in the settings")]
    session.print({"forges": statuses}, [*blocks, *([Lines(lines=lines)] if lines else [])])
    return live_or_noted(session)


def _describe_forge(forge: Any) -> tuple[str, ...]:
    until = f"; not asked again before {forge.rests_until}" if forge.rests_until else ""
    return (f"{forge.fault}{until}" if forge.fault else "", *forge.notes)


def pause(session: Session) -> int:
    """Stop the daemon from claiming tasks."""
    answer = session.post("/api/pause")
    state = str(answer.state) if session.connection.live else "paused"
    session.print(answer, Cell(state))
    session.note_if_down("it will start paused")
    return Exit.OK


def resume(session: Session) -> int:
    """Let the daemon claim tasks again, and print any other reasons that still prevent it."""
    answer = session.post("/api/resume")
    state = str(answer.state) if session.connection.live else ("paused" if answer.holds else "not paused")
    session.print(answer, [Lines(lines=[Cell(state), *pause_reasons(answer.holds).lines])])
    session.note_if_down(f"it will start {'paused' if answer.holds else 'working'}")
    return Exit.OK


def checkpoint(session: Session) -> int:
    """Ask the daemon for a checkpoint now."""
    answer = session.post("/api/checkpoint")
    if answer.asked:
        line = "checkpoint: running tasks finish, then the report is written; nothing starts until you resume"
    else:
        line = f"a checkpoint is already under way or waits for you; `{format_command('resume')}` starts tasks again"
    session.print(answer, Cell(line))
    session.note_if_down("it makes the checkpoint when it next starts" if answer.asked else "it will start paused")
    return Exit.OK


def reload(session: Session) -> int:
    """Have the daemon read its settings and tasks.yaml again.

    Raises:
        ConfigError: the new settings have faults; the old settings stay in effect.
        DaemonGone: no daemon runs.
    """
    if not session.connection.live:
        raise DaemonGone(f"{session.connection.why_offline}; it reads its settings when it starts")
    reply = session.connection.send("POST", "/api/reload", {})
    if reply.status == HTTPStatus.UNPROCESSABLE_ENTITY:
        raise ConfigError(json.loads(reply.content)["error"].splitlines())
    done = session.connection.read(reply)
    session.print(done, Cell(f"changed: {', '.join(done.changed)}" if done.changed else "nothing has changed"))
    for each in () if session.out.as_json else done.later:
        session.out.note(f"{each.name} needs a restart; until then it stays {each.holds}")
    for name in () if session.out.as_json else done.overruled:
        session.out.note(f"{name}: {OVERRULED}; {HOW_TO_REMOVE}")
    return Exit.OK


def install_extra(session: Session, name: str) -> int:
    """Have the daemon install optional packages; raises `DaemonGone` if no daemon runs."""
    if not session.connection.live:
        raise DaemonGone(f"{session.connection.why_offline}; {install_by_hand(name)} installs them without it")
    answer = session.post(f"/api/extra/{quote(name, safe='')}/install")
    session.print(answer, Cell(f"{answer.name} is being installed; `{format_command('status')}` shows the progress"))
    return Exit.OK


def environments(session: Session) -> int:
    """List the environments, and the parts that were left out of each environment."""
    answer = session.get("/api/environments")
    head = ("environment", "for", "packages", "MB", "used", "declared by")
    rows = [
        cells(row.name, ": ".join(filter(None, (row.interpreter or row.kind, ", ".join(row.services)))),
              len(row.packages), round(row.size_bytes / 2**20), session.views.at(row.used_at), ", ".join(row.sources))
        for row in answer.environments
    ]  # fmt: skip
    left_out = [Cell(f"{row.name}: {remark}", Tone.DIM) for row in answer.environments for remark in row.remarks]
    blocks: list[Block] = [Table(head=head, rows=rows, spare=("used", "packages", "MB"))] if rows else []
    lines = left_out if rows else [Cell("no environment was made yet")]
    session.print(answer, [*blocks, *([Lines(lines=lines)] if lines else [])])
    return Exit.OK
