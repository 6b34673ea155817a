"""Reports of the gateway: the backend that answered, the one that answered instead, and the cause of a wait."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from nightshift.core.built_in import BUILT_IN
from nightshift.core.dialogue import Completion, ModelRequest
from nightshift.core.errors import ModelError, ModelRefused
from nightshift.core.events import BackendData, BudgetData, CallData, Emitter, FallbackData, Kind, Level
from nightshift.core.ports import Sink
from nightshift.core.tasks.states import Phase
from nightshift.core.text.formats import duration
from nightshift.models.backend_client import BackendClient
from nightshift.models.base import events_about
from nightshift.models.budgets import BudgetExhausted
from nightshift.models.chain import how_to_get_one
from nightshift.models.errors import BackendMisconfigured, BackendUnfit

Clients = Sequence[BackendClient]
Causes = Mapping[BackendClient, Exception]
"""The errors of the backends that were asked."""
Choice = Mapping[str, Any]
"""Why a model was asked first, as `routing.ClientOrder.route` tells it."""


class GatewayEvents:
    """Emits the gateway's events. Used from one event loop.

    Args:
        emit: takes them.
        masker: takes secrets out of what vendors say.
    """

    def __init__(self, emit: Sink, masker: Callable[[str], str]) -> None:
        self._emit, self._masker = emit, masker
        self._instead: dict[BackendClient, BackendClient] = {}

    def report_replay(self, request: ModelRequest, stored: Completion) -> None:
        """A stored reply was used."""
        text, data = f"replayed a reply of {stored.model}", BackendData(backend=stored.backend, model=stored.model)
        events_about(request, self._emit).emit(Kind.MODEL_REPLAYED, text, **data)

    def report_answer(self, request: ModelRequest, completion: Completion, route: Choice | None = None) -> None:
        """A reply came; `route` tells why this model was asked first, where that was measured."""
        data = CallData(
            backend=completion.backend,
            model=completion.model,
            tokens_in=completion.tokens_in,
            tokens_out=completion.tokens_out,
            estimated=bool(completion.extra.get("estimated")),
            cost_usd=completion.cost_usd,
            latency_s=round(completion.latency_s, 4),
            finish=completion.finish.value,
            temperature=request.temperature,
            escalation=request.escalation,
        )
        optional = {
            "saved": completion.extra.get("saved"),
            "protocol": completion.protocol and completion.protocol.value,
            "cached_tokens": completion.extra.get("cached_tokens"),
            "route": route and {**route, "why": self._masker(route["why"])},
        }
        data |= {name: value for name, value in optional.items() if value}  # type: ignore[typeddict-item]
        events_about(request, self._emit).emit(Kind.MODEL_CALLED, _reply_text(request.phase, completion), **data)

    def report_unfit(self, request: ModelRequest, client: BackendClient, error: BackendUnfit) -> None:
        """A backend said that it cannot do this, which is no news but to those who look closely."""
        text, about = self._masker(f"{client.label} cannot do this: {error}"), events_about(request, self._emit)
        seconds = round(error.seconds, 3)
        about.emit(Kind.REPAIR_DECLINED, text, level=Level.DEBUG, why=str(error), seconds=seconds, tried=error.tried)

    def report_plain_words(self, client: BackendClient) -> None:
        """A model sent several replies in a row without the form that was asked for."""
        data = BackendData(backend=client.backend.name, model=client.backend.model)
        text = (
            f"{client.label} sent no usable reply again and again: it is asked in plain words for the rest of the day"
        )
        Emitter(self._emit).emit(Kind.REPLY_REFUSED, self._masker(text), level=Level.WARNING, **data)

    def report_budget(self, request: ModelRequest, what: str, text: str) -> None:
        """A budget has no room for the call."""
        about, data = events_about(request, self._emit), BudgetData(budget=what)
        about.emit(Kind.BUDGET_REACHED, text, level=Level.WARNING, **data)

    def report_fallback(self, request: ModelRequest, models: Clients, client: BackendClient, causes: Causes) -> None:
        """Report that another than the first model answers; where that goes on and on, once.

        Nothing is reported where the engine answers because there is no model.
        """
        failed = any(isinstance(cause, ModelError) for cause in causes.values())
        if not models or (client.is_engine and not failed):
            return
        first = models[0]
        before = self._instead.get(first)
        if client is first:
            self._instead.pop(first, None)
        elif before is not client or failed:
            self._instead[first] = client
            data = FallbackData({"from": first.label, "to": client.label})
            text = self._masker(f"{client.label} answered instead of {first.label}: {first.why}")
            events_about(request, self._emit).emit(Kind.MODEL_FALLBACK, text, level=Level.WARNING, **data)


def _reply_text(phase: Phase, completion: Completion) -> str:
    """The message of a `MODEL_CALLED` event."""
    if completion.backend != BUILT_IN:
        return f"{completion.backend}={completion.model} answered {phase} in {duration(completion.latency_s)}"
    saved = completion.extra.get("saved")
    spared = f"; a call of {saved} was saved" if saved else ""
    return f"the built-in engine answered {phase} in {duration(completion.latency_s)}{spared}"


def may_come_back(client: BackendClient, causes: Causes) -> bool:
    """Whether it makes sense to wait for this client when all others have refused or may not be paid."""
    return client.health.available and not isinstance(causes.get(client), BackendMisconfigured)


def next_times(models: Clients, engine: BackendClient | None, causes: Causes) -> list[datetime]:
    """When these may be asked again, as far as anybody knows.

    The engine is always there, so what it declined does not set a time: only another backend helps.
    It counts where it was not able to look, for then it may be able later.
    """
    undecided = engine and engine.health.available and not isinstance(causes.get(engine), ModelRefused)
    hopeful = [*models, engine] if engine and undecided else models
    return [at for client in hopeful if (at := client.next_time)]


def why_nobody(models: Clients, engine: BackendClient | None, causes: Causes, until: datetime | None) -> str:
    """Why the task waits and until when, what the engine tried, and how to get a model where none is there."""
    tried = _say_tried(engine, causes.get(engine) if engine else None)
    then = f"going on at {until.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC" if until else "going on when a model is there"
    if any(client.health.available for client in models):
        whys = "; ".join(f"{client.label}: {_why(client, causes.get(client))}" for client in models)
        return f"{tried}no model can answer now, {then}: {whys}"
    whys = "".join(f" ({client.why})" for client in models)
    return f"{tried}no model is available{whys}, {then}. To get one: {how_to_get_one()}"


def _why(client: BackendClient, cause: Exception | None) -> str:
    """Why this one does not answer; a spent budget concerns this request alone."""
    return str(cause) if isinstance(cause, BudgetExhausted) else client.why or "busy"


def _say_tried(engine: BackendClient | None, cause: Exception | None) -> str:
    if engine is None:
        return ""
    why = str(cause).rstrip(". ") if cause else engine.why or "busy"
    return f"the built-in engine cannot do this: {why}; "
