"""The gateway to all models: the order in which they are asked, retries, budgets, and the result if none answers.

A request goes down the chain of backends until one of them answers. Replies are stored before they are returned; a
resumed step gets its stored replies again. Budgets are reserved before a call and charged before the reply is read. If
no backend can answer, the task is parked until a stated time, or until `watch` sees that a model has become available.

The built-in engine is separate from the chain. It costs nothing but time, so it may search for a few seconds before a
model is asked (the pre-check), and for its full time when no model answers. A request that the engine cannot handle is
not a failure.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from nightshift.core.dialogue import Completion, ModelRequest
from nightshift.core.errors import ModelRefused, ModelUnavailable, NeedsSettings, OwnerSpoke, Parked, PromptTooLong
from nightshift.core.gauge import Gauge
from nightshift.core.status import ModelStatus, SpentBudget
from nightshift.core.tasks.states import Ending, Phase
from nightshift.core.tasks.task import Limits, Spent
from nightshift.models.backend_client import BackendClient
from nightshift.models.backend_pool import BackendPool, available, first_ready
from nightshift.models.base import BaseModelHandler
from nightshift.models.budgets import (
    Budget,
    BudgetExhausted,
    BudgetLedger,
    CallEstimate,
    Reservation,
    SharedBudget,
    SpendingLimits,
)
from nightshift.models.errors import BackendMisconfigured, BackendUnfit, CircuitOpen, RequestRefused, ThinkingUsedUp
from nightshift.models.gateway_reports import (
    Causes,
    Choice,
    Clients,
    GatewayEvents,
    may_come_back,
    next_times,
    why_nobody,
)
from nightshift.models.routing import Router
from nightshift.models.services import GatewayServices, RoutingConfig
from nightshift.models.thinking import is_used_up, lessen_thinking, say_used_up

MAY_BE_GONE = (ModelUnavailable, BackendMisconfigured, RequestRefused)
"""Failures after which the gateway checks whether the backend is still available."""


class BoundModel:
    """The gateway for one task (`core.ports.Model`), with the task's limits and the amount that the task has spent."""

    def __init__(self, handler: ModelHandler, budget: Budget, wanted: str = "") -> None:
        self._handler, self._budget, self._wanted = handler, budget, wanted

    @property
    def spent(self) -> Spent:
        """The amount that the task has used since its limits began to count. Lost replies count too."""
        return self._budget.spent

    async def complete(self, request: ModelRequest) -> Completion:
        """See `core.ports.Model.complete`."""
        request = replace(request, wanted=self._wanted or request.wanted)
        return await self._handler.complete(request, self._budget)


class ModelHandler:
    """Routing, retries, budgets and accounting for all tasks. Must be used from one event loop.

    Args:
        backends: the chain, best first (`models.chain.build_chain`).
        config: settings for asking the backends.
        budgets: limits of one call, one day and all time.
        services: the stores, the clock and the sink for events.

    Attributes:
        live: the replies that models are writing now.
    """

    def __init__(
        self,
        backends: Sequence[BaseModelHandler],
        config: RoutingConfig,
        budgets: SpendingLimits,
        services: GatewayServices,
    ) -> None:
        self._services, self._steps, self._clock = services, services.steps, services.clock
        self.live = services.live
        self._pool = BackendPool(backends, config, services)
        self._ledger = BudgetLedger(budgets, services.clock, services.spent_since)
        self._router = Router(services.routes)
        self._events = GatewayEvents(services.emit, config.masker)
        self._parked_at: datetime | None = None
        self._recoveries_seen = 0
        self._look = asyncio.Event()
        self._retiring = dict[asyncio.Task[None], BackendPool]()
        self._asking = dict[int, tuple[int, asyncio.Task[Completion]]]()

    def reload(self, backends: Sequence[BaseModelHandler], config: RoutingConfig, budgets: SpendingLimits) -> None:
        """Use other backends, another config and other budgets for requests that begin from now on.

        Amounts spent are kept. A model that is in both chains also keeps its counts. Running requests keep the old
        settings, and the old backends are closed when the last of those requests ends. The caller releases parked tasks
        that the new settings may help (`QueueManager.unpark`).
        """
        old, self._pool = self._pool, BackendPool(backends, config, self._services)
        self._pool.inherit(old)
        self.look_soon()
        self._ledger.set_limits(budgets)
        self._events = GatewayEvents(self._services.emit, config.masker)
        self._recoveries_seen = 0
        retiring = asyncio.get_running_loop().create_task(old.retire())
        self._retiring[retiring] = old
        retiring.add_done_callback(lambda done: self._retiring.pop(done, None))

    def for_task(self, task_id: int | None, limits: Limits, spent: Spent, wanted: str = "") -> BoundModel:
        """Return the gateway for one attempt.

        Args:
            task_id: the task; None for a request outside any task.
            limits: the task's limits; `model_calls`, `tokens` and `cost_usd` are enforced.
            spent: the amount that the task has used according to the ledger, which counts every reply that was paid
                for, including replies that are replayed later or never read.
            wanted: the model that the owner wants to be asked first (`ModelRequest.wanted`).
        """
        return BoundModel(self, self._ledger.for_task(task_id, limits, spent), wanted)

    async def complete(self, request: ModelRequest, task: Budget) -> Completion:
        """Answer a request. If the answer to the same request is stored, return the stored answer.

        Raises:
            Parked: no backend can answer now, or the budget of a call, of the day or of all time is exhausted.
            BudgetSpent: a budget of the task is exhausted.
            ModelRefused: no backend will ever answer this request.
            OwnerSpoke: the request was interrupted (`interrupt`).
        """
        if request.reply_key is not None and (stored := self._steps.reply(request.reply_key)):
            self._events.report_replay(request, stored)
            return replace(stored, replayed=True)
        pool = self._pool
        async with pool.in_use():
            return await self._interruptible(request, self._answer(pool, pool.prepare(request), task))

    async def _interruptible(self, request: ModelRequest, answered: Coroutine[Any, Any, Completion]) -> Completion:
        """Await the answer in an asyncio task of its own, which `interrupt` can cancel without ending the worker."""
        asking = asyncio.create_task(answered)
        if request.task_id is not None:
            self._asking[request.task_id] = (request.heard, asking)
        try:
            return await asking
        except asyncio.CancelledError:
            worker = asyncio.current_task()
            if not asking.cancelled() or (worker and worker.cancelling()):
                raise  # the worker itself is being cancelled
            raise OwnerSpoke(f"Nightshift repeats the request of {request.phase} with the owner's message") from None
        finally:
            asking.cancel()
            if request.task_id is not None:
                self._asking.pop(request.task_id, None)

    def interrupt(self, task_id: int, message: int) -> None:
        """Cancel a task's running request, unless the request already contains the owner's message of this id.

        The part of the reply that was already written is charged. The caller then repeats the request with the message.
        """
        heard, asking = self._asking.get(task_id, (message, None))
        if asking is not None and heard < message:
            asking.cancel()

    def gauge(self, phase: Phase, escalation: int, *, wanted: str = "") -> Gauge:
        """Return the gauge of the model that a phase will ask, given how often the loop was stuck."""
        return self._pool.gauge(phase, escalation, wanted)

    def count_form(self, completion: Completion, is_usable: bool) -> None:
        """Record whether a reply had the requested form (`BackendClient.count_form`)."""
        client = self._pool.client_of(completion)
        if client and not completion.replayed and client.count_form(is_usable=is_usable):
            self._events.report_plain_words(client)

    def status(self) -> tuple[ModelStatus, ...]:
        """Return the status of all backends, in the owner's order."""
        measured = self._router.describe_results if self._pool.config.measured else None
        return self._pool.status(measured)

    def share_budget(self, shared: SharedBudget) -> None:
        """Reserve room for every call, from now on, in a budget that several machines share."""
        self._ledger.shared = shared

    def budget_spent(self) -> SpentBudget | None:
        """Return the daily or total budget if it had no room for the last call, or None."""
        return self._ledger.find_spent()

    async def probe(self, *, models: bool = True, sandboxed: bool = True) -> tuple[ModelStatus, ...]:
        """Check concurrently which backends are available, and return their status.

        Args:
            models: True to check the backends that need no sandbox.
            sandboxed: True to check the backends that need a sandbox.
        """
        await self._pool.check(models=models, sandboxed=sandboxed)
        return self.status()

    def look_soon(self) -> None:
        """Make `watch` check now instead of at the next interval."""
        self._look.set()

    async def watch(self, on_up: Callable[[], object]) -> None:
        """Check every `policy.probe_s` seconds which backends are available, until cancelled.

        `on_up` is called when a backend has become available, so that the queue can release tasks that wait for a
        model. Since a task that was just parked may reach the queue late, `on_up` is called again for a while after the
        parking. These repeated calls ignore the engine, which is always available.
        """
        while True:
            self._look.clear()
            pool = self._pool
            await pool.check()
            if pool is self._pool and self._may_release():
                on_up()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._look.wait(), self._pool.config.policy.probe_s)

    def _may_release(self) -> bool:
        """Check whether tasks that wait for a model may continue now."""
        pool, parked_at = self._pool, self._parked_at
        if parked_at and self._clock() - parked_at > timedelta(seconds=pool.config.policy.probe_s):
            self._parked_at = None
        rose, self._recoveries_seen = pool.recoveries != self._recoveries_seen, pool.recoveries
        return (rose and available(pool.clients)) or (parked_at is not None and available(pool.models))

    async def aclose(self) -> None:
        """Close all backends, including those of earlier settings that are still in use."""
        retiring = dict(self._retiring)
        for task in retiring:
            task.cancel()
        await asyncio.gather(*retiring, return_exceptions=True)
        for pool in (*retiring.values(), self._pool):
            await pool.aclose()

    # --- Answering one request

    async def _answer(self, pool: BackendPool, request: ModelRequest, task: Budget) -> Completion:
        order, causes = await self._router.order(pool, request), dict[BackendClient, Exception]()
        clients, engine = order.clients, pool.engine_for(request)
        if reply := await self._precheck(pool, request, clients, task):
            return await self._deliver(request, reply)
        for client in (*clients, engine) if engine else clients:
            if not await client.ready():
                continue
            try:
                completion = await self._ask(client, request, task)
            except (ModelRefused, ModelUnavailable, BudgetExhausted) as error:
                causes[client] = error
                await self._follow_up(request, client, error)
            else:
                self._events.report_fallback(request, clients, client, causes)
                return await self._deliver(request, completion, order.route)
        raise self._nobody(clients, engine, causes)

    async def _precheck(
        self, pool: BackendPool, request: ModelRequest, models: Clients, task: Budget
    ) -> Completion | None:
        """Return the engine's answer if it saves a call to an available model.

        Returns None if no model is available, or if the engine finds no answer within its time.
        """
        precheck = pool.precheck(request)
        spared = await first_ready(models) if precheck else None
        if precheck is None or spared is None or not await precheck[0].ready():
            return None
        engine, within_s = precheck
        try:
            reply = await self._ask(engine, replace(request, within_s=within_s), task)
        except (ModelRefused, ModelUnavailable) as error:
            await self._follow_up(request, engine, error)
            return None
        return replace(reply, extra={**reply.extra, "saved": spared.label})

    async def _ask(self, client: BackendClient, request: ModelRequest, task: Budget) -> Completion:
        """Ask one backend, after reserving room for the call in every budget; the engine costs nothing."""
        if client.is_engine:
            return await client.ask(request, partial(self._room, client, request, task))
        thinking = request.thinking or client.config.thinking.level(request.phase, client.backend)
        asked, less = replace(request, thinking=thinking), lessen_thinking(replace(request, thinking=thinking))
        limit, used_up = asked.max_tokens or client.config.policy.reply_tokens, ""
        for again in (asked, less, replace(less, max_tokens=2 * limit)):
            try:
                completion = await client.ask(again, partial(self._room, client, again, task))
            except BudgetExhausted:
                if not used_up:
                    raise
                break
            if not is_used_up(completion):
                return completion
            used_up = say_used_up(completion)
            client.report(again, ThinkingUsedUp(f"{client.label}: {used_up}"), 1, None)
            self._steps.save_lost(again, completion)
        raise ModelRefused(used_up)

    @asynccontextmanager
    async def _room(self, client: BackendClient, request: ModelRequest, task: Budget) -> AsyncIterator[Reservation]:
        if client.is_engine:
            yield Reservation(reply=request.max_tokens, charge=lambda completion: task.charge(completion.spent))
            return
        reply = request.max_tokens or client.config.policy.reply_tokens
        prompt = client.backend.token_estimator.tokens(client.shape_request(request))
        need = CallEstimate(prompt=prompt, reply=reply, price=client.price)
        async with self._ledger.reserve(task, need) as reserved:

            def charge(completion: Completion) -> None:
                reserved.charge(completion)
                if completion.extra.get("lost"):
                    self._steps.save_lost(request, completion)

            yield replace(reserved, charge=charge)

    async def _deliver(self, request: ModelRequest, completion: Completion, route: Choice | None = None) -> Completion:
        """Report a reply and store it. The reply is returned only after it is stored."""
        self._events.report_answer(request, completion, route)
        # Shielded, because a cancelled step must still store a reply that costs money.
        await asyncio.shield(asyncio.wrap_future(self._steps.save_reply(request, completion)))
        return completion

    async def _follow_up(self, request: ModelRequest, client: BackendClient, error: Exception) -> None:
        """Handle a failure: check whether the backend is still available, and report an exhausted budget once."""
        if isinstance(error, BackendUnfit):
            self._events.report_unfit(request, client, error)
        elif isinstance(error, BudgetExhausted) and not error.budget.reported:
            error.budget.reported = True
            self._events.report_budget(request, error.budget.what, str(error))
        elif isinstance(error, MAY_BE_GONE) and not isinstance(error, CircuitOpen):
            await client.check()

    # The result if no backend answers.

    def _nobody(self, models: Clients, engine: BackendClient | None, causes: Causes) -> Exception:
        """Return the error to raise, given the errors of all backends that were asked.

        A refusal by the engine does not end the task.
        """
        if longest := next((cause for cause in causes.values() if isinstance(cause, PromptTooLong)), None):
            return longest
        ended = {each: causes[each] for each in models if type(causes.get(each)) in (BudgetExhausted, ModelRefused)}
        if ended and not any(may_come_back(client, causes) for client in models if client not in ended):
            over = next((cause for cause in ended.values() if isinstance(cause, BudgetExhausted)), None)
            return self._ledger.interruption(over) if over else ModelRefused("; ".join(map(str, ended.values())))
        times = next_times([client for client in models if client not in ended], engine, causes)
        if not times:
            self._parked_at = self._clock()
        until = min(times, default=None)
        why = self._pool.config.masker(why_nobody(models, engine, causes, until))
        # Without models and without a time, waiting would not help, because the engine's result will not change.
        return Parked(why, until) if until or self._pool.models else NeedsSettings(why, Ending.GAVE_UP)
