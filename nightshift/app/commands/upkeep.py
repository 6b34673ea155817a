"""`nightshift report` and `nightshift notify-test`."""

from __future__ import annotations

import asyncio

import click

from nightshift.app.notices import channels, send_test
from nightshift.client.errors import Exit
from nightshift.client.output import Cell, Lines
from nightshift.client.session import Session
from nightshift.core.clock import to_text, utc_now
from nightshift.core.errors import ConfigError, NightshiftError
from nightshift.core.program import format_command
from nightshift.core.text.masking import Masker
from nightshift.report.weekly import summarise, write_report
from nightshift.report.weeks import choose_span
from nightshift.storage.db.database import Database

SINCE_CHECKPOINT = "now"
"""Default of the argument `week` of `report`: the time since the last checkpoint."""


def report(session: Session, week: str) -> int:
    """Write the report of a week, or of the time since the last checkpoint, using only the database.

    Raises:
        StoreError: there is no database yet, or it cannot be read.
        NightshiftError: the report cannot be written to its folder.
        click.UsageError: there is no such week, or the week has not begun.
    """
    settings = session.settings
    with Database(settings.db_path, readonly=True) as database:
        try:
            asked = "" if week == SINCE_CHECKPOINT else week
            since, until = choose_span(database, asked, utc_now(), settings.checkpoint_days)
        except ValueError as error:
            raise click.UsageError(f"report: {error}.") from None
        summary = summarise(database, since, until)
    try:
        path = write_report(summary, settings.reports_dir, Masker(settings.secrets))
    except OSError as error:
        raise NightshiftError(f"the report cannot be written to {settings.reports_dir}: {error}") from error
    fields = {"report": str(path), "since": to_text(since), "until": to_text(until)}
    session.print(fields, Cell(str(path)))
    return Exit.OK


def notify_test(session: Session) -> int:
    """Send a test notice through each configured channel.

    Raises:
        ConfigError: no channel is configured.
    """
    ways = channels(session.settings)
    if not ways.names:
        raise ConfigError(["notify_command, notify_desktop, notify_url: none is set, so no notice would be sent"])
    faults = asyncio.run(send_test(ways, f"with {format_command('notify-test')}", utc_now))
    fields = {"sent": [name for name, fault in faults.items() if not fault], "faults": dict(faults)}
    session.print(fields, [Lines(lines=[Cell(f"{name}: {fault or 'sent'}") for name, fault in faults.items()])])
    return Exit.FAILED if any(faults.values()) else Exit.OK
