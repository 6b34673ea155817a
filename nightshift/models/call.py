"""One call to one backend, under three time-outs; a reply that breaks off is still accounted for."""

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
"""No model writes so much; a server that does is broken, and would fill the memory."""
LEAST_TOKENS_PER_S = 0.5
"""A model that is slower than this over the whole time-out is as good as gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallPolicy:
    """Patience with one backend.

    Attributes:
        first_text_s: how long the first byte may take; a model of the owner's own, which may load for minutes
            and read a long prompt for more, has all of `total_s` for it.
        gap_s: how long the connection may be silent after that; any byte counts, comments and pings included.
        total_s: how long a whole reply may take.
        tries: how often one backend is asked for one reply.
        backoff_s: the longest wait before the second try; it doubles with each further one, up to `backoff_max_s`,
            and the wait itself is drawn evenly from zero (“full jitter”: M. Brooker, AWS Architecture Blog, 2015).
        max_wait_s: a wait that the server asks for is kept up to this; a longer one sends the request elsewhere.
        breaker_failures: after so many failures in a row a backend is left alone for `breaker_s`, then for twice as
            long with each further failure, up to `breaker_max_s`.
        probe_s: how often `watch` looks which backends are there.
        probe_fresh_s: how long the answer “not there” holds before a call looks again.
        temperatures: by how often the loop was stuck, the last one from then on; None leaves it to the model.
        reply_tokens: the longest reply where the request names no limit.
        precheck_s: how long the built-in engine may look before a model is asked; 0 asks it last only.
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
    """More was written than was asked for."""


Charge = Callable[[Completion], None]
"""Takes what was paid for; a reply that broke off has `lost` in its `extra`."""


async def call_once(
    backend: BaseModelHandler, request: ModelRequest, policy: CallPolicy, on_lost: Charge, live: LiveCalls | None = None
) -> Completion:
    """Ask once; `live` gets what is written as it comes.

    Raises:
        ModelUnavailable: also `TimedOut`, when one of the time-outs is over.
        ModelRefused: the backend will not answer this.
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
    """One call while it lasts, and what was received of its reply."""

    def __init__(self, backend: BaseModelHandler, request: ModelRequest, policy: CallPolicy, live: LiveText) -> None:
        self._backend, self._request, self._policy, self._received = backend, request, policy, live
        self._is_full = False
        self._loop = asyncio.get_running_loop()
        self._began_s = self._last_s = self._loop.time()

    async def ask(self) -> Completion:
        """Ask; each sign of life moves the deadline, but never past the total, and goes to who watches."""
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
        """How long the first sign of life may take: a model of the owner's own is given all the time there is."""
        total_s = self._policy.total_s
        return total_s if self._backend.free else min(self._gap_s(self._policy.first_text_s), total_s)

    def _gap_s(self, usual_s: float) -> float:
        return usual_s if self._backend.streams else self._policy.total_s

    def _on_text(self, limit: asyncio.Timeout) -> OnText:
        """Take pieces as they come; a reply that goes on beyond what was reserved for it is cut there."""
        task = asyncio.current_task()

        def receive(piece: str) -> None:
            self._received.take(piece)
            if self._received.bytes > MAX_REPLY_BYTES:
                raise ModelUnavailable(f"{self._backend.label} sent more than {MAX_REPLY_BYTES:,} bytes without an end")
            self._is_full = self._is_full or bool(self._request.cut_at and self._written > self._request.cut_at)
            if self._is_full and asyncio.current_task() is task:
                raise _Full
            if not limit.expired():
                end_s = self._loop.time() + (0 if self._is_full else self._gap_s(self._policy.gap_s))
                limit.reschedule(min(end_s, self._last_s))

        return receive

    @property
    def _written(self) -> int:
        """Tokens by our own count, thoughts and calls included."""
        return math.ceil(self._received.bytes / BYTES_PER_TOKEN)

    def _take_cut(self) -> Completion:
        """The reply as it was cut by its length or the total time; all else is a failure."""
        written, total_s = self._written, self._policy.total_s
        is_over = self._loop.time() >= self._last_s
        if self._is_full or (is_over and written >= LEAST_TOKENS_PER_S * total_s):
            return replace(self.take_written({}), finish=Finish.LENGTH)
        after = "stopped in the middle of its answer" if written else "did not answer in time"
        if is_over and written:
            after = f"writes so slowly that its answer had no end after {total_s:g} s"
        raise TimedOut(f"{self._backend.label} {after}")

    def take_written(self, extra: dict[str, Any]) -> Completion:
        """The text so far as a reply: it was paid for, so it is counted, as an estimate."""
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
