"""Watching: what was done over time, the repositories, and figures for a monitoring system."""

from __future__ import annotations

from flask import Response

from server.endpoint import Call, Endpoint, Reply
from server.lists.series import Stats, StatsQuery, stats
from server.repository_answers import Repositories, repositories


def show_stats(call: Call) -> Reply:
    """What was done, in buckets of time."""
    context = call.context
    return Reply(answer=stats(context.database.reader(), call.asked(StatsQuery).range, context.clock()))


def show_repositories(call: Call) -> Reply:
    """How the repositories stand."""
    return Reply(answer=repositories(call.context.repositories()))


def show_metrics(call: Call) -> Response:
    """Figures for a monitoring system."""
    return Response(call.context.metrics(), content_type="text/plain; version=0.0.4; charset=utf-8")


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
    Endpoint(
        name="show_repositories",
        view=show_repositories,
        method="GET",
        path="/api/git",
        summary="The repositories that tasks used: branch, newest commit, changes, commits of ours, what is unpushed.",
        answers={200: Repositories},
        errors=(400,),
    ),
    Endpoint(
        name="show_metrics",
        view=show_metrics,
        method="GET",
        path="/metrics",
        summary="Figures for a monitoring system, in the text format of Prometheus.",
        media="text/plain",
        errors=(400,),
    ),
)
