"""Renders a benchmark's figures as Markdown, with the template `benchmark.md`."""

from __future__ import annotations

from pathlib import PurePath

from nightshift.report.benchmark.report import BenchmarkReport
from nightshift.report.markdown import fill

MODES = {"shown": "with the tests of the commit shown", "words": "by its words alone, with the tests held out"}


def render(report: BenchmarkReport) -> str:
    """Render the report as Markdown, ending with a newline."""
    arms = report.arms
    return fill(
        "benchmark.md",
        report=report,
        name=PurePath(report.repo).name,
        given=MODES.get(report.mode),
        last_at=max((arm.last_at for arm in arms if arm.last_at), default=None),
    )
