"""The daemon as a whole: its state, and what holds it back."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from core.queueing import PauseState
from core.status import DaemonStatus
from server.context import AppContext, settled
from server.endpoint import Call, Endpoint, Reply
from server.health import Health, look
from server.pausing import CheckpointAsked, checkpoint_asked
from server.reloading import reloaded
from server.schemas import Paused
from settings.live import Reloaded


class PauseIn(BaseModel):
    """Why the daemon is paused, for the pages and the log."""

    model_config = ConfigDict(extra="forbid")

    reason: str = Field("", max_length=500)


def show_status(call: Call) -> Reply:
    """The daemon as a whole."""
    return Reply(answer=call.context.status())


def pause(call: Call) -> Reply:
    """Claim no more tasks."""
    return _paused(call.context, settled(call.context.queue.pause(call.optional_body(PauseIn).reason)))


def resume(call: Call) -> Reply:
    """Claim tasks again, unless something else holds them back."""
    return _paused(call.context, settled(call.context.queue.resume()))


def checkpoint(call: Call) -> Reply:
    """Hold a checkpoint now."""
    return Reply(answer=checkpoint_asked(call.context))


def reload(call: Call) -> Reply:
    """Read the settings again."""
    return Reply(answer=reloaded(call.context))


def check_health(call: Call) -> Reply:
    """Look at the daemon's signs of life."""
    health = look(call.context)
    return Reply(answer=health, status=200 if health.status == "ok" else 503)


def _paused(context: AppContext, pause: PauseState) -> Reply:
    return Reply(answer=Paused(state=context.status().state, holds=pause.reasons))


ENDPOINTS = (
    Endpoint(
        name="show_status",
        view=show_status,
        method="GET",
        path="/api/status",
        summary="The daemon as a whole: workers, queue, models.",
        answers={200: DaemonStatus},
        errors=(400,),
    ),
    Endpoint(
        name="pause",
        view=pause,
        method="POST",
        path="/api/pause",
        summary="Claim no more tasks until resumed; survives a restart.",
        body=PauseIn,
        answers={200: Paused},
        errors=(400, 415, 503),
    ),
    Endpoint(
        name="resume",
        view=resume,
        method="POST",
        path="/api/resume",
        summary="Claim tasks again.",
        answers={200: Paused},
        errors=(400, 503),
    ),
    Endpoint(
        name="checkpoint",
        view=checkpoint,
        method="POST",
        path="/api/checkpoint",
        summary="Hold a checkpoint now: what runs finishes, a report is written, nothing is begun until resumed.",
        answers={200: CheckpointAsked},
        errors=(400, 503),
    ),
    Endpoint(
        name="reload",
        view=reload,
        method="POST",
        path="/api/reload",
        summary="Read the settings and tasks.yaml again; if a setting has a fault (422), all the old ones still hold.",
        answers={200: Reloaded},
        errors=(400, 422, 503),
    ),
    Endpoint(
        name="check_health",
        view=check_health,
        method="GET",
        path="/healthz",
        summary="Whether the daemon can do its work; 503 when it cannot.",
        answers={200: Health, 503: Health},
    ),
)
