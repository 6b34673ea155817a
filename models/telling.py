"""What the door tells of the replies that it hands out: who answered, what that took, and who answered for whom."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from core.dialogue import BUILT_IN, Completion, ModelRequest
from core.errors import ModelError
from core.events import Kind, Level
from core.ports import Sink
from core.states import Phase
from models.faults import BackendUnfit
from models.line import Line, event_of


class Telling:
    """Makes the events. Used from one event loop.

    Args:
        emit: takes them.
        masker: takes secrets out of what vendors say.
    """

    def __init__(self, emit: Sink, masker: Callable[[str], str]) -> None:
        self._emit, self._masker = emit, masker
        self._instead: dict[Line, Line] = {}

    def replayed(self, request: ModelRequest, stored: Completion) -> None:
        """A stored reply was used."""
        data = {"backend": stored.backend, "model": stored.model, "step_no": request.step_no}
        self._emit(event_of(request, Kind.MODEL_REPLAYED, f"replayed a reply of {stored.model}", data))

    def answered(self, request: ModelRequest, completion: Completion, route: Mapping[str, Any] | None = None) -> None:
        """A reply came; `route` tells why this model was asked first, where that was measured."""
        data = {
            "backend": completion.backend,
            "model": completion.model,
            "tokens_in": completion.tokens_in,
            "tokens_out": completion.tokens_out,
            "estimated": bool(completion.extra.get("estimated")),
            "cost_usd": completion.cost_usd,
            "latency_s": round(completion.latency_s, 4),
            "finish": completion.finish.value,
            "temperature": request.temperature,
            "escalation": request.escalation,
        }
        if saved := completion.extra.get("saved"):
            data["saved"] = saved
        if route:
            data["route"] = {**route, "why": self._masker(route["why"])}
        self._emit(event_of(request, Kind.MODEL_CALLED, _said(request.phase, completion), data))

    def unfit(self, request: ModelRequest, line: Line, error: BackendUnfit) -> None:
        """A backend said that it cannot do this, which is no news but to those who look closely."""
        data: dict[str, Any] = {"why": str(error), "seconds": round(error.seconds, 3), "tried": error.tried}
        text = self._masker(f"{line.label} cannot do this: {error}")
        self._emit(event_of(request, Kind.REPAIR_DECLINED, text, data, Level.DEBUG))

    def budget(self, request: ModelRequest, what: str, text: str) -> None:
        """A budget has no room for the call."""
        self._emit(event_of(request, Kind.BUDGET_REACHED, text, {"budget": what}, Level.WARNING))

    def fallback(
        self, request: ModelRequest, models: Sequence[Line], line: Line, causes: Mapping[Line, Exception]
    ) -> None:
        """Tell when another than the first model answers; where that goes on and on, once.

        That the engine answers where no model is there is as it should be.
        """
        failed = any(isinstance(cause, ModelError) for cause in causes.values())
        if not models or (line.is_engine and not failed):
            return
        first = models[0]
        before = self._instead.get(first)
        if line is first:
            self._instead.pop(first, None)
        elif before is not line or failed:
            self._instead[first] = line
            data = {"from": first.label, "to": line.label}
            text = f"{line.label} answered instead of {first.label}: {first.why}"
            self._emit(event_of(request, Kind.MODEL_FALLBACK, self._masker(text), data, Level.WARNING))


def _said(phase: Phase, completion: Completion) -> str:
    """That a reply came, in a line."""
    if completion.backend != BUILT_IN:
        return f"{completion.backend}={completion.model} answered {phase} in {completion.latency_s:.1f} s"
    saved = completion.extra.get("saved")
    spared = f"; a call of {saved} was saved" if saved else ""
    return f"the built-in engine answered {phase} in {completion.latency_s:.1f} s{spared}"
