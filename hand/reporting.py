"""`cli.py --report`: writes the report of a week, or of the time since the last checkpoint, from the database alone."""

from __future__ import annotations

from datetime import datetime, timedelta

import click

from core.clock import to_text, utc_now
from core.errors import NightshiftError
from core.masking import Masker
from db import checkpoints
from db.database import Database
from hand.asked import Asked
from hand.blocks import Block, Cell, Lines
from hand.exits import Exit
from hand.hand import Hand

SINCE_CHECKPOINT = "now"


def report(hand: Hand, asked: Asked) -> int:
    """Write a report and print where it is.

    Raises:
        StoreError: there is no database yet, or it cannot be read.
        NightshiftError: the folder of reports cannot be written.
        click.UsageError: there is no such week, or it has not begun.
    """
    from weekly_summary import summarise, write_report  # noqa: PLC0415  no other action needs it

    now = utc_now().replace(second=0, microsecond=0)
    with Database(hand.settings.db_path, readonly=True) as database:
        days = hand.settings.checkpoint_days
        since, until = _week(asked.name, now) if asked.name != SINCE_CHECKPOINT else _lately(database, now, days)
        summary = summarise(database, since, until)
    try:
        path = write_report(summary, hand.settings.reports_dir, Masker(hand.settings.secrets))
    except OSError as error:
        raise NightshiftError(f"the report cannot be written to {hand.settings.reports_dir}: {error}") from error
    html = path.with_suffix(".html")
    if hand.out.as_json:
        hand.out.mapping({"report": str(path), "html": str(html), "since": to_text(since), "until": to_text(until)})
    else:
        blocks: list[Block] = [Lines(lines=[Cell(str(path)), Cell(str(html))])]
        hand.out.blocks(blocks)
    return Exit.OK


def _week(name: str, now: datetime) -> tuple[datetime, datetime]:
    """The span of a week, as far as it is over."""
    from weekly.weeks import span_of  # noqa: PLC0415  as above

    try:
        since, until = span_of(name)
    except ValueError as error:
        raise click.UsageError(f"--report: {error}.") from None
    if since >= now:
        raise click.UsageError(f"--report: the week {name} has not begun.")
    return since, min(until, now)


def _lately(database: Database, now: datetime, days: float) -> tuple[datetime, datetime]:
    """From the end of the last report to now; before the first checkpoint, as long as one is apart from the next."""
    last = checkpoints.read(database.reader()).last
    since = last if last is not None and last < now else now - timedelta(days=days)
    return since, now
