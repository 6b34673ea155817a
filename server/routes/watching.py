"""Watching: what was done over time, the repositories, and figures for a monitoring system."""

from __future__ import annotations

from flask import Response

from core.forecast import Forecast
from db.forecasts import foreseen
from server.context import AppContext
from server.endpoint import Routes
from server.lists.series import Stats, StatsQuery, stats
from server.repository_answers import Repositories, repositories

routes = Routes()


@routes.endpoint("GET", "/api/stats")
def show_stats(context: AppContext, query: StatsQuery) -> Stats:
    """Ends of tasks, tries, tokens and cost over time, in buckets as a chart shows them; and by model."""
    return stats(context.database.reader(), query.range, context.clock())


@routes.endpoint("GET", "/api/forecast")
def show_forecast(context: AppContext) -> Forecast:
    """When the open tasks are likely to have ended, and what that is likely to cost, from what earlier tasks took."""
    return foreseen(context.database.reader(), context.work(), context.clock())


@routes.endpoint("GET", "/api/git")
def show_repositories(context: AppContext) -> Repositories:
    """The repositories that tasks used: branch, newest commit, changes, commits of ours, what is unpushed."""
    return repositories(context.repositories())


@routes.endpoint("GET", "/metrics", media="text/plain")
def show_metrics(context: AppContext) -> Response:
    """Figures for a monitoring system, in the text format of Prometheus."""
    return Response(context.metrics(), content_type="text/plain; version=0.0.4; charset=utf-8")
