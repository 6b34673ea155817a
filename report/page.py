"""From the figures to the document: its head and its sections, in their order."""

from __future__ import annotations

from report.advice import recommendations
from report.document import Page
from report.figures import Summary
from report.sections import commits, guards, head, house, lessons, models, tasks, trend
from report.weeks import report_name
from report.wording import minute


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
