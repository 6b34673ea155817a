"""The daemon as a whole: its state, and what holds it back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from nightshift.config.reloaded import Reloaded
from nightshift.core.errors import StoreError
from nightshift.core.status import DaemonStatus, ModelStatus, OverallState
from nightshift.core.tasks.queueing import PauseState
from nightshift.server.context import AppContext, Busy, wait_for
from nightshift.server.endpoint import Reply, Routes
from nightshift.server.pausing import CheckpointAsked, checkpoint_asked
from nightshift.server.reloading import reload_settings
from nightshift.server.schemas import Answer, Installing, Paused

routes = Routes()

CHECK_WALL_S = 20.0
PROBE_WALL_S = 2.0


class Health(Answer):
    """Whether the daemon can do its work (`maintenance.health`), and whether its database takes a write now.

    Nothing of any task is shown. `faults` are sentences, empty when it can.

    `state` is the daemon's state as everywhere else: that it is paused or needs its owner is no failure. Null where the
    database cannot be read.
    """

    status: Literal["ok", "failing"]
    state: OverallState | None
    database: bool
    writer: bool
    loop_lag_s: float | None
    faults: list[str]


def look(context: AppContext) -> Health:
    """Read the database, let the writer commit an empty transaction, and look at the workers' signs of life."""
    reads, writes = (
        _works(context.events.newest_id),
        _works(lambda: context.database.write(_nothing).result(PROBE_WALL_S)),
    )
    faults = list(context.faults())
    return Health(
        status="ok" if reads and writes and not faults else "failing",
        state=context.status().overall.state if reads else None,
        database=reads,
        writer=writes,
        loop_lag_s=context.loop_lag_s() if context.loop_lag_s else None,
        faults=faults,
    )


def _works(probe: Callable[[], object]) -> bool:
    try:
        probe()
    except (StoreError, TimeoutError):
        return False
    return True


def _nothing(_: object) -> None:
    """Change nothing; a write job to test whether writing works."""


class ModelsChecked(Answer):
    """All backends of models, as they are after a look at each."""

    models: tuple[ModelStatus, ...]


class PauseIn(BaseModel):
    """Why the daemon is paused, for the pages and the log."""

    model_config = ConfigDict(extra="forbid")

    reason: str = Field(default="", max_length=500)


@routes.endpoint("GET", "/api/status")
def show_status(context: AppContext) -> DaemonStatus:
    """Show the daemon as a whole: its one state (`overall`), workers, queue, models."""
    return context.status()


@routes.endpoint("POST", "/api/pause")
def pause(context: AppContext, body: PauseIn | None) -> Paused:
    """Claim no more tasks until resumed; survives a restart."""
    return _tell_pause(context, wait_for(context.queue.pause((body or PauseIn()).reason)))


@routes.endpoint("POST", "/api/resume")
def resume(context: AppContext) -> Paused:
    """Claim tasks again."""
    return _tell_pause(context, wait_for(context.queue.resume()))


@routes.endpoint("POST", "/api/checkpoint")
def checkpoint(context: AppContext) -> CheckpointAsked:
    """Hold a checkpoint now: what runs finishes, a report is written, nothing is started until resumed."""
    return checkpoint_asked(context)


@routes.endpoint("POST", "/api/reload")
def reload(context: AppContext) -> Reloaded:
    """Read the settings and tasks.yaml again; if a setting has a fault (422), all the old ones still hold."""
    return reload_settings(context)


@routes.endpoint("POST", "/api/models/check")
def check_models(context: AppContext) -> ModelsChecked:
    """Look now which models answer, instead of when the time has come; tasks that waited for one go on."""
    try:
        return ModelsChecked(models=tuple(context.check_models().result(CHECK_WALL_S)))
    except TimeoutError:
        raise Busy("a model takes its time to answer: look at the status in a moment") from None


@routes.endpoint("POST", "/api/extra/{name}/install")
def install_extra(context: AppContext, name: str) -> Installing:
    """Begin to install optional packages; `extras` in `/api/status` tells how it goes."""
    context.install_extra(name)
    return Installing(name=name)


@routes.endpoint("GET", "/healthz", answers={200: Health, 503: Health})
def check_health(context: AppContext) -> Reply:
    """Tell whether the daemon can do its work; 503 when it cannot."""
    health = look(context)
    return Reply(answer=health, status=200 if health.status == "ok" else 503)


def _tell_pause(context: AppContext, pause: PauseState) -> Paused:
    return Paused(state=context.status().state, holds=pause.reasons)
