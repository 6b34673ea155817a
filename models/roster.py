"""The backends of one set of settings: who is asked first, how a request is sent, and who is there.

Settings may change while calls are under way. A request keeps to the roster that it began with; the old one closes its
backends when the last of its requests has ended.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

from core.clock import Clock
from core.dialogue import ModelRequest
from core.gauge import Gauge
from core.masking import Masker
from core.ports import Sink
from core.states import Phase
from core.status import ModelStatus
from models.base import BaseModelHandler
from models.line import Line
from models.pauses import Forgetful, Pauses
from models.policy import CallPolicy, Price
from models.scale import most_cautious


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """On what terms backends are asked: all that the settings say beside budgets.

    Attributes:
        policy: how patient to be with a backend.
        prices: `backend=model` or `model` to its price; a model without one has its tokens counted only.
        masker: takes secrets out of prompts and messages.
        phase_models: the backend, model or `backend=model` that is asked first in a phase.
        measured: models are ordered by what they did with earlier tasks, and not as the owner did (`models.router`).
    """

    policy: CallPolicy = field(default_factory=CallPolicy)
    prices: Mapping[str, Price] = field(default_factory=dict)
    masker: Callable[[str], str] = field(default_factory=Masker)
    phase_models: Mapping[Phase, str] = field(default_factory=dict)
    measured: bool = False


class Roster:
    """The lines to all backends. Used from one event loop.

    Args:
        backends: the chain, best first (`models.chain.build_chain`).
        terms: see there.
        clock: the time.
        emit: takes the events.
        pauses: where it is kept that a provider asked to be left alone.

    Attributes:
        lines: to all backends, in the order of the chain.
        models: those to models.
        engine: that to the built-in engine, if it takes part.
    """

    def __init__(
        self,
        backends: Sequence[BaseModelHandler],
        terms: Terms,
        *,
        clock: Clock,
        emit: Sink,
        pauses: Pauses | None = None,
    ) -> None:
        self.terms, kept = terms, pauses or Forgetful()
        self.lines = tuple(
            Line(
                backend,
                policy=terms.policy,
                clock=clock,
                emit=emit,
                masker=terms.masker,
                prices=terms.prices,
                pauses=kept,
            )
            for backend in backends
        )
        self.models = tuple(line for line in self.lines if not line.is_engine)
        self.engine = next((line for line in self.lines if line.is_engine), None)
        self._users = 0
        self._idle = asyncio.Event()
        self._idle.set()

    @asynccontextmanager
    async def in_use(self) -> AsyncIterator[None]:
        """Keep the backends open for a request."""
        self._users += 1
        self._idle.clear()
        try:
            yield
        finally:
            self._users -= 1
            if not self._users:
                self._idle.set()

    def follow(self, earlier: Roster) -> None:
        """Go on with the counts of the models that both have."""
        before = {line.label: line for line in earlier.lines}
        for line in self.lines:
            if line.label in before:
                line.follow(before[line.label])

    async def retire(self) -> None:
        """Close the backends once nobody uses them any more."""
        await self._idle.wait()
        await self.aclose()

    async def aclose(self) -> None:
        """Close the backends."""
        for line in self.lines:
            await line.backend.aclose()

    def prepared(self, request: ModelRequest) -> ModelRequest:
        """The request as it is sent: without secrets, and bolder the more often the loop was stuck."""
        heats, masker = self.terms.policy.temperatures, self.terms.masker
        heat = heats[min(request.escalation, len(heats) - 1)]
        known = [t for t in (request.temperature, heat) if t is not None]
        wanted = max(known, default=None) if request.escalation or request.temperature is None else request.temperature
        messages = tuple(replace(message, text=masker(message.text)) for message in request.messages)
        return replace(request, messages=messages, temperature=wanted)

    def route(self, request: ModelRequest) -> list[Line]:
        """The models in the owner's order. Stuck twice and more, the next one begins."""
        wanted = self._wanted(request)
        first = [line for line in self.models if wanted and line.is_called(wanted)][:1]
        lines = [*first, *(line for line in self.models if line not in first)]
        turn = max(0, request.escalation - 1) % max(1, len(lines))
        return lines[turn:] + lines[:turn]

    def _wanted(self, request: ModelRequest) -> str | None:
        """Whom the owner wants to be asked first: what he said of the task goes before what he said of the phase."""
        named = bool(request.wanted) and any(line.is_called(request.wanted) for line in self.lines)
        return request.wanted if named else self.terms.phase_models.get(request.phase)

    def gauge(self, phase: Phase, escalation: int, wanted: str = "") -> Gauge:
        """How long texts are for the model that will be asked; where that is still open, what holds for each of them.

        Models that are not there do not count while another one is.
        """
        lines = self.route(ModelRequest(phase=phase, messages=(), escalation=escalation, wanted=wanted))
        lines = [line for line in lines if line.presence.available] or lines
        asked = lines if self.terms.measured and not wanted else lines[:1]
        return most_cautious([line.scale.gauge(line.backend.window) for line in asked])

    def scout(self, request: ModelRequest) -> tuple[Line, float | None] | None:
        """The engine where it may look before a model is asked, and for how long; None is as long as usual."""
        engine, wanted = self.engine, self._wanted(request)
        preferred = bool(engine and wanted and engine.is_called(wanted))
        unasked = wanted == request.wanted or not self.terms.policy.scout_s  # a task with a model of its own asks that
        if engine is None or request.material is None or (unasked and not preferred):
            return None
        return engine, None if preferred else self.terms.policy.scout_s

    def status(self, measured: Callable[[str], str] | None = None) -> tuple[ModelStatus, ...]:
        """All backends, in the order of the chain; `measured` tells what is known of a model, by `backend=model`."""
        told = measured or (lambda _label: "")
        return tuple(replace(line.status(), measured=told(line.label)) for line in self.lines)

    async def look(self, *, models: bool = True, engine: bool = True) -> None:
        """Look which backends are there, all at once."""
        await look(line for line in self.lines if (engine if line.is_engine else models))

    @property
    def rises(self) -> int:
        """How often backends came up."""
        return sum(line.rises for line in self.lines)


async def look(lines: Iterable[Line]) -> None:
    """Look whether these backends are there, all at once."""
    await asyncio.gather(*(line.look() for line in lines))


async def first_ready(lines: Sequence[Line]) -> Line | None:
    """The first of these that may be asked now."""
    for line in lines:
        if await line.ready():
            return line
    return None


def available(lines: Sequence[Line]) -> bool:
    """Whether any of these backends is there."""
    return any(line.presence.available for line in lines)
