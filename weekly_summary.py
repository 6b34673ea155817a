"""The report of a week: a fold over what was stored, rendered as Markdown, with advice that follows from its figures.

The same database and the same span give the same bytes: nothing in the report depends on when it was written.
"""

from __future__ import annotations

import os
from pathlib import Path

from weekly.figures import Summary, summarise
from weekly.page import render, report_name

__all__ = ["Summary", "render", "summarise", "write_report"]


def write_report(summary: Summary, reports_dir: Path) -> Path:
    """Write the report whole or not at all; a report of the same span is replaced.

    Raises:
        OSError: the folder cannot be written.
    """
    path = reports_dir / f"{report_name(summary.since, summary.until)}.md"
    reports_dir.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_text(render(summary), encoding="utf-8")
    draft.replace(path)
    return path
