"""From the figures to the document, and the name that its files bear."""

from __future__ import annotations

from datetime import datetime, timedelta

from weekly.advice import recommendations
from weekly.document import Page
from weekly.figures import Summary
from weekly.sections import commits, guards, head, house, lessons, models, tasks, trend
from weekly.wording import minute


def report_name(since: datetime, until: datetime) -> str:
    """The ISO week that the span ends in; for spans much shorter than a week, its last day or minute."""
    last = until - timedelta(seconds=1)
    if until - since >= timedelta(days=6):
        return f"{last:%G-W%V}"
    return f"{last:%Y-%m-%d}" if until - since >= timedelta(days=1) else f"{last:%Y-%m-%dT%H%M}"


def page_of(summary: Summary) -> Page:
    """The document."""
    return Page(
        title=f"Nightshift, {report_name(summary.since, summary.until)}",
        span=f"{minute(summary.since)} to {minute(summary.until)} UTC",
        lead=head.lead(summary),
        facts=head.facts(summary),
        advice=recommendations(summary),
        sections=[
            commits.reading(summary),
            tasks.section(summary),
            trend.section(summary),
            models.section(summary),
            commits.activity(summary),
            lessons.failures(summary),
            lessons.memory(summary),
            guards.section(summary),
            house.section(summary),
        ],
    )
