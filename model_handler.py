"""The one door to all models: who is asked, how often, for how much, and what happens when nobody answers.

A request goes down the chain of backends until one answers. Replies are stored before they are handed out and replayed
to a step that is resumed; budgets are reserved before a call and charged before the reply is looked into; when no
backend can answer, the task is parked until a stated time, or until `watch` sees a model come back.

The built-in engine stands beside the chain: it costs nothing but seconds, so it is asked before a model is, for a few
of them, and once more with all its time when no model answers. That it cannot do something is no trouble of its own.
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
from core.errors import Interruption, ModelRefused, ModelUnavailable, Parked
from core.gauge import Gauge
from core.ports import Sink
from core.states import Phase
from core.status import ModelStatus
from core.tasks import Limits, Spent
from models.base import BaseModelHandler
from models.faults import BackendMisconfigured, BackendUnfit, LeftAlone
from models.line import Line
from models.meter import Exhausted, Meter, Need
from models.parking import may_come_back, next_times, why_nobody
from models.pauses import Pauses
from models.policy import Budgets
from models.purse import Ledger, Purse
from models.roster import Roster, Terms, available, first_ready
from models.router import Order, Router, Routes
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

    def save_lost(self, request: ModelRequest, completion: Completion) -> Future[Any]:
        """Store the cost of a reply that broke off."""
        ...


class BoundModel:
    """The door as one task sees it (`core.ports.Model`): with the task's limits and what it has spent."""

    def __init__(self, handler: ModelHandler, meter: Meter, wanted: str = "") -> None:
        self._handler, self._meter, self._wanted = handler, meter, wanted

    @property
    def spent(self) -> Spent:
        """All that the task has used since its limits began to count, lost replies included."""
        return self._meter.spent

    async def complete(self, request: ModelRequest) -> Completion:
        """See `core.ports.Model.complete`."""
        asked = replace(request, wanted=self._wanted) if self._wanted else request
        return await self._handler.complete(asked, self._meter)


class ModelHandler:
    """Routing, patience, budgets and accounting for all tasks. Used from one event loop.

    Args:
        backends: the chain, best first (`models.chain.build_chain`).
        terms: on what terms they are asked.
        steps: where replies are stored.
        emit: takes the events.
        clock: the time, for days, pauses and parking.
        budgets: what a call, a day and everything together may cost.
        ledger: what was spent since a moment or ever, before this process began; asked at the start of each day.
        pauses: where it is kept, over restarts, that a provider asked to be left alone.
        routes: what models did with earlier tasks, by which `Terms.measured` orders them.
    """

    def __init__(  # noqa: PLR0913 (the chain, its terms and seven keywords, of which five have a default)
        self,
        backends: Sequence[BaseModelHandler],
        terms: Terms | None = None,
        *,
        steps: Replies,
        emit: Sink,
        clock: Clock = utc_now,
        budgets: Budgets | None = None,
        ledger: Ledger = lambda _since: Spent(),
        pauses: Pauses | None = None,
        routes: Routes | None = None,
    ) -> None:
        self._steps, self._clock, self._emit, self._pauses = steps, clock, emit, pauses
        self._roster = self._new_roster(backends, terms or Terms())
        self._purse, self._router = Purse(budgets or Budgets(), clock, ledger), Router(routes)
        self._telling = Telling(emit, self._roster.terms.masker)
        self._parked_at: datetime | None = None
        self._rises_told = 0
        self._retiring = dict[asyncio.Task[None], Roster]()

    def renew(self, backends: Sequence[BaseModelHandler], terms: Terms, budgets: Budgets) -> None:
        """Use other backends, terms and budgets for requests that begin from now on.

        What was spent today and ever stays, and so do the counts of models that are in both chains. Requests under way
        end as they began; then the backends that they used are closed. Tasks that were parked for want of what is
        there now are released by the caller (`QueueManager.unpark`).
        """
        old, self._roster = self._roster, self._new_roster(backends, terms)
        self._roster.follow(old)
        self._purse.renew(budgets)
        self._telling = Telling(self._emit, terms.masker)
        self._rises_told = 0
        retiring = asyncio.get_running_loop().create_task(old.retire())
        self._retiring[retiring] = old
        retiring.add_done_callback(lambda done: self._retiring.pop(done, None))

    def _new_roster(self, backends: Sequence[BaseModelHandler], terms: Terms) -> Roster:
        return Roster(backends, terms, clock=self._clock, emit=self._emit, pauses=self._pauses)

    def for_task(self, task_id: int | None, limits: Limits, spent: Spent, wanted: str = "") -> BoundModel:
        """The door for one attempt.

        Args:
            task_id: the task; None for a request outside any.
            limits: its `model_calls`, `tokens` and `cost_usd` are kept.
            spent: what the task has used of them by the ledger, which knows each reply that was ever paid for, also
                one that is replayed later or never looked into.
            wanted: whom its owner wants to be asked first (`ModelRequest.wanted`).
        """
        return BoundModel(self, self._purse.for_task(task_id, limits, spent), wanted)

    async def complete(self, request: ModelRequest, task: Meter) -> Completion:
        """Answer, or replay the stored answer of this place.

        Raises:
            Parked: no backend can answer now, or the budget of a call, the day's or the total one is spent.
            BudgetSpent: a budget of the task is spent.
            ModelRefused: no backend will ever answer this.
        """
        if request.place is not None and (stored := self._steps.reply(request.place)):
            self._telling.replayed(request, stored)
            return replace(stored, replayed=True)
        roster = self._roster
        async with roster.in_use():
            return await self._answered(roster, roster.prepared(request), task)

    def gauge(self, phase: Phase, escalation: int, *, wanted: str = "") -> Gauge:
        """How long texts are for the model that a phase will ask, after the loop was stuck so often."""
        return self._roster.gauge(phase, escalation, wanted)

    def status(self) -> tuple[ModelStatus, ...]:
        """All backends, in the owner's order."""
        told = self._router.seen if self._roster.terms.measured else None
        return self._roster.status(told)

    async def probe(self, *, models: bool = True, engine: bool = True) -> tuple[ModelStatus, ...]:
        """Look which backends are there, all at once, and say it; the engine is there once it has a sandbox."""
        await self._roster.look(models=models, engine=engine)
        return self.status()

    async def watch(self, on_up: Callable[[], object]) -> None:
        """Look every `policy.probe_s` which backends are there, until cancelled.

        `on_up` is called when one has come up, whoever saw it first, so that the queue can release the tasks that wait
        for a model. It is called again while tasks may still be on their way into the queue after they were parked;
        that the engine is there, as it always is, releases nothing then.
        """
        while True:
            roster = self._roster
            await roster.look()
            if roster is self._roster and self._released():
                on_up()
            await asyncio.sleep(self._roster.terms.policy.probe_s)

    def _released(self) -> bool:
        """Whether tasks that wait for a model may go on now."""
        roster, parked_at = self._roster, self._parked_at
        if parked_at and self._clock() - parked_at > timedelta(seconds=roster.terms.policy.probe_s):
            self._parked_at = None
        rose, self._rises_told = roster.rises != self._rises_told, roster.rises
        return (rose and available(roster.lines)) or (parked_at is not None and available(roster.models))

    async def aclose(self) -> None:
        """Close all backends, also those of earlier settings that are still in use."""
        retiring = dict(self._retiring)
        for task in retiring:
            task.cancel()
        await asyncio.gather(*retiring, return_exceptions=True)
        for roster in (*retiring.values(), self._roster):
            await roster.aclose()

    # One request.

    async def _answered(self, roster: Roster, request: ModelRequest, task: Meter) -> Completion:
        order, causes = await self._router.order(roster, request), dict[Line, Exception]()
        lines = order.lines
        if scouted := await self._scouted(roster, request, lines, task):
            return await self._deliver(request, scouted)
        for line in (*lines, roster.engine) if roster.engine else lines:
            if not await line.ready():
                continue
            try:
                completion = await self._ask(roster, line, request, task)
            except (ModelRefused, ModelUnavailable, Exhausted) as error:
                causes[line] = error
                await self._digest(request, line, error)
            else:
                self._telling.fallback(request, lines, line, causes)
                return await self._deliver(request, completion, order)
        raise self._nobody(roster, lines, causes)

    async def _scouted(
        self, roster: Roster, request: ModelRequest, models: Sequence[Line], task: Meter
    ) -> Completion | None:
        """The engine's answer where it spares a call of a model that is there; None where it has none in its time."""
        scout = roster.scout(request)
        spared = await first_ready(models) if scout else None
        if scout is None or spared is None or not await scout[0].ready():
            return None
        engine, within_s = scout
        try:
            found = await self._ask(roster, engine, replace(request, within_s=within_s), task)
        except (ModelRefused, ModelUnavailable) as error:
            await self._digest(request, engine, error)
            return None
        return replace(found, extra={**found.extra, "saved": spared.label})

    async def _ask(self, roster: Roster, line: Line, request: ModelRequest, task: Meter) -> Completion:
        """Ask one backend, with room for the call reserved in every budget; the engine needs none."""
        if line.is_engine:
            return await line.ask(request, lambda completion: task.charge(completion.spent))
        reply = request.max_tokens or roster.terms.policy.reply_tokens
        need = Need(prompt=line.scale.tokens(request.messages), reply=reply, price=line.price)
        async with self._purse.reserve(task, need) as room:

            def charge(completion: Completion) -> None:
                room.charge(completion)
                if completion.extra.get("lost"):
                    self._steps.save_lost(request, completion)

            return await line.ask(replace(request, max_tokens=room.reply), charge)

    async def _deliver(self, request: ModelRequest, completion: Completion, order: Order | None = None) -> Completion:
        """Tell of a reply and store it; only what is durable is handed out."""
        self._telling.answered(request, completion, order.route if order else None)
        # Shielded: a cancelled step must not take back the writing of a reply that was paid for.
        await asyncio.shield(asyncio.wrap_future(self._steps.save_reply(request, completion)))
        return completion

    async def _digest(self, request: ModelRequest, line: Line, error: Exception) -> None:
        """Find out more after a failure: is the backend gone, or does the owner have to know of a budget."""
        if isinstance(error, BackendUnfit):
            self._telling.unfit(request, line, error)
        elif isinstance(error, ModelUnavailable | BackendMisconfigured) and not isinstance(error, LeftAlone):
            await line.look()
        elif isinstance(error, Exhausted) and not error.meter.told:
            error.meter.told = True
            self._telling.budget(request, error.meter.what, str(error))

    # When nobody answers.

    def _nobody(
        self, roster: Roster, models: Sequence[Line], causes: Mapping[Line, Exception]
    ) -> Interruption | ModelRefused:
        """What to raise, given what each backend that was asked raised; that the engine declines ends nothing."""
        ended = {line: causes[line] for line in models if type(causes.get(line)) in (Exhausted, ModelRefused)}
        if ended and not any(may_come_back(line, causes) for line in models if line not in ended):
            over = next((cause for cause in ended.values() if isinstance(cause, Exhausted)), None)
            return self._purse.interruption(over) if over else ModelRefused("; ".join(map(str, ended.values())))
        times = next_times([line for line in models if line not in ended], roster.engine, causes)
        if not times:
            self._parked_at = self._clock()
        until = min(times, default=None)
        return Parked(roster.terms.masker(why_nobody(models, roster.engine, causes, until)), until)
