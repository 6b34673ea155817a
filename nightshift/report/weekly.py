"""The weekly report: figures from stored data, written as Markdown, with advice based on them.

The same database and the same span give the same bytes: nothing in the report depends on when or where it was written.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from nightshift.core.text.masking import Masker
from nightshift.report import markdown
from nightshift.report.figures import Summary, fold, mask_summary
from nightshift.report.weeks import report_name
from nightshift.storage.db.database import Database
from nightshift.storage.db.report_queries import ReportQueries
from nightshift.storage.files.whole import write_whole

__all__ = ["Summary", "render", "summarise", "write_report"]

Mask = Callable[[str], str]


def summarise(database: Database, since: datetime, until: datetime) -> Summary:
    """Read and compute the figures of one time span, since ≤ t < until.

    Raises:
        StoreError: the database cannot be read.
    """
    return fold(ReportQueries(database), since, until)


def render(summary: Summary, mask: Mask | None = None) -> str:
    """Render the report as Markdown, with secrets masked."""
    return markdown.render(mask_summary(summary, mask or Masker()))


def write_report(summary: Summary, reports_dir: Path, mask: Mask | None = None) -> Path:
    """Write the report atomically and return its path; a report of the same name is replaced.

    Args:
        summary: the figures.
        reports_dir: the target folder; created if it is missing.
        mask: removes secrets from texts of tasks and models; the default recognises secrets only by their form.

    Raises:
        OSError: the folder cannot be written.
    """
    path = reports_dir / f"{report_name(summary.since, summary.until)}.md"
    write_whole(path, render(summary, mask))
    return path
