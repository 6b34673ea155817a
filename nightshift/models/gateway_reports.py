"""Reports of the gateway: which backend answered, which backend answered in place of another, and why a task waits."""

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
"""Maps each backend that was asked to the error that it raised."""
Choice = Mapping[str, Any]
"""The reason why a model was asked first, as JSON values (see `routing.ClientOrder`)."""


class GatewayEvents:
    """Emits the gateway's events. Must be used from one event loop.

    Args:
        emit: receives the events.
        masker: removes secrets from vendors' texts.
    """

    def __init__(self, emit: Sink, masker: Callable[[str], str]) -> None:
        self._emit, self._masker = emit, masker
        self._instead: dict[BackendClient, BackendClient] = {}

    def report_replay(self, request: ModelRequest, stored: Completion) -> None:
        """Report that a stored reply was used in place of a new one."""
        text, data = f"replayed a reply of {stored.model}", BackendData(backend=stored.backend, model=stored.model)
        events_about(request, self._emit).emit(Kind.MODEL_REPLAYED, text, **data)

    def report_answer(self, request: ModelRequest, completion: Completion, route: Choice | None = None) -> None:
        """Report a reply; `route` says why this model was asked first, if routing is measured."""
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
        """Report at debug level that the engine cannot handle a request."""
        about = events_about(request, self._emit)
        text = self._masker(f"{client.label} cannot handle this request: {error}")
        seconds = round(error.seconds, 3)
        about.emit(Kind.REPAIR_DECLINED, text, level=Level.DEBUG, why=str(error), seconds=seconds, tried=error.tried)

    def report_plain_words(self, client: BackendClient) -> None:
        """Report that a model is asked without JSON and tools for the rest of the day.

        The reason is that the model sent several consecutive replies in the wrong form.
        """
        data = BackendData(backend=client.backend.name, model=client.backend.model)
        text = (
            f"{client.label} repeatedly sent no usable reply: Nightshift asks it in plain words for the rest of the day"
        )
        Emitter(self._emit).emit(Kind.REPLY_REFUSED, self._masker(text), level=Level.WARNING, **data)

    def report_budget(self, request: ModelRequest, what: str, text: str) -> None:
        """Report that a budget has no room for the call."""
        about, data = events_about(request, self._emit), BudgetData(budget=what)
        about.emit(Kind.BUDGET_REACHED, text, level=Level.WARNING, **data)

    def report_fallback(self, request: ModelRequest, models: Clients, client: BackendClient, causes: Causes) -> None:
        """Report that a backend other than the first model answers; a lasting fallback is reported only once.

        Nothing is reported if the engine answers because no model is configured.
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
    """Return the message of a `MODEL_CALLED` event."""
    if completion.backend != BUILT_IN:
        return f"{completion.backend}={completion.model} answered {phase} in {duration(completion.latency_s)}"
    saved = completion.extra.get("saved")
    spared = f"; this saved a call of {saved}" if saved else ""
    return f"the built-in engine answered {phase} in {duration(completion.latency_s)}{spared}"


def may_come_back(client: BackendClient, causes: Causes) -> bool:
    """Check whether this client may still answer later, although all others have refused or have no budget left."""
    return client.health.available and not isinstance(causes.get(client), BackendMisconfigured)


def next_times(models: Clients, engine: BackendClient | None, causes: Causes) -> list[datetime]:
    """Return the known times at which these backends may be asked again.

    The engine is always available, so a refusal by the engine adds no time. If the engine has not refused, its time
    counts, because it may be able to look at the request later.
    """
    undecided = engine and engine.health.available and not isinstance(causes.get(engine), ModelRefused)
    hopeful = [*models, engine] if engine and undecided else models
    return [at for client in hopeful if (at := client.next_time)]


def why_nobody(models: Clients, engine: BackendClient | None, causes: Causes, until: datetime | None) -> str:
    """Return why the task waits and until when, with the engine's result.

    If no model is available, add how to set one up.
    """
    tried = _say_tried(engine, causes.get(engine) if engine else None)
    when = f"at {until.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC" if until else "when a model is available"
    if any(client.health.available for client in models):
        whys = "; ".join(f"{client.label}: {_why(client, causes.get(client))}" for client in models)
        return f"{tried}no model can answer now ({whys}); the task continues {when}"
    whys = "".join(f" ({client.why})" for client in models)
    return f"{tried}no model is available{whys}; the task continues {when}. To get a model: {how_to_get_one()}"


def _why(client: BackendClient, cause: Exception | None) -> str:
    """Return why this client does not answer: the exhausted budget of this request, or the client's own reason."""
    return str(cause) if isinstance(cause, BudgetExhausted) else client.why or "busy"


def _say_tried(engine: BackendClient | None, cause: Exception | None) -> str:
    if engine is None:
        return ""
    why = str(cause).rstrip(". ") if cause else engine.why or "busy"
    return f"the built-in engine cannot handle this request: {why}; "
