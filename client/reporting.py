"""`cli.py --report`: writes the report of a week, or of the time since the last checkpoint, from the database alone."""

from __future__ import annotations

import click

from client.asked import Asked
from client.blocks import Block, Cell, Lines
from client.exits import Exit
from client.session import Session
from core.clock import to_text, utc_now
from core.errors import NightshiftError
from core.masking import Masker
from db.database import Database

SINCE_CHECKPOINT = "now"


def report(session: Session, asked: Asked) -> int:
    """Write a report and print where it is.

    Raises:
        StoreError: there is no database yet, or it cannot be read.
        NightshiftError: the folder of reports cannot be written.
        click.UsageError: there is no such week, or it has not begun.
    """
    from report.spans import asked_span  # noqa: PLC0415  no other action needs it
    from weekly_summary import summarise, write_report  # noqa: PLC0415  as above

    week = "" if asked.name == SINCE_CHECKPOINT else asked.name
    with Database(session.settings.db_path, readonly=True) as database:
        try:
            since, until = asked_span(database, week, utc_now(), session.settings.checkpoint_days)
        except ValueError as error:
            raise click.UsageError(f"--report: {error}.") from None
        summary = summarise(database, since, until)
    try:
        path = write_report(summary, session.settings.reports_dir, Masker(session.settings.secrets))
    except OSError as error:
        raise NightshiftError(f"the report cannot be written to {session.settings.reports_dir}: {error}") from error
    html = path.with_suffix(".html")
    if session.out.as_json:
        session.out.mapping({"report": str(path), "html": str(html), "since": to_text(since), "until": to_text(until)})
    else:
        blocks: list[Block] = [Lines(lines=[Cell(str(path)), Cell(str(html))])]
        session.out.blocks(blocks)
    return Exit.OK
