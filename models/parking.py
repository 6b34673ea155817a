"""What is said when nobody answers, and whether waiting for a backend makes sense."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from core.errors import ModelRefused
from models.chain import how_to_get_one
from models.faults import BackendMisconfigured
from models.line import Line

Causes = Mapping[Line, Exception]
"""What each backend that was asked raised."""


def may_come_back(line: Line, causes: Causes) -> bool:
    """Whether it makes sense to wait for this line when all others have refused or may not be paid."""
    return line.presence.available and not isinstance(causes.get(line), BackendMisconfigured)


def next_times(models: Sequence[Line], engine: Line | None, causes: Causes) -> list[datetime]:
    """When these may be asked again, as far as anybody knows.

    The engine is always there, so what it declined is not asked again by the clock: only somebody else's coming helps.
    It counts where it was not able to look, for then it may be able later.
    """
    unheard = engine and engine.presence.available and not isinstance(causes.get(engine), ModelRefused)
    hopeful = [*models, engine] if engine and unheard else models
    return [at for line in hopeful if (at := line.next_time)]


def why_nobody(models: Sequence[Line], engine: Line | None, causes: Causes) -> str:
    """Why the task waits, what the engine tried, and how to get a model where none is there."""
    tried = _tried(engine, causes.get(engine) if engine else None)
    if any(line.presence.available for line in models):
        whys = "; ".join(f"{line.label}: {line.why or 'busy'}" for line in models)
        return f"{tried}no model can answer now: {whys}"
    whys = "".join(f" ({line.why})" for line in models)
    return f"{tried}no model is available{whys}. To get one: {how_to_get_one()}"


def _tried(engine: Line | None, cause: Exception | None) -> str:
    if engine is None:
        return ""
    why = str(cause).rstrip(". ") if cause else engine.why or "busy"
    return f"the built-in engine cannot do this: {why}; "
