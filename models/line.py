"""A line to one backend: how long it is waited for, whether it is asked again, what it used, how it did."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import count
from typing import Any

from core.clock import Clock
from core.dialogue import BUILT_IN, Completion, ModelRequest
from core.errors import ModelError, ModelRefused, ModelUnavailable
from core.events import Event, Kind, Level
from core.ports import Sink
from core.status import ModelStatus
from models.base import BaseModelHandler
from models.call import Charge, call_once
from models.circuit import Circuit, State
from models.faults import BackendMisconfigured, BackendUnfit, LeftAlone, TimedOut
from models.hopeless import Hopeless
from models.pauses import Kept, Pauses
from models.policy import CallPolicy, Price, price_of
from models.presence import Presence
from models.scale import Scale
from models.tally import Tally


class Line:
    """One backend of the chain. Used from one event loop.

    Args:
        backend: who answers.
        policy: how patient to be.
        clock: the time, for pauses that may last hours; short waits are measured by the event loop.
        emit: takes the events.
        masker: takes secrets out of what vendors say.
        prices: what the owner's models cost.
        pauses: where it is kept that a provider asked to be left alone, over restarts.

    Attributes:
        rises: how often it came up since the process began.
        scale: how long texts are for its model.
    """

    def __init__(
        self,
        backend: BaseModelHandler,
        *,
        policy: CallPolicy,
        clock: Clock,
        emit: Sink,
        masker: Callable[[str], str],
        prices: Mapping[str, Price],
        pauses: Pauses,
    ) -> None:
        self.backend, self._policy, self._clock, self._emit, self._masker = backend, policy, clock, emit, masker
        self._prices, self._pauses = prices, pauses
        self.circuit = Circuit(
            clock, failures=policy.breaker_failures, pause_s=policy.breaker_s, pause_max_s=policy.breaker_max_s
        )
        self.presence = Presence(backend, emit, masker)
        self.rises = 0
        self._why = ""
        self._quiet_until: datetime | None = None
        limit = backend.parallel
        self._places: AbstractAsyncContextManager[Any] = asyncio.Semaphore(limit) if limit else nullcontext()
        self._tally, self.scale = Tally(), Scale()
        self._hopeless = Hopeless()

    @property
    def label(self) -> str:
        """`backend=model`, as settings write it."""
        return self.presence.label

    @property
    def account(self) -> str:
        """What a provider's limits are about: the model, and whose key asks for it."""
        return f"{self.label} {self.backend.account}".strip()

    def follow(self, earlier: Line) -> None:
        """Go on with the counts of a line to the same model under earlier settings."""
        self._tally, self.scale = replace(earlier._tally), earlier.scale

    @property
    def is_engine(self) -> bool:
        """Whether it is the built-in engine, which works on code and is no model."""
        return self.backend.name == BUILT_IN

    def is_called(self, wanted: str) -> bool:
        """Whether the settings mean this line by `backend=model`, `backend` or `model`."""
        return wanted in {self.label, self.backend.name, self.backend.model}

    @property
    def price(self) -> Price | None:
        """What its model costs, if that is known."""
        return price_of(self._prices, self.backend.name, self.backend.model, free=self.backend.free)

    @property
    def why(self) -> str:
        """Why it does not answer, in words for the owner."""
        return self.presence.why or self._why

    @property
    def next_time(self) -> datetime | None:
        """When to ask again; None while the backend is not there, for then nobody knows."""
        now = self._clock()
        if not self.presence.available:
            return None
        held = self.circuit.opens_at if self.circuit.state is State.OPEN else None
        known = [at for at in (held, self._quiet_until) if at and at > now]
        # Where somebody else is trying it just now, it is known no sooner than after the next pause.
        return max(known, default=now + timedelta(seconds=self.circuit.pause_s))

    def status(self) -> ModelStatus:
        """The line as pages show it; `latency_s` is the mean."""
        tally = self._tally
        unpriced = "" if self.price else "its price is not set: only tokens are counted (MODEL_PRICES)"
        return ModelStatus(
            name=self.backend.name,
            model=self.backend.model,
            available=self.presence.available,
            detail=self._masker("; ".join(filter(None, (self.why, unpriced)))),
            circuit=self.circuit.state.value,
            calls=tally.calls,
            failures=tally.failures,
            tokens_in=tally.tokens_in,
            tokens_out=tally.tokens_out,
            cost_usd=tally.cost_usd,
            unpriced=tally.unpriced,
            latency_s=tally.mean_latency_s,
        )

    async def ready(self) -> bool:
        """Whether it is there and may be asked; one that was not there a moment ago is not looked for again yet."""
        if not self.presence.available:
            await self.look(self._policy.probe_fresh_s)
        return self.presence.available and self.circuit.state is not State.OPEN

    async def look(self, fresh_s: float = 0.0) -> bool:
        """Look whether the backend is there (see `Presence.look`); one that has just come up gets a new chance."""
        came_up = await self.presence.look(fresh_s)
        if came_up:
            self.rises += 1
            self.circuit.came_up()
            self._why = ""
            self._remember()
        return came_up

    def _remember(self) -> None:
        """Keep to what the provider asked this process or an earlier one for."""
        if kept := self._pauses.read(self.account):
            self.circuit.restore(kept.pause)
            self._why = kept.why if self.circuit.state is State.OPEN else ""

    async def ask(self, request: ModelRequest, charge: Charge) -> Completion:
        """Ask until there is an answer or no patience is left. `charge` gets what was used, also by a lost reply.

        Raises:
            ModelUnavailable: it did not answer; `next_time` tells when to try again.
            ModelRefused: it will not answer this; `BackendUnfit` where that is no fault.
        """
        for tries in count(1):
            await self._keep_quiet()
            if not self.circuit.enter():
                raise LeftAlone(f"{self.label} is left alone for a while: {self._why}")
            lost: list[Completion] = []
            try:
                async with self._places:
                    completion = await call_once(self.backend, request, self._policy, self._lost_to(charge, lost))
            except BackendUnfit:
                self.circuit.succeeded()
                raise
            except ModelError as error:
                wait_s = self._failed(request, error, tries)
                self._check_hope(request, error, paid=bool(lost))
                if wait_s is None:
                    raise
                await asyncio.sleep(wait_s)
            except BaseException:
                self.circuit.left()
                raise
            else:
                self._hopeless.answered(request.task_id)
                self.scale.heard(request, completion)
                return self._answered(completion, charge)
        raise AssertionError("the loop above ends by itself")

    async def _keep_quiet(self) -> None:
        """Wait as the server asked, whichever call it told; a little longer, so that not all come back at once."""
        if self._quiet_until and (wait_s := (self._quiet_until - self._clock()).total_seconds()) > 0:
            # Never longer than it can have asked for, in case somebody has set the clock back.
            await asyncio.sleep(min(wait_s, self._policy.max_wait_s) * random.uniform(1.0, 1.1))  # noqa: S311 - no secret

    def _lost_to(self, charge: Charge, lost: list[Completion]) -> Charge:
        """Charges a reply that broke off, at this line's price, and notes it."""

        def lose(completion: Completion) -> None:
            lost.append(completion)
            charge(self._priced(completion))

        return lose

    def _check_hope(self, request: ModelRequest, error: ModelError, *, paid: bool) -> None:
        """Give up on a request that fails and fails while others are answered.

        Raises:
            ModelRefused: it did, too often.
        """
        passing = isinstance(error, ModelUnavailable) and error.retry_after_s is None
        if passing and self._hopeless.failed(request.task_id, self._tally.calls, paid=paid):
            raise ModelRefused(
                f"{self.label} fails at this again and again while it answers others: {error}"
            ) from error

    def _priced(self, completion: Completion) -> Completion:
        price = self.price if completion.cost_usd is None else None
        return replace(completion, cost_usd=price.of(completion)) if price else completion

    def _answered(self, completion: Completion, charge: Charge) -> Completion:
        """Price, charge and count a reply, before anybody looks into it."""
        self.circuit.succeeded()
        self._why = ""
        completion = self._priced(completion)
        charge(completion)
        self._tally.answered(completion)
        return completion

    def _failed(self, request: ModelRequest, error: ModelError, tries: int) -> float | None:
        """Draw the consequences; the wait before the next try in seconds, or None when there is to be none."""
        self._tally.failures += 1
        self._why = str(error)
        wait_s = self._consequences(error, tries)
        again = wait_s is not None and tries < self._policy.tries and self.circuit.state is not State.OPEN
        self._tell(request, error, tries, wait_s if again else None)
        return wait_s if again else None

    def _consequences(self, error: ModelError, tries: int) -> float | None:
        policy = self._policy
        if isinstance(error, BackendMisconfigured):
            self.circuit.open_for(policy.breaker_max_s)
        elif isinstance(error, ModelRefused):
            self.circuit.succeeded()
        elif isinstance(error, TimedOut):
            self.circuit.failed()
        elif isinstance(error, ModelUnavailable):
            return self._pause(error.retry_after_s, tries)
        else:
            self.circuit.failed()
        return None

    def _pause(self, asked_s: float | None, tries: int) -> float | None:
        policy = self._policy
        if asked_s is not None and asked_s > policy.max_wait_s:
            self.circuit.open_for(asked_s, asked=True)
            if self.circuit.asked:
                self._pauses.write(self.account, Kept(pause=self.circuit.asked, why=self._masker(self._why)))
            return None
        # One that is busy again and again is left alone like one that fails: asking it all night helps nobody.
        self.circuit.failed()
        if asked_s is not None:
            self._quiet_until = self._clock() + timedelta(seconds=asked_s)
            return 0.0
        longest_s = min(policy.backoff_s * 2 ** (tries - 1), policy.backoff_max_s)
        return random.uniform(0, longest_s)  # noqa: S311 - no secret

    def _tell(self, request: ModelRequest, error: ModelError, tries: int, retry_in_s: float | None) -> None:
        data = {
            "backend": self.backend.name,
            "model": self.backend.model,
            "error": type(error).__name__,
            "try": tries,
            "retry_in_s": None if retry_in_s is None else round(retry_in_s, 6),
            "circuit": self.circuit.state.value,
        }
        self._emit(event_of(request, Kind.MODEL_FAILED, self._masker(str(error)), data, Level.WARNING))


def event_of(
    request: ModelRequest, kind: Kind, message: str, data: Mapping[str, Any], level: Level = Level.INFO
) -> Event:
    """An event about a request."""
    return Event(
        kind=kind,
        level=level,
        message=message,
        task_id=request.task_id,
        attempt=request.attempt,
        iteration=request.iteration,
        phase=request.phase,
        data=data,
    )
