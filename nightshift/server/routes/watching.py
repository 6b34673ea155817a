"""Watching: what was done over time, the repositories, and figures for a monitoring system."""

from __future__ import annotations

from flask import Response

from nightshift.core.clock import Moment
from nightshift.core.repositories import RepositoryState, RepositoryStates, RepositoryStatus
from nightshift.core.tasks.forecast import Estimate, TimeEstimate
from nightshift.core.tasks.revisions import LogLine
from nightshift.core.text.masking import printable
from nightshift.server.context import AppContext
from nightshift.server.endpoint import Routes
from nightshift.server.schemas import Answer

routes = Routes()


class NewestCommit(Answer):
    """The newest commit of what is checked out; `task_id` is that of a commit of ours."""

    commit: str
    at: Moment
    author: str
    subject: str
    task_id: int | None


class RepositoryRow(Answer):
    """One repository: what git says of it, and what the ledger does.

    `changed` counts files that differ from the newest commit, untracked ones left out. `ahead` and `behind` compare the
    branch with what it tracks. `our_commits` are those of Nightshift, `unpushed` those of them that were integrated and
    that no push of its own took along. What is not known is null; `error` says why a repository cannot be looked at.
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
    """The daemon's own repository, then those of its owner that tasks used last; `more` counts the others.

    `at` is when they were looked at, null while the first look goes on.
    """

    at: Moment | None
    auto_push: bool
    repositories: list[RepositoryRow]
    more: int


def repositories(states: RepositoryStates) -> Repositories:
    """List all repositories."""
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
    return ForecastAnswer.from_values(*context.reads.forecast(context.work(), context.clock()))


@routes.endpoint("GET", "/api/git")
def show_repositories(context: AppContext) -> Repositories:
    """List the repositories that tasks used: branch, newest commit, changes, commits of ours, what is unpushed."""
    return repositories(context.repositories())


@routes.endpoint("GET", "/metrics", media="text/plain")
def show_metrics(context: AppContext) -> Response:
    """Figures for a monitoring system, in the text format of Prometheus."""
    return Response(context.metrics(), content_type="text/plain; version=0.0.4; charset=utf-8")
