"""Watching: what was done over time, the repositories, and figures for a monitoring system."""

from __future__ import annotations

from server.endpoint import Call, Endpoint, Reply
from server.series import Stats, StatsQuery, stats


def show_stats(call: Call) -> Reply:
    """What was done, in buckets of time."""
    desk = call.desk
    return Reply(answer=stats(desk.database.reader(), call.asked(StatsQuery).range, desk.clock()))


ENDPOINTS = (
    Endpoint(
        name="show_stats",
        view=show_stats,
        method="GET",
        path="/api/stats",
        summary="Ends of tasks, tries, tokens and cost over time, in buckets as a chart shows them; and by model.",
        query=StatsQuery,
        answers={200: Stats},
        errors=(400,),
    ),
)
