"""The client of one backend: availability, retries, circuit breaker, prices and statistics around its calls."""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import count
from typing import Any

from nightshift.core.built_in import BUILT_IN
from nightshift.core.clock import Clock, from_text, to_text
from nightshift.core.dialogue import Completion, ModelRequest
from nightshift.core.errors import ModelError, ModelRefused, ModelUnavailable
from nightshift.core.events import BackendData, CallFailureData, Emitter, Kind, Level, Sink
from nightshift.core.gauge import Gauge, ModelClass, ModelProfile
from nightshift.core.status import ModelStatus
from nightshift.core.tasks.states import CircuitState
from nightshift.core.tasks.task import Spent
from nightshift.core.tool_text import as_text
from nightshift.core.tools import FormCounts, KnownForms, ToolProtocol, choose_form
from nightshift.models.base import BaseModelHandler, events_about
from nightshift.models.budgets import Price, Reservation, price_of
from nightshift.models.call import call_once
from nightshift.models.circuit import CircuitBreaker, Pause
from nightshift.models.errors import (
    BackendMisconfigured,
    BackendUnfit,
    CircuitOpen,
    RequestRefused,
    TimedOut,
    ToolsRefused,
)
from nightshift.models.server_facts import PLAIN
from nightshift.models.services import GatewayServices, RoutingConfig
from nightshift.models.task_failures import TaskFailures

Room = Callable[[], AbstractAsyncContextManager[Reservation]]
"""Reserves room for one call in the budgets. Each try needs its own reservation, because the part of a reply that was
received before the connection broke costs money as well.
"""

MOST_UNUSABLE = 2
"""Number of consecutive replies in the wrong form after which a model is asked without JSON and tools (“in plain
words”).
"""
MOST_WHY_CHARS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """The result of an availability check.

    Attributes:
        available: True if the backend is available.
        why: the reason why the backend is not available.
        at: the time of the check; None before the first check.
        since: the time since which every check has had this result.
    """

    available: bool
    why: str = ""
    at: datetime | None = None
    since: datetime | None = None


class HealthProbe:
    """Tracks whether a backend is available. Checks run in a thread, one at a time, and an event reports each change.

    Attributes:
        available: the result of the last check; False before the first one.
        seen: the last result, as shown to people. It may come from an earlier probe of the same backend under earlier
            settings, because saving settings does not change availability.
    """

    def __init__(
        self, backend: BaseModelHandler, emit: Sink, masker: Callable[[str], str], clock: Clock, wait_s: float = 10.0
    ) -> None:
        self._backend, self._events, self._masker, self._wait_s = backend, Emitter(emit), masker, wait_s
        self._clock, self.seen = clock, Seen(available=False)
        self.available, self._broken = False, ""
        self._checked_at_s = -math.inf
        self._checking = asyncio.Lock()
        self._answer: asyncio.Task[bool] | None = None

    @property
    def why(self) -> str:
        """The reason why the backend is not available, in words for the owner."""
        return self._broken or self._backend.detail

    async def check(self, fresh_s: float = 0.0) -> bool:
        """Check the backend, unless the last check is newer than `fresh_s` seconds.

        Returns:
            True if the backend has just become available. An event reports each change.
        """
        loop = asyncio.get_running_loop()
        since_s = loop.time() - fresh_s
        async with self._checking:
            if self._checked_at_s > since_s:
                return False
            is_available = await self._ask()
            changed = self._checked_at_s < 0 or is_available != self.available
            self._checked_at_s, self.available = loop.time(), is_available
            now, before = self._clock(), self.seen
            since = before.since if before.at and before.available == is_available else now
            self.seen = Seen(available=is_available, why=self.why, at=now, since=since)
        if changed:
            self._report()
        return changed and is_available

    async def _ask(self) -> bool:
        """Ask the backend whether it is available.

        A late answer counts as "unavailable". No second question is sent until the late answer arrives.
        """
        self._answer = self._answer or asyncio.create_task(asyncio.to_thread(self._backend.is_available))
        await asyncio.wait({self._answer}, timeout=self._wait_s)
        if not self._answer.done():
            self._broken = self._backend.detail or f"{self._backend.name} did not answer the availability check in time"
            return False
        answer, self._answer, self._broken = self._answer, None, ""
        if error := answer.exception():  # the backend raised an error, although `is_available` must never raise
            self._broken = f"the availability check of {self._backend.name} failed: {type(error).__name__}: {error}"
        return not error and answer.result()

    def _report(self) -> None:
        kind, level = (Kind.MODEL_UP, Level.INFO) if self.available else (Kind.MODEL_DOWN, Level.WARNING)
        text = f"{self._backend.label} is " + ("available" if self.available else f"not available: {self.why}")
        data = BackendData(backend=self._backend.name, model=self._backend.model)
        self._events.emit(kind, self._masker(text), level=level, **data)


class BackendClient:
    """The client of one backend in the chain. Must be used from one event loop.

    Args:
        backend: the backend that answers.
        config: timeouts, retries and prices.
        services: the stores, the clock and the sink for events.

    Attributes:
        recoveries: how often the backend became available since the process began.
    """

    def __init__(self, backend: BaseModelHandler, config: RoutingConfig, services: GatewayServices) -> None:
        policy, clock = config.policy, services.clock
        self.backend, self.config, self._policy, self._services = backend, config, policy, services
        self._clock, self._masker = clock, config.masker
        self._forms: KnownForms = {}
        self.circuit = CircuitBreaker(
            clock, failures=policy.breaker_failures, pause_s=policy.breaker_s, pause_max_s=policy.breaker_max_s
        )
        self.health = HealthProbe(backend, services.emit, config.masker, clock)
        self.recoveries = 0
        self._why = ""
        self._asked_until: datetime | None = None
        limit = backend.parallel
        self._slots: AbstractAsyncContextManager[Any] = asyncio.Semaphore(limit) if limit else nullcontext()
        self._calls, self._failures, self._spent = 0, 0, Spent()
        self._task_failures = TaskFailures()
        self._unusable_in_a_row = 0
        backend.facts.clock = clock
        self._stored_facts = ""

    @property
    def label(self) -> str:
        """`backend=model`, as in the settings."""
        return self.backend.label

    @property
    def account(self) -> str:
        """The key under which the provider's rate limits are stored: the model and the account in use."""
        return f"{self.label} {self.backend.account}".strip()

    @property
    def profile(self) -> ModelProfile:
        """The size class of the model, and whether its replies in JSON or with tool calls failed today."""
        billions = self.backend.parameters_b
        size = ModelClass.of(billions) if billions else None
        return ModelProfile(size=size, fails_usual_forms=self.backend.facts.is_plain)

    @property
    def gauge(self) -> Gauge:
        """The properties that prompts for this model depend on: bytes per token, window, own tools and profile."""
        backend, rate = self.backend, self.backend.token_estimator.bytes_per_token
        return Gauge(
            bytes_per_token=rate, window=backend.known_window, own_tools=backend.own_tools, profile=self.profile
        )

    def count_form(self, *, is_usable: bool) -> bool:
        """Record whether a reply had the requested form.

        Returns:
            True if the model has failed so often that it is asked without JSON and tools for the rest of the day (UTC).
        """
        self._unusable_in_a_row = 0 if is_usable else self._unusable_in_a_row + 1
        if self._unusable_in_a_row < MOST_UNUSABLE or self.profile.is_plain:
            return False
        self._unusable_in_a_row = 0
        self.backend.facts.note(PLAIN)
        self._store_facts()
        return True

    def inherit(self, earlier: BackendClient) -> None:
        """Take over counts, learned facts and the last check from the same model's client under earlier settings."""
        self._calls, self._failures, self._spent = earlier._calls, earlier._failures, earlier._spent
        self.backend.token_estimator = earlier.backend.token_estimator
        self._unusable_in_a_row = earlier._unusable_in_a_row
        self.backend.facts = earlier.backend.facts
        self.health.seen = earlier.health.seen

    @property
    def is_engine(self) -> bool:
        """True for the built-in engine, which works on code and is not a model."""
        return self.backend.name == BUILT_IN

    def matches(self, wanted: str) -> bool:
        """Check whether a setting names this backend, as `backend=model`, `backend` or `model`."""
        return wanted in {self.label, self.backend.name, self.backend.model}

    @property
    def price(self) -> Price | None:
        """The price of the model, or None if it is not known."""
        return price_of(self.config.prices, self.backend.name, self.backend.model, free=self.backend.free)

    @property
    def why(self) -> str:
        """The reason why the backend does not answer, in words for the owner."""
        return self.health.why or self._why

    @property
    def next_time(self) -> datetime | None:
        """The time at which the backend may be asked again; None if unknown, because the backend is unavailable."""
        now = self._clock()
        if not self.health.available:
            return None
        held = self.circuit.opens_at if self.circuit.state is CircuitState.OPEN else None
        times = [at for at in (held, self._asked_until) if at and at > now]
        # No time is known while another caller probes the backend. The result is known by the end of the next pause.
        return max(times, default=now + timedelta(seconds=self.circuit.pause_s))

    def status(self) -> ModelStatus:
        """Return the backend's state for pages; `latency_s` is the mean."""
        spent, backend, forms = self._spent, self.backend, self._forms
        protocol = None if self.is_engine else choose_form(backend.protocols, forms)
        learnt = backend.facts.summary
        unpriced = (
            "" if self.price else "this model has no price, so only its tokens are counted; set a price in MODEL_PRICES"
        )
        seen, held = self.health.seen, self.circuit.opens_at if self.circuit.state is CircuitState.OPEN else None
        return ModelStatus(
            name=backend.name,
            model=backend.model,
            available=seen.available,
            checked_at=seen.at,
            since=seen.since,
            next_check_at=held or (seen.at + timedelta(seconds=self._policy.probe_s) if seen.at else None),
            detail=self._masker("; ".join(filter(None, (self.why or seen.why, backend.advice, learnt, unpriced)))),
            circuit=self.circuit.state,
            calls=self._calls,
            failures=self._failures,
            tokens_in=spent.tokens_in,
            tokens_out=spent.tokens_out,
            cost_usd=spent.cost_usd,
            unpriced=spent.unpriced,
            latency_s=spent.model_s / self._calls if self._calls else None,
            protocol=protocol,
            form=self.profile.why_plain,
            malformed_share=forms.get(protocol, FormCounts()).malformed_share if protocol else None,
        )

    def shape_request(self, request: ModelRequest) -> ModelRequest:
        """Return the request in the form that the backend accepts.

        Tools are either passed in `tools`, for native tool calls, or described in the text. The result's `protocol`
        names the form. The request's own form is used if the backend supports it; otherwise the form is chosen by the
        model's earlier replies. The built-in engine ignores tools.
        """
        spoken = request.tools or any(message.tool_calls or message.role == "tool" for message in request.messages)
        if self.is_engine or not spoken:
            return request
        no_tools = "tools" in self.backend.facts.lacks
        protocols, protocol = (ToolProtocol.TEXT,) if no_tools else self.backend.protocols, request.protocol
        if protocol not in protocols:
            self._learn_forms()
            protocol = choose_form(protocols, self._forms)
        if request.tools and protocol is ToolProtocol.NATIVE:
            return replace(request, protocol=protocol)
        messages = as_text(request.messages, request.tools)
        return replace(request, messages=messages, tools=(), protocol=ToolProtocol.TEXT)

    def _learn_forms(self) -> None:
        if not self.is_engine:
            self._forms = self._services.forms.read_counts(self.backend.name, self.backend.model)

    async def ready(self) -> bool:
        """Check whether the backend is available and its circuit is not open.

        A backend that was unavailable a few seconds ago is not checked again.
        """
        if not self.health.available:
            await self.check(self._policy.probe_fresh_s)
        return self.health.available and self.circuit.state is not CircuitState.OPEN

    async def check(self, fresh_s: float = 0.0) -> bool:
        """Check whether the backend is available. If it has just become available, its failures are forgotten."""
        came_up = await self.health.check(fresh_s)
        self._learn_forms()
        if not self._stored_facts:
            self._stored_facts = self._services.state.get(f"model_facts {self.account}") or ""
            self.backend.facts.read(self._stored_facts)
        if came_up:
            self.recoveries += 1
            self.circuit.come_up()
            self._why = ""
            self._restore_pause()
        return came_up

    def _restore_pause(self) -> None:
        """Restore a pause that the provider requested from this process, or from an earlier process of the daemon."""
        state = self._services.state
        # Version 0.1 stored the pauses of all accounts under one key.
        if stored := state.get(f"model_pause {self.account}") or (state.get("model_pauses") or {}).get(self.account):
            self.circuit.restore(Pause(since=from_text(stored[0]), until=from_text(stored[1])))
            self._why = stored[2] if self.circuit.state is CircuitState.OPEN else ""

    async def ask(self, request: ModelRequest, room: Room) -> Completion:
        """Ask until the backend answers or no try is left.

        `room` is charged for every reply, including replies that broke off.

        Raises:
            ModelUnavailable: the backend did not answer; `next_time` says when to try again.
            ModelRefused: the backend will not answer this request. The subclass `BackendUnfit` means that the refusal
                is not a fault. The subclass `RequestRefused` means that either the request or the backend is at fault;
                the next answer or refusal to another task shows which.
            BudgetExhausted: a budget has no room for the call.
        """
        for tries in count(1):
            await self._wait_as_asked()
            if not self.circuit.enter():
                raise CircuitOpen(f"calls to {self.label} are paused: {self._why}")
            lost = list[Completion]()
            formed = self.shape_request(request)
            try:
                async with room() as reserved, self._slots:
                    return await self._call(request, formed, reserved, lost)
            except BackendUnfit:
                self.circuit.succeed()
                raise
            except ToolsRefused as error:
                self.circuit.succeed()
                self.report(request, error, tries, 0.0 if formed.tools else None)
                if not formed.tools:
                    raise
                request = replace(request, protocol=ToolProtocol.TEXT)
            except RequestRefused as error:
                blamed = self._task_failures.note_refusal(request.task_id, error)
                self._note_failure(request, blamed, tries)
                raise blamed from error
            except ModelError as error:
                wait_s = self._note_failure(request, error, tries)
                self._check_poison(request, error, is_paid=bool(lost))
                if wait_s is None:
                    raise
                await asyncio.sleep(wait_s)
            except BaseException:
                self.circuit.leave()
                raise
            finally:
                self._store_facts()
        raise AssertionError("the loop above ends by itself")

    async def _call(
        self, request: ModelRequest, formed: ModelRequest, room: Reservation, lost: list[Completion]
    ) -> Completion:
        """Ask once.

        The reply is priced, charged and counted before its content is examined. Replies that broke off (`lost`) are
        charged too.
        """
        formed = replace(formed, max_tokens=room.reply, cut_at=room.cut_at)
        try:
            completion = await call_once(self.backend, formed, self._policy, lost.append, self._services.live)
        finally:
            for broken in lost:
                room.charge(self._add_price(broken))
        self._task_failures.note_answer(request.task_id)
        self.backend.token_estimator.learn(formed, completion)
        self.circuit.succeed()
        self._why = ""
        protocol = formed.protocol if request.tools and not self.is_engine else None
        completion = self._add_price(replace(completion, protocol=protocol))
        room.charge(completion)
        self._calls += 1
        self._spent = self._spent + completion.spent
        return completion

    def _store_facts(self) -> None:
        if (facts := str(self.backend.facts)) != self._stored_facts:
            self._stored_facts = facts
            self._services.state.set(f"model_facts {self.account}", facts)

    async def _wait_as_asked(self) -> None:
        """Wait for as long as the server asked, plus a random time, so that concurrent calls spread out."""
        if self._asked_until and (wait_s := (self._asked_until - self._clock()).total_seconds()) > 0:
            # Capped at the longest wait that the server can have asked for, in case the clock was set back.
            await asyncio.sleep(min(wait_s, self._policy.max_wait_s) * random.uniform(1.0, 1.1))  # noqa: S311 - no secret

    def _check_poison(self, request: ModelRequest, error: ModelError, *, is_paid: bool) -> None:
        """Raise an error if a task's requests keep failing while other requests are answered.

        Raises:
            ModelRefused: the task failed too often.
        """
        may_pass = isinstance(error, ModelUnavailable) and error.retry_after_s is None
        if may_pass and self._task_failures.note_failure(request.task_id, is_paid=is_paid):
            text = f"{self.label} repeatedly fails at this task but answers other tasks: {error}"
            raise ModelRefused(text) from error

    def _add_price(self, completion: Completion) -> Completion:
        price = self.price if completion.cost_usd is None else None
        return replace(completion, cost_usd=price.of(completion)) if price else completion

    def _note_failure(self, request: ModelRequest, error: ModelError, tries: int) -> float | None:
        """Count and report a failure; return the seconds to wait before the next try, or None for no further try."""
        self._failures += 1
        self._why = str(error)
        wait_s = None
        if isinstance(error, BackendMisconfigured):
            self.circuit.open_for(self._policy.breaker_max_s)
        elif isinstance(error, ModelRefused):
            self.circuit.succeed()
        elif isinstance(error, ModelUnavailable) and not isinstance(error, TimedOut):
            wait_s = self._pause(error.retry_after_s, tries)
        else:
            self.circuit.fail()
        if tries >= self._policy.tries or self.circuit.state is CircuitState.OPEN:
            wait_s = None
        self.report(request, error, tries, wait_s)
        return wait_s

    def _pause(self, asked_s: float | None, tries: int) -> float | None:
        policy = self._policy
        if asked_s is not None and asked_s > policy.max_wait_s:
            pause = self.circuit.open_as_asked(asked_s)
            stored = (to_text(pause.since), to_text(pause.until), self._masker(self._why)[:MOST_WHY_CHARS])
            self._services.state.set(f"model_pause {self.account}", stored)
            return None
        # A backend that is always busy is paused like one that fails, since asking it all night helps nobody.
        self.circuit.fail()
        if asked_s is not None:
            self._asked_until = self._clock() + timedelta(seconds=asked_s)
            return 0.0
        longest_s = min(policy.backoff_s * 2 ** (tries - 1), policy.backoff_max_s)
        return random.uniform(0, longest_s)  # noqa: S311 - no secret

    def report(self, request: ModelRequest, error: ModelError, tries: int, retry_in_s: float | None) -> None:
        """Emit an event about a failure."""
        data = CallFailureData(
            {
                "backend": self.backend.name,
                "model": self.backend.model,
                "error": type(error).__name__,
                "try": tries,
                "retry_in_s": None if retry_in_s is None else round(retry_in_s, 6),
                "circuit": self.circuit.state.value,
            }
        )
        text, about = self._masker(str(error)), events_about(request, self._services.emit)
        about.emit(Kind.MODEL_FAILED, text, level=Level.WARNING, **data)
