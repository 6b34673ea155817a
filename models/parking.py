"""What is said when nobody answers, and whether waiting for a backend makes sense."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from core.errors import ModelRefused
from models.chain import how_to_get_one
from models.faults import BackendMisconfigured
from models.line import Line
from models.meter import Exhausted

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


def why_nobody(models: Sequence[Line], engine: Line | None, causes: Causes, until: datetime | None) -> str:
    """Why the task waits and until when, what the engine tried, and how to get a model where none is there."""
    tried = _tried(engine, causes.get(engine) if engine else None)
    then = f"going on at {until.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC" if until else "going on when a model is there"
    if any(line.presence.available for line in models):
        whys = "; ".join(f"{line.label}: {_why(line, causes.get(line))}" for line in models)
        return f"{tried}no model can answer now, {then}: {whys}"
    whys = "".join(f" ({line.why})" for line in models)
    return f"{tried}no model is available{whys}, {then}. To get one: {how_to_get_one()}"


def _why(line: Line, cause: Exception | None) -> str:
    """Why this one does not answer; that it must not be paid is known of this request alone."""
    return str(cause) if isinstance(cause, Exhausted) else line.why or "busy"


def _tried(engine: Line | None, cause: Exception | None) -> str:
    if engine is None:
        return ""
    why = str(cause).rstrip(". ") if cause else engine.why or "busy"
    return f"the built-in engine cannot do this: {why}; "
