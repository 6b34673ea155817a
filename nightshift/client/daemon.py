"""The commands for the daemon as a whole: its status, pausing, a checkpoint, new settings, a report, a test notice."""

from __future__ import annotations

import time
from collections.abc import Mapping

from nightshift.client.errors import Exit
from nightshift.client.output import Block, Cell, Lines, Tone
from nightshift.client.session import Session
from nightshift.client.views import pause_reasons
from nightshift.core.clock import to_text, utc_now
from nightshift.core.errors import ConfigError, NightshiftError
from nightshift.core.program import typed
from nightshift.core.status import ForgeStatus, OverallState
from nightshift.core.text.masking import Masker
from nightshift.storage.db.codec import plain

HEALTH: Mapping[OverallState, Exit] = {
    OverallState.NO_MODEL: Exit.FAILED,
    OverallState.PAUSED: Exit.WAITS,
    OverallState.NEEDS_YOU: Exit.WAITS,
}
"""The exit code of `status` for each state of a running daemon; of every other state it is 0."""
WATCH_S = 2.0
SINCE_CHECKPOINT = "now"
"""The week that `report` means where none is given: the time since the last checkpoint."""


def status(session: Session, *, watch: bool = False) -> int:
    """Print the daemon's status; `watch` repeats this until interrupted, whether a daemon comes or goes."""
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
    """The exit code of what was read; where no daemon runs, a note adds that the database answered."""
    if session.connection.live:
        return Exit.OK
    session.out.note(f"{session.connection.why_offline}; this is what the database says")
    return Exit.DAEMON_DOWN


def forges(session: Session) -> int:
    """How the connections to forges stand, with all that stands in the way of one."""
    found = session.connection.status().forges
    notes = ((each, note) for each in found for note in filter(None, _describe_forge(each)))
    lines = [Cell(f"{each.address}: {note}", Tone.WARN) for each, note in notes]
    blocks: list[Block] = [session.views.forges(found)] if found else []
    if not found:
        lines = [Cell("no repository at a forge is followed; `forges` in the settings names them")]
    session.print({"forges": plain(found)}, [*blocks, *([Lines(lines=lines)] if lines else [])])
    return live_or_noted(session)


def _describe_forge(forge: ForgeStatus) -> tuple[str, ...]:
    until = f"; it is left alone until {to_text(forge.rests_until)}" if forge.rests_until else ""
    return (f"{forge.fault}{until}" if forge.fault else "", *forge.notes)


def pause(session: Session) -> int:
    """Have no more tasks claimed."""
    answer = session.client.pause()
    state = str(answer.state) if session.connection.live else "paused"
    session.print(answer, Cell(state))
    session.note_if_down("it will start without claiming tasks")
    return Exit.OK


def resume(session: Session) -> int:
    """Have tasks claimed again, and show what else holds them back."""
    answer = session.client.resume()
    state = str(answer.state) if session.connection.live else ("paused" if answer.holds else "not paused")
    session.print(answer, [Lines(lines=[Cell(state), *pause_reasons(answer.holds).lines])])
    session.note_if_down(f"it will start {'without claiming tasks' if answer.holds else 'working'}")
    return Exit.OK


def checkpoint(session: Session) -> int:
    """Have a checkpoint held now."""
    answer = session.client.checkpoint()
    if answer.asked:
        line = "checkpoint: what runs finishes, then the report is written and nothing is started until you resume"
    else:
        line = f"a checkpoint is under way or waits for you already; `{typed('resume')}` starts tasks again"
    session.print(answer, Cell(line))
    session.note_if_down(
        "its next start makes the checkpoint" if answer.asked else "it will start without claiming tasks"
    )
    return Exit.OK


def reload(session: Session) -> int:
    """Have the daemon read its settings and tasks.yaml again."""
    from nightshift.config.reloaded import HOW_TO_REMOVE, OVERRULED  # noqa: PLC0415  no other action needs it

    done = session.client.reload()
    session.print(done, Cell(f"changed: {', '.join(done.changed)}" if done.changed else "nothing has changed"))
    for each in () if session.out.as_json else done.later:
        session.out.note(f"{each.name} needs a restart; until then it is {each.holds}")
    for name in () if session.out.as_json else done.overruled:
        session.out.note(f"{name}: {OVERRULED}; {HOW_TO_REMOVE}")
    return Exit.OK


def install_extra(session: Session, name: str) -> int:
    """Have optional packages installed."""
    answer = session.client.install_extra(name)
    session.print(answer, Cell(f"{answer.name} is being installed; `{typed('status')}` tells how it goes"))
    return Exit.OK


def report(session: Session, week: str) -> int:
    """Write the report of a week, or of the time since the last checkpoint, from the database alone.

    Raises:
        StoreError: there is no database yet, or it cannot be read.
        NightshiftError: the folder of reports cannot be written.
        click.UsageError: there is no such week, or it has not begun.
    """
    from nightshift.report.weekly import summarise, write_report  # noqa: PLC0415  as above
    from nightshift.report.weeks import asked_span  # noqa: PLC0415  as above
    from nightshift.storage.db.database import Database  # noqa: PLC0415  no other action needs it

    settings = session.settings
    with Database(settings.db_path, readonly=True) as database:
        try:
            asked = "" if week == SINCE_CHECKPOINT else week
            since, until = asked_span(database, asked, utc_now(), settings.checkpoint_days)
        except ValueError as error:
            import click  # noqa: PLC0415  # what a status does without

            raise click.UsageError(f"report: {error}.") from None
        summary = summarise(database, since, until)
    try:
        path = write_report(summary, settings.reports_dir, Masker(settings.secrets))
    except OSError as error:
        raise NightshiftError(f"the report cannot be written to {settings.reports_dir}: {error}") from error
    html = path.with_suffix(".html")
    fields = {"report": str(path), "html": str(html), "since": to_text(since), "until": to_text(until)}
    session.print(fields, [Lines(lines=[Cell(str(path)), Cell(str(html))])])
    return Exit.OK


def notify_test(session: Session) -> int:
    """Send one notice in each way that is set.

    Raises:
        ConfigError: none is set.
    """
    import asyncio  # noqa: PLC0415  no other action needs it

    from nightshift.app.notices import channels, send_test  # noqa: PLC0415  # the queue and the database come with it

    ways = channels(session.settings)
    if not ways.names:
        raise ConfigError(["notify_command, notify_desktop, notify_url: none is set, so no notice would be sent"])
    faults = asyncio.run(send_test(ways, f"with {typed('notify-test')}", utc_now))
    fields = {"sent": [name for name, fault in faults.items() if not fault], "faults": dict(faults)}
    session.print(fields, [Lines(lines=[Cell(f"{name}: {fault or 'sent'}") for name, fault in faults.items()])])
    return Exit.FAILED if any(faults.values()) else Exit.OK
