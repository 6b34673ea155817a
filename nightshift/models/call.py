"""One call to one backend, under three timeouts. If a reply breaks off, the part that was received is still charged."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from nightshift.core.dialogue import Completion, Finish, ModelRequest, Thought
from nightshift.core.errors import ModelUnavailable
from nightshift.core.gauge import BYTES_PER_TOKEN
from nightshift.models.base import BaseModelHandler, OnText, ThoughtText
from nightshift.models.errors import TimedOut
from nightshift.models.live import LiveCalls, LiveText
from nightshift.models.thought_tags import without_thoughts
from nightshift.models.token_estimates import estimate_request, fill_counts

MAX_REPLY_BYTES = 8_000_000
"""Maximum size of a reply. A server that sends more is broken, and its reply would fill the memory."""
LEAST_TOKENS_PER_S = 0.5
"""Minimum speed of a model. If a model wrote fewer tokens per second over the whole timeout, it counts as unavailable.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallPolicy:
    """Timeouts, retries and limits for one backend. Values ending in `_s` are in seconds.

    Attributes:
        first_text_s: timeout for the first byte. A model on the owner's machine may use all of `total_s`, since it may
            load for minutes and needs longer to read a long prompt.
        gap_s: longest silence of the connection after the first byte; any byte ends the silence, including comments and
            pings.
        total_s: timeout for a whole reply.
        tries: how often one backend is asked for one reply.
        backoff_s: longest wait before the second try. It doubles with each further try, up to `backoff_max_s`. The
            actual wait is drawn uniformly between zero and that value (“full jitter”: M. Brooker, AWS Architecture
            Blog, 2015).
        backoff_max_s: the longest wait before any try.
        max_wait_s: the longest wait that a server may ask for. If a server asks for more, the request goes to another
            backend.
        breaker_failures: number of consecutive failures after which a backend is paused, that is, receives no requests.
        breaker_s: the first pause. Each further failure doubles the pause.
        breaker_max_s: the longest pause.
        probe_s: interval at which `watch` checks which backends are available.
        probe_fresh_s: how long the result "not available" is valid before a call checks again.
        temperatures: temperatures by the number of times that the task was stuck. The last one applies to all higher
            numbers. None leaves the temperature to the model.
        reply_tokens: the longest reply in tokens, if the request sets no limit.
        precheck_s: how long the built-in engine may search before a model is asked; 0 means that the engine is asked
            only after all models.
    """

    first_text_s: float = 300.0
    gap_s: float = 120.0
    total_s: float = 900.0
    tries: int = 3
    backoff_s: float = 1.0
    backoff_max_s: float = 30.0
    max_wait_s: float = 60.0
    breaker_failures: int = 5
    breaker_s: float = 15.0
    breaker_max_s: float = 900.0
    probe_s: float = 30.0
    probe_fresh_s: float = 5.0
    temperatures: tuple[float | None, ...] = (0.2, 0.8, 0.8, 1.0)
    reply_tokens: int = 8192
    precheck_s: float = 10.0


class _Full(Exception):
    """The reply is longer than the length reserved for it."""


Charge = Callable[[Completion], None]
"""Receives a reply that was paid for; a truncated reply has `lost` in its `extra`."""


async def call_once(
    backend: BaseModelHandler, request: ModelRequest, policy: CallPolicy, on_lost: Charge, live: LiveCalls | None = None
) -> Completion:
    """Ask once. `live` receives the text of the reply while the model writes it.

    Raises:
        ModelUnavailable: the call failed; `TimedOut` if one of the timeouts expired.
        ModelRefused: the backend will not answer this request.
    """
    received = (live or LiveCalls()).begin(request, backend)
    call, completion = _Call(backend, request, policy, received), None
    try:
        completion = await call.ask()
    except BaseException:
        if received.bytes:
            on_lost(call.take_written({"lost": True}))
        raise
    finally:
        received.end(completion)
    return completion


class _Call:
    """One running call, and the part of its reply received so far."""

    def __init__(self, backend: BaseModelHandler, request: ModelRequest, policy: CallPolicy, live: LiveText) -> None:
        self._backend, self._request, self._policy, self._received = backend, request, policy, live
        self._is_full = False
        self._loop = asyncio.get_running_loop()
        self._began_s = self._last_s = self._loop.time()

    async def ask(self) -> Completion:
        """Ask the backend. Each sign of life extends the deadline, up to the total timeout."""
        await self._backend.load()
        self._began_s = self._loop.time()
        self._last_s = self._began_s + self._policy.total_s
        try:
            async with asyncio.timeout(self._first_s()) as limit:
                reply = await self._backend.generate(self._request, on_text=self._on_text(limit))
                return without_thoughts(fill_counts(self._request, reply))
        except (TimeoutError, _Full):
            return self._take_cut()

    def _first_s(self) -> float:
        """Return the timeout for the first sign of life.

        A model on the owner's machine gets the whole total timeout.
        """
        total_s = self._policy.total_s
        return total_s if self._backend.free else min(self._gap_s(self._policy.first_text_s), total_s)

    def _gap_s(self, usual_s: float) -> float:
        return usual_s if self._backend.streams else self._policy.total_s

    def _on_text(self, limit: asyncio.Timeout) -> OnText:
        """Return a function that receives the pieces of the reply.

        The function cuts off a reply that exceeds the length reserved for it.
        """
        task = asyncio.current_task()

        def receive(piece: str) -> None:
            self._received.take(piece)
            if self._received.bytes > MAX_REPLY_BYTES:
                raise ModelUnavailable(f"{self._backend.label} sent a reply of more than {MAX_REPLY_BYTES:,} bytes")
            self._is_full = self._is_full or bool(self._request.cut_at and self._written > self._request.cut_at)
            if self._is_full and asyncio.current_task() is task:
                raise _Full
            if not limit.expired():
                end_s = self._loop.time() + (0 if self._is_full else self._gap_s(self._policy.gap_s))
                limit.reschedule(min(end_s, self._last_s))

        return receive

    @property
    def _written(self) -> int:
        """Estimated number of tokens received so far, including thoughts and tool calls."""
        return math.ceil(self._received.bytes / BYTES_PER_TOKEN)

    def _take_cut(self) -> Completion:
        """Return the partial reply if its length or the total timeout cut it off; otherwise raise `TimedOut`."""
        written, total_s = self._written, self._policy.total_s
        is_over = self._loop.time() >= self._last_s
        if self._is_full or (is_over and written >= LEAST_TOKENS_PER_S * total_s):
            return replace(self.take_written({}), finish=Finish.LENGTH)
        after = "stopped in the middle of its answer" if written else "did not answer in time"
        if is_over and written:
            after = f"wrote so slowly that its answer was not complete after {total_s:g} s"
        raise TimedOut(f"{self._backend.label} {after}")

    def take_written(self, extra: dict[str, Any]) -> Completion:
        """Return the text received so far as a reply with estimated token counts, because it costs money."""
        thoughts = self._received.text_of(ThoughtText)
        received = Completion(
            text=self._received.text_of(str),
            backend=self._backend.name,
            model=self._backend.model,
            tokens_in=estimate_request(self._request),
            tokens_out=self._written,
            latency_s=self._loop.time() - self._began_s,
            thoughts=(Thought(text=thoughts),) if thoughts else (),
            extra={"estimated": True, **extra},
        )
        return without_thoughts(received)
