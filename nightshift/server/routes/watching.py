"""Serves figures for monitoring: the forecast, the state of the repositories, and metrics."""

from __future__ import annotations

from flask import Response

from nightshift.core.tasks.forecast import Forecast
from nightshift.core.tasks.revisions import RepositoryStates
from nightshift.server.context import AppContext
from nightshift.server.endpoint import Routes
from nightshift.server.formatting import shorten
from nightshift.server.schemas import Answer

MOST_CHARS = 4096
routes = Routes()


class ForecastAnswer(Answer):
    """Forecast for the open tasks, with sentences that describe its figures.

    `line` is a summary. `range` gives the range into which the result falls in eight of ten cases. Each of these texts
    is empty if there is nothing to say. Times in them are in the time zone of the daemon's machine.
    """

    figures: Forecast
    line: str
    range: str


@routes.endpoint("GET", "/api/forecast")
def show_forecast(context: AppContext) -> ForecastAnswer:
    """Forecast when the open tasks will end and what they will cost, from the durations of earlier tasks."""
    figures, sentences = context.reads.forecast(context.work(), context.clock())
    return ForecastAnswer.from_values(sentences, figures=figures)


@routes.endpoint("GET", "/api/git")
def show_repositories(context: AppContext) -> RepositoryStates:
    """List the repositories that tasks used: the daemon's own, then the owner's, most recently used first.

    For each, show the branch, the newest commit, uncommitted changes, Nightshift's commits and unpushed commits.
    """
    return shorten(context.repositories(), context.mask, MOST_CHARS)


@routes.endpoint("GET", "/metrics", media="text/plain")
def show_metrics(context: AppContext) -> Response:
    """Return metrics for a monitoring system, in the text format of Prometheus."""
    return Response(context.metrics(), content_type="text/plain; version=0.0.4; charset=utf-8")
