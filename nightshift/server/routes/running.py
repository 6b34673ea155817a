"""Serves the state of the daemon as a whole, and its controls: pause, checkpoint, reload and health check."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from pydantic import Field

from nightshift.config.reloaded import Reloaded
from nightshift.core.errors import StoreError
from nightshift.core.status import DaemonStatus, ModelStatus, OverallState
from nightshift.core.tasks.queueing import PauseState
from nightshift.core.tasks.states import DaemonState
from nightshift.server.context import AppContext, wait_for
from nightshift.server.endpoint import Reply, Routes
from nightshift.server.schemas import Answer, Installing, Paused, Sent

routes = Routes()

CHECK_WALL_S = 20.0
RELOAD_WALL_S = 30.0
PROBE_WALL_S = 2.0


class Health(Answer):
    """Health of the daemon: whether it can do its work (`maintenance.health`), and whether its database works now.

    The answer contains nothing about any task. `faults` are sentences that describe problems; the list is empty if
    there are none. `state` is the overall state of the daemon, as on the pages; it is null if the database cannot be
    read. A daemon that is paused or needs its owner is not failing.
    """

    status: Literal["ok", "failing"]
    state: OverallState | None
    database: bool
    writer: bool
    loop_lag_s: float | None
    faults: list[str]


def _works(probe: Callable[[], object]) -> bool:
    try:
        probe()
    except (StoreError, TimeoutError):
        return False
    return True


def _nothing(_: object) -> None:
    """Change nothing. This write only tests whether the database accepts writes."""


class ModelsChecked(Answer):
    """All model backends, each with the result of a check made just now."""

    models: tuple[ModelStatus, ...]


class CheckpointAsked(Answer):
    """Result of asking for a checkpoint.

    `asked` is false if a checkpoint is already running or waits for the owner.
    """

    asked: bool
    state: DaemonState


class PauseIn(Sent):
    """Reason for a pause, which the pages and the log show."""

    reason: str = Field(default="", max_length=500)


@routes.endpoint("GET", "/api/status")
def show_status(context: AppContext) -> DaemonStatus:
    """Show the state of the daemon: its overall state (`overall`), its workers, its queue and its models."""
    return context.status()


@routes.endpoint("POST", "/api/pause")
def pause(context: AppContext, body: PauseIn | None) -> Paused:
    """Stop claiming tasks until the owner resumes. The pause survives a restart."""
    return _tell_pause(context, wait_for(context.queue.pause((body or PauseIn()).reason)))


@routes.endpoint("POST", "/api/resume")
def resume(context: AppContext) -> Paused:
    """Resume claiming tasks."""
    return _tell_pause(context, wait_for(context.queue.resume()))


@routes.endpoint("POST", "/api/checkpoint")
def checkpoint(context: AppContext) -> CheckpointAsked:
    """Hold a checkpoint now: running tasks finish, a report is written, and no task starts until the owner resumes."""
    asked = wait_for(context.reads.ask_checkpoint(context.clock()))
    return CheckpointAsked(asked=asked, state=context.status().state)


@routes.endpoint("POST", "/api/reload")
def reload(context: AppContext) -> Reloaded:
    """Read the settings and tasks.yaml again. If a setting has a fault (422), all old settings stay in effect."""
    late = "the settings are still being read: the log shows when this is done"
    return wait_for(context.reload(), RELOAD_WALL_S, late)


@routes.endpoint("POST", "/api/models/check")
def check_models(context: AppContext) -> ModelsChecked:
    """Check now which models answer, instead of at the next scheduled check. Tasks that waited for a model continue."""
    models = wait_for(context.check_models(), CHECK_WALL_S, "a model is slow to answer: check the status in a moment")
    return ModelsChecked(models=tuple(models))


@routes.endpoint("POST", "/api/extra/{name}/install")
def install_extra(context: AppContext, name: str) -> Installing:
    """Start to install optional packages. `extras` in `/api/status` shows the progress."""
    context.install_extra(name)
    return Installing(name=name)


@routes.endpoint("GET", "/healthz", answers={200: Health, 503: Health})
def check_health(context: AppContext) -> Reply:
    """Check whether the daemon can do its work: read the database, commit an empty transaction, and collect faults.

    The status is 503 if it cannot.
    """
    reads = _works(context.events.newest_id)
    writes = _works(lambda: context.database.write(_nothing).result(PROBE_WALL_S))
    faults = list(context.faults())
    is_well = reads and writes and not faults
    health = Health(
        status="ok" if is_well else "failing",
        state=context.status().overall.state if reads else None,
        database=reads,
        writer=writes,
        loop_lag_s=context.loop_lag_s() if context.loop_lag_s else None,
        faults=faults,
    )
    return Reply(answer=health, status=200 if is_well else 503)


def _tell_pause(context: AppContext, pause: PauseState) -> Paused:
    return Paused(state=context.status().state, holds=pause.reasons)
