"""The one door to all models: who is asked, how often, for how much, and what happens when nobody answers.

A request goes down the chain of backends until one answers. Replies are stored before they are handed out and replayed
to a step that is resumed; budgets are reserved before a call and charged before the reply is looked into; when no
backend can answer, the task is parked until a stated time, or until `watch` sees a model come back.

The built-in engine stands beside the chain: it costs nothing but seconds, so it is asked before a model is, for a few
of them, and once more with all its time when no model answers. That it cannot do something is no trouble of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Protocol

from core.clock import Clock, utc_now
from core.dialogue import Completion, ModelRequest
from core.errors import Interruption, ModelRefused, ModelUnavailable, Parked
from core.masking import Masker
from core.ports import Sink
from core.states import Phase
from core.status import ModelStatus
from core.tasks import Limits, Spent
from models.base import BaseModelHandler, estimate_request
from models.faults import BackendUnfit
from models.line import Line
from models.meter import Exhausted, Meter, Need
from models.parking import may_come_back, next_times, why_nobody
from models.policy import Budgets, CallPolicy, Price, Usage
from models.purse import Purse
from models.telling import Telling

Place = tuple[int, int, int, int]


class Replies(Protocol):
    """Where replies are kept, so that none is bought twice."""

    def reply(self, place: Place) -> Completion | None:
        """The reply that is stored for this place."""
        ...

    def save_reply(self, request: ModelRequest, completion: Completion) -> Future[Any]:
        """Store it, for its cost alone where the request has no place; the future is done when it is durable."""
        ...


class BoundModel:
    """The door as one task sees it (`core.ports.Model`): with the task's limits and what it has spent."""

    def __init__(self, handler: ModelHandler, meter: Meter) -> None:
        self._handler, self._meter = handler, meter

    @property
    def spent(self) -> Spent:
        """All that the task has used, what it had used before included."""
        return self._meter.spent

    async def complete(self, request: ModelRequest) -> Completion:
        """See `core.ports.Model.complete`."""
        return await self._handler.complete(request, self._meter)


class ModelHandler:
    """Routing, patience, budgets and accounting for all tasks. Used from one event loop.

    Args:
        backends: the chain, best first (`models.chain.build_chain`).
        steps: where replies are stored.
        emit: takes the events.
        clock: the time, for days, pauses and parking.
        policy: how patient to be with a backend.
        budgets: what a call, a day and everything together may cost.
        prices: `backend=model` or `model` to its price; a model without one has its tokens counted only.
        masker: takes secrets out of prompts and messages.
        phase_models: the backend, model or `backend=model` that is asked first in a phase.
        usage: what was spent today and ever before this process began; asked once.
    """

    def __init__(  # noqa: PLR0913 - what the owner set arrives by name, each under the word the settings use
        self,
        backends: Sequence[BaseModelHandler],
        *,
        steps: Replies,
        emit: Sink,
        clock: Clock = utc_now,
        policy: CallPolicy | None = None,
        budgets: Budgets | None = None,
        prices: Mapping[str, Price] | None = None,
        masker: Callable[[str], str] | None = None,
        phase_models: Mapping[Phase, str] | None = None,
        usage: Callable[[], Usage] = Usage,
    ) -> None:
        self._steps, self._clock = steps, clock
        self._policy, self._phase_models = policy or CallPolicy(), phase_models or {}
        self._masker = masker or Masker()
        self._lines = tuple(
            Line(backend, policy=self._policy, clock=clock, emit=emit, masker=self._masker, prices=prices or {})
            for backend in backends
        )
        self._models = tuple(line for line in self._lines if not line.is_engine)
        self._engine = next((line for line in self._lines if line.is_engine), None)
        self._purse = Purse(budgets or Budgets(), clock, usage())
        self._parked_at: datetime | None = None
        self._rises_told = 0
        self._telling = Telling(emit, self._masker)

    def for_task(self, task_id: int | None, limits: Limits, spent: Spent) -> BoundModel:
        """The door for one attempt.

        Args:
            task_id: the task; None for a request outside any.
            limits: its `model_calls`, `tokens` and `cost_usd` are kept.
            spent: what the task had used at its last durable step. Replies that are replayed from a later time were
                paid for, and are not in it: they are counted when they are replayed.
        """
        return BoundModel(self, self._purse.for_task(task_id, limits, spent))

    async def complete(self, request: ModelRequest, task: Meter) -> Completion:
        """Answer, or replay the stored answer of this place.

        Raises:
            Parked: no backend can answer now, or the day's or the total budget is spent.
            BudgetSpent: a budget of the task, or that of a single call, is spent.
            ModelRefused: no backend will ever answer this.
        """
        if request.place is not None and (stored := self._steps.reply(request.place)):
            return self._replay(request, stored, task)
        request = self._prepared(request)
        lines, causes = self._route(request), dict[Line, Exception]()
        if scouted := await self._scouted(request, lines, task):
            return await self._deliver(request, scouted)
        for line in (*lines, self._engine) if self._engine else lines:
            if not await line.ready():
                continue
            try:
                completion = await self._ask(line, request, task)
            except (ModelRefused, ModelUnavailable, Exhausted) as error:
                causes[line] = error
                await self._digest(request, line, error)
            else:
                self._telling.fallback(request, lines, line, causes)
                return await self._deliver(request, completion)
        raise self._nobody(lines, causes)

    def status(self) -> tuple[ModelStatus, ...]:
        """All backends, in the order of the chain."""
        return tuple(line.status() for line in self._lines)

    async def probe(self, *, models: bool = True, engine: bool = True) -> tuple[ModelStatus, ...]:
        """Look which backends are there, all at once, and say it; the engine is there once it has a sandbox."""
        await self._look(line for line in self._lines if (engine if line.is_engine else models))
        return self.status()

    async def watch(self, on_up: Callable[[], object]) -> None:
        """Look every `policy.probe_s` which backends are there, until cancelled.

        `on_up` is called when one has come up, whoever saw it first, so that the queue can release the tasks that wait
        for a model. It is called again while tasks may still be on their way into the queue after they were parked;
        that the engine is there, as it always is, releases nothing then.
        """
        while True:
            await self._look(self._lines)
            parked_at, rises = self._parked_at, sum(line.rises for line in self._lines)
            if parked_at and self._clock() - parked_at > timedelta(seconds=self._policy.probe_s):
                self._parked_at = None
            rose, self._rises_told = rises != self._rises_told, rises
            if (rose and _available(self._lines)) or (parked_at and _available(self._models)):
                on_up()
            await asyncio.sleep(self._policy.probe_s)

    async def aclose(self) -> None:
        """Close all backends."""
        for line in self._lines:
            await line.backend.aclose()

    # One request.

    def _replay(self, request: ModelRequest, stored: Completion, task: Meter) -> Completion:
        task.charge(stored.spent)
        self._telling.replayed(request, stored)
        return replace(stored, replayed=True)

    def _prepared(self, request: ModelRequest) -> ModelRequest:
        """The request as it is sent: without secrets, and bolder the more often the loop was stuck."""
        heats = self._policy.temperatures
        heat = heats[min(request.escalation, len(heats) - 1)]
        known = [t for t in (request.temperature, heat) if t is not None]
        wanted = max(known, default=None) if request.escalation or request.temperature is None else request.temperature
        messages = tuple(replace(message, text=self._masker(message.text)) for message in request.messages)
        return replace(request, messages=messages, temperature=wanted)

    def _route(self, request: ModelRequest) -> list[Line]:
        """The models in the order in which they are asked. Stuck twice and more, the next one begins."""
        wanted = self._phase_models.get(request.phase)
        first = [line for line in self._models if wanted and line.is_called(wanted)][:1]
        lines = [*first, *(line for line in self._models if line not in first)]
        turn = max(0, request.escalation - 1) % max(1, len(lines))
        return lines[turn:] + lines[:turn]

    async def _scouted(self, request: ModelRequest, models: Sequence[Line], task: Meter) -> Completion | None:
        """The engine's answer where it spares a call of a model that is there; None where it has none in its time."""
        engine, wanted = self._engine, self._phase_models.get(request.phase)
        preferred = bool(engine and wanted and engine.is_called(wanted))
        if engine is None or request.material is None or not (preferred or self._policy.scout_s):
            return None
        spared = await _first_ready(models)
        if spared is None or not await engine.ready():
            return None
        within_s = None if preferred else self._policy.scout_s
        try:
            found = await self._ask(engine, replace(request, within_s=within_s), task)
        except (ModelRefused, ModelUnavailable) as error:
            await self._digest(request, engine, error)
            return None
        return replace(found, extra={**found.extra, "saved": spared.label})

    async def _ask(self, line: Line, request: ModelRequest, task: Meter) -> Completion:
        """Ask one backend, with room for the call reserved in every budget; the engine needs none."""
        if line.is_engine:
            return await line.ask(request, lambda completion: task.charge(completion.spent))
        reply = request.max_tokens or self._policy.reply_tokens
        need = Need(prompt=estimate_request(request.messages), reply=reply, price=line.price)
        async with self._purse.reserve(task, need) as room:

            def charge(completion: Completion) -> None:
                room.charge(completion)
                if completion.extra.get("lost"):
                    # Without a place: it is counted for good, and never replayed as a reply.
                    self._steps.save_reply(replace(request, task_id=None), completion)

            return await line.ask(replace(request, max_tokens=room.reply), charge)

    async def _deliver(self, request: ModelRequest, completion: Completion) -> Completion:
        """Tell of a reply and store it; only what is durable is handed out."""
        self._telling.answered(request, completion)
        # Shielded: a cancelled step must not take back the writing of a reply that was paid for.
        await asyncio.shield(asyncio.wrap_future(self._steps.save_reply(request, completion)))
        return completion

    async def _digest(self, request: ModelRequest, line: Line, error: Exception) -> None:
        """Find out more after a failure: is the backend gone, or does the owner have to know of a budget."""
        if isinstance(error, BackendUnfit):
            self._telling.unfit(request, line, error)
        elif isinstance(error, ModelUnavailable):
            await line.look()
        elif isinstance(error, Exhausted) and not error.meter.told:
            error.meter.told = True
            self._telling.budget(request, error.meter.what, str(error))

    # When nobody answers.

    def _nobody(self, models: Sequence[Line], causes: Mapping[Line, Exception]) -> Interruption | ModelRefused:
        """What to raise, given what each backend that was asked raised; that the engine declines ends nothing."""
        ended = {line: causes[line] for line in models if type(causes.get(line)) in (Exhausted, ModelRefused)}
        if ended and not any(may_come_back(line, causes) for line in models if line not in ended):
            over = next((cause for cause in ended.values() if isinstance(cause, Exhausted)), None)
            return self._purse.interruption(over) if over else ModelRefused("; ".join(map(str, ended.values())))
        times = next_times([line for line in models if line not in ended], self._engine, causes)
        if not times:
            self._parked_at = self._clock()
        return Parked(self._masker(why_nobody(models, self._engine, causes)), until=min(times, default=None))

    async def _look(self, lines: Iterable[Line]) -> None:
        await asyncio.gather(*(line.look() for line in lines))


async def _first_ready(lines: Sequence[Line]) -> Line | None:
    """The first of these that may be asked now."""
    for line in lines:
        if await line.ready():
            return line
    return None


def _available(lines: Sequence[Line]) -> bool:
    return any(line.presence.available for line in lines)
