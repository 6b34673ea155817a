"""Serves figures for monitoring: the forecast, the state of the repositories, and metrics."""

from __future__ import annotations

from flask import Response

from nightshift.core.clock import Moment
from nightshift.core.tasks.forecast import Forecast
from nightshift.core.tasks.revisions import LogLine, RepositoryState, RepositoryStates, RepositoryStatus
from nightshift.core.text.masking import printable
from nightshift.server.context import AppContext
from nightshift.server.endpoint import Routes
from nightshift.server.schemas import Answer

routes = Routes()


class NewestCommit(Answer):
    """The newest commit of a checkout. `task_id` is the task that made it, null if the commit is not Nightshift's."""

    commit: str
    at: Moment
    author: str
    subject: str
    task_id: int | None


class RepositoryRow(Answer):
    """The state of one repository, from git and from the ledger.

    `changed` counts files that differ from the newest commit, without untracked ones. `ahead` and `behind` compare the
    branch with its upstream. `our_commits` counts commits of Nightshift. `unpushed` counts those that were integrated
    and that Nightshift has not pushed. Unknown values are null. `error` says why a repository cannot be read.
    """

    path: str
    own: bool
    branch: str | None
    newest: NewestCommit | None
    changed: int | None
    upstream: str | None
    ahead: int | None
    behind: int | None
    remote: str | None
    our_commits: int
    our_last_at: Moment | None
    unpushed: int
    pushed_at: Moment | None
    error: str


class Repositories(Answer):
    """The daemon's own repository, then the owner's repositories, most recently used first.

    `more` counts the repositories that are not listed. `at` is the time when their state was read, null until it was
    read for the first time.
    """

    at: Moment | None
    auto_push: bool
    repositories: list[RepositoryRow]
    more: int


def repositories(states: RepositoryStates) -> Repositories:
    """Return the state of all repositories as the API shows it."""
    rows = [_row(state) for state in states.repositories]
    return Repositories(at=states.at, auto_push=states.auto_push, repositories=rows, more=states.more)


def _row(state: RepositoryState) -> RepositoryRow:
    seen, ours = state.status or RepositoryStatus(root=state.repo, branch=None, newest=None, changed=None), state.ours
    return RepositoryRow.from_values(
        seen,
        ours,
        path=printable(state.repo),
        own=state.is_own,
        branch=seen.branch and printable(seen.branch),
        newest=_newest(seen.newest) if seen.newest else None,
        upstream=seen.upstream and printable(seen.upstream),
        remote=seen.remote and printable(seen.remote),
        our_commits=ours.commits,
        our_last_at=ours.last_at,
        error=printable(state.error),
    )


def _newest(line: LogLine) -> NewestCommit:
    author, subject = printable(line.author), printable(line.subject)
    return NewestCommit(commit=line.id, at=line.at, author=author, subject=subject, task_id=line.task_id)


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
def show_repositories(context: AppContext) -> Repositories:
    """List the repositories that tasks used.

    For each, show the branch, the newest commit, uncommitted changes, Nightshift's commits and unpushed commits.
    """
    return repositories(context.repositories())


@routes.endpoint("GET", "/metrics", media="text/plain")
def show_metrics(context: AppContext) -> Response:
    """Return metrics for a monitoring system, in the text format of Prometheus."""
    return Response(context.metrics(), content_type="text/plain; version=0.0.4; charset=utf-8")
