"""The one door to all models: who is asked, how often, for how much, and what happens when nobody answers.

A request goes down the chain of backends until one answers. Replies are stored before they are handed out and replayed
to a step that is resumed; budgets are reserved before a call and charged before the reply is looked into; when no
backend can answer, the task is parked until a stated time, or until `watch` sees a model come back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Protocol

from core.clock import Clock, utc_now
from core.dialogue import Completion, ModelRequest
from core.errors import Interruption, ModelError, ModelRefused, ModelUnavailable, Parked
from core.events import Kind, Level
from core.masking import Masker
from core.ports import Sink
from core.states import Phase
from core.status import ModelStatus
from core.tasks import Limits, Spent
from models.base import BaseModelHandler, estimate_request
from models.chain import how_to_get_one
from models.faults import BackendMisconfigured
from models.line import Line, event_of
from models.meter import Exhausted, Meter, Need
from models.policy import Budgets, CallPolicy, Price, Usage, spent_by
from models.purse import Purse

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
        self._steps, self._emit, self._clock = steps, emit, clock
        self._policy, self._phase_models = policy or CallPolicy(), phase_models or {}
        self._masker = masker or Masker()
        self._lines = tuple(
            Line(backend, policy=self._policy, clock=clock, emit=emit, masker=self._masker, prices=prices or {})
            for backend in backends
        )
        self._purse = Purse(budgets or Budgets(), clock, usage())
        self._parked_at: datetime | None = None
        self._instead: dict[Line, Line] = {}

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
        for line in lines:
            if not await line.ready():
                continue
            try:
                completion = await self._ask(line, request, task)
            except (ModelRefused, ModelUnavailable, Exhausted) as error:
                causes[line] = error
                await self._digest(request, line, error)
            else:
                self._note_fallback(request, lines[0], line, causes)
                return await self._deliver(request, completion)
        raise self._nobody(lines, causes)

    def status(self) -> tuple[ModelStatus, ...]:
        """All backends, in the order of the chain."""
        return tuple(line.status() for line in self._lines)

    async def probe(self) -> tuple[ModelStatus, ...]:
        """Look which backends are there, all at once, and say it."""
        await self._look()
        return self.status()

    async def watch(self, on_up: Callable[[], object]) -> None:
        """Look every `policy.probe_s` which backends are there, until cancelled.

        `on_up` is called when one has come up, so that the queue can release the tasks that wait for a model. It is
        called again while tasks may still be on their way into the queue after they were parked.
        """
        while True:
            came_up = await self._look()
            parked_at = self._parked_at
            if parked_at and self._clock() - parked_at > timedelta(seconds=self._policy.probe_s):
                self._parked_at = None
            if came_up or (parked_at and any(line.presence.available for line in self._lines)):
                on_up()
            await asyncio.sleep(self._policy.probe_s)

    async def aclose(self) -> None:
        """Close all backends."""
        for line in self._lines:
            await line.backend.aclose()

    # One request.

    def _replay(self, request: ModelRequest, stored: Completion, task: Meter) -> Completion:
        task.charge(spent_by(stored))
        data = {"backend": stored.backend, "model": stored.model, "step_no": request.step_no}
        self._emit(event_of(request, Kind.MODEL_REPLAYED, f"replayed a reply of {stored.model}", data))
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
        """The lines in the order in which they are asked. Stuck twice and more, the next one begins."""
        wanted = self._phase_models.get(request.phase)
        first = [line for line in self._lines if wanted and line.is_called(wanted)][:1]
        lines = [*first, *(line for line in self._lines if line not in first)]
        turn = max(0, request.escalation - 1) % max(1, len(lines))
        return lines[turn:] + lines[:turn]

    async def _ask(self, line: Line, request: ModelRequest, task: Meter) -> Completion:
        """Ask one backend, with room for the call reserved in every budget."""
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
        said = f"{completion.backend}={completion.model} answered in {completion.latency_s:.1f} s"
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
        self._emit(event_of(request, Kind.MODEL_CALLED, said, data))
        # Shielded: a cancelled step must not take back the writing of a reply that was paid for.
        await asyncio.shield(asyncio.wrap_future(self._steps.save_reply(request, completion)))
        return completion

    async def _digest(self, request: ModelRequest, line: Line, error: Exception) -> None:
        """Find out more after a failure: is the backend gone, or does the owner have to know of a budget."""
        if isinstance(error, ModelUnavailable):
            await line.look()
        elif isinstance(error, Exhausted) and not error.meter.told:
            error.meter.told = True
            data = {"budget": error.meter.what}
            self._emit(event_of(request, Kind.BUDGET_REACHED, str(error), data, Level.WARNING))

    def _note_fallback(self, request: ModelRequest, first: Line, line: Line, causes: Mapping[Line, Exception]) -> None:
        """Tell when another than the first backend answers; where that goes on and on, once."""
        before = self._instead.get(first)
        if line is first:
            self._instead.pop(first, None)
        elif before is not line or any(isinstance(cause, ModelError) for cause in causes.values()):
            self._instead[first] = line
            data = {"from": first.label, "to": line.label}
            text = f"{line.label} answered instead of {first.label}: {first.why}"
            self._emit(event_of(request, Kind.MODEL_FALLBACK, self._masker(text), data, Level.WARNING))

    # When nobody answers.

    def _nobody(self, lines: Sequence[Line], causes: Mapping[Line, Exception]) -> Interruption | ModelRefused:
        """What to raise, given what each backend that was asked raised."""
        ended = {line: cause for line, cause in causes.items() if type(cause) in (Exhausted, ModelRefused)}
        hopeful = [line for line in lines if line not in ended]
        if ended and not any(self._may_come_back(line, causes) for line in hopeful):
            over = next((cause for cause in ended.values() if isinstance(cause, Exhausted)), None)
            return self._purse.interruption(over) if over else ModelRefused("; ".join(map(str, ended.values())))
        times = [at for line in hopeful if (at := line.next_time)]
        if not times:
            self._parked_at = self._clock()
        return Parked(self._why_nobody(lines), until=min(times, default=None))

    def _may_come_back(self, line: Line, causes: Mapping[Line, Exception]) -> bool:
        """Whether it makes sense to wait for this line when all others have refused or may not be paid."""
        return line.presence.available and not isinstance(causes.get(line), BackendMisconfigured)

    def _why_nobody(self, lines: Sequence[Line]) -> str:
        if any(line.presence.available for line in lines):
            whys = "; ".join(f"{line.label}: {line.why or 'busy'}" for line in lines)
            return self._masker(f"no model can answer now: {whys}")
        whys = "".join(f" ({line.why})" for line in lines)
        return self._masker(f"no model is available{whys}. To get one: {how_to_get_one()}")

    async def _look(self) -> bool:
        return any(await asyncio.gather(*(line.look() for line in self._lines)))
