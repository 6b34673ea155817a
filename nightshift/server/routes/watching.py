"""Watching: what was done over time, the repositories, and figures for a monitoring system."""

from __future__ import annotations

from flask import Response

from nightshift.core.clock import Moment
from nightshift.core.tasks.forecast import Estimate, TimeEstimate
from nightshift.report import outlook
from nightshift.server.context import AppContext
from nightshift.server.endpoint import Routes
from nightshift.server.repository_answers import Repositories, repositories
from nightshift.server.schemas import Answer

routes = Routes()


class ForecastAnswer(Answer):
    """Forecast for the open tasks (`core.tasks.forecast.Forecast`), with the sentences that tell it.

    `line` is all in brief, `range` where eight of ten courses lie, `warning` that the day's budget will not be enough;
    each is empty where there is nothing to say. Their times are by the clock of the daemon's machine.
    """

    tasks: int
    for_owner: int
    for_later: int
    for_model: int
    measured: int
    takes_s: Estimate | None
    done_at: TimeEstimate | None
    cost_usd: Estimate | None
    left_usd: float | None
    over_budget: float | None
    fit_budget: int | None
    used_up_at: Moment | None
    day_ends_at: Moment | None
    line: str
    range: str
    warning: str


@routes.endpoint("GET", "/api/forecast")
def show_forecast(context: AppContext) -> ForecastAnswer:
    """Forecast the end of the open tasks and their cost, from what earlier tasks took."""
    return ForecastAnswer.from_values(*outlook.read(context.database.reader(), context.work(), context.clock()))


@routes.endpoint("GET", "/api/git")
def show_repositories(context: AppContext) -> Repositories:
    """List the repositories that tasks used: branch, newest commit, changes, commits of ours, what is unpushed."""
    return repositories(context.repositories())


@routes.endpoint("GET", "/metrics", media="text/plain")
def show_metrics(context: AppContext) -> Response:
    """Figures for a monitoring system, in the text format of Prometheus."""
    return Response(context.metrics(), content_type="text/plain; version=0.0.4; charset=utf-8")
