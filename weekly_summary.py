"""The report of a week: a fold over what was stored, rendered as Markdown, with advice that follows from its figures.

The same database and the same span give the same bytes: nothing in the report depends on when it was written.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from db.database import Database
from db.report_queries import ReportQueries
from files.whole import write_whole
from weekly.figures import Summary, fold
from weekly.page import render, report_name

__all__ = ["Summary", "render", "summarise", "write_report"]


def summarise(database: Database, since: datetime, until: datetime) -> Summary:
    """Read and fold one span of time, since ≤ t < until.

    Raises:
        StoreError: the database cannot be read.
    """
    return fold(ReportQueries(database), since, until)


def write_report(summary: Summary, reports_dir: Path) -> Path:
    """Write the report whole or not at all; a report of the same span is replaced.

    Raises:
        OSError: the folder cannot be written.
    """
    path = reports_dir / f"{report_name(summary.since, summary.until)}.md"
    write_whole(path, render(summary))
    return path
