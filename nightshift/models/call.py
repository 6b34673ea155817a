"""One call to one backend, under three time-outs; a reply that breaks off is still accounted for."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from nightshift.core.dialogue import Completion, Finish, ModelRequest, Thought
from nightshift.core.errors import ModelUnavailable
from nightshift.core.gauge import BYTES_PER_TOKEN, utf8_size
from nightshift.models.base import BaseModelHandler, CallText, OnText, ThoughtText
from nightshift.models.errors import TimedOut
from nightshift.models.live import LiveCalls
from nightshift.models.thought_tags import without_thoughts
from nightshift.models.token_estimates import estimate_reply, estimate_request

MAX_REPLY_BYTES = 8_000_000
"""No model writes so much; a server that does is broken, and would fill the memory."""
MAX_TOKENS = 100_000_000
"""No prompt and no reply has so many."""
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
    backend: BaseModelHandler,
    request: ModelRequest,
    policy: CallPolicy,
    on_lost: Charge,
    live: LiveCalls | None = None,
) -> Completion:
    """Ask once; `live` gets what is written as it comes.

    Raises:
        ModelUnavailable: also `TimedOut`, when one of the time-outs is over.
        ModelRefused: the backend will not answer this.
    """
    call, shown = _Call(backend, request, policy), live.begin(request, backend) if live else None
    completion: Completion | None = None
    try:
        completion = await call.timed(shown.take if shown else _unwatched)
    except BaseException:
        if call.was_written:
            on_lost(call.so_far({"lost": True}))
        raise
    finally:
        if shown:
            shown.end(completion)
    return completion


def _unwatched(_piece: str) -> None:
    """Nobody watches this call."""


class _Call:
    """One call while it lasts, and what was received of its reply."""

    def __init__(self, backend: BaseModelHandler, request: ModelRequest, policy: CallPolicy) -> None:
        self._backend, self._request, self._policy = backend, request, policy
        self._text: list[str] = []
        self._thoughts: list[str] = []
        self._bytes, self._is_full = 0, False
        self._loop = asyncio.get_running_loop()
        self._began_s = self._last_s = self._loop.time()

    async def timed(self, watch: OnText) -> Completion:
        """Ask; each sign of life moves the deadline, but never past the total, and goes to who watches."""
        await self._backend.load()
        self._began_s = self._loop.time()
        self._last_s = self._began_s + self._policy.total_s
        try:
            async with asyncio.timeout(self._first_s()) as limit:
                on_text = self._on_text(limit, watch)
                reply = await self._backend.generate(self._request, on_text=on_text)
                return without_thoughts(_plausible(reply, self))
        except (TimeoutError, _Full):
            return replace(self.so_far({}), finish=Finish.LENGTH) if self._is_full else self._out_of_time()

    def _first_s(self) -> float:
        """How long the first sign of life may take: a model of the owner's own is given all the time there is."""
        policy, backend = self._policy, self._backend
        return min(policy.first_text_s, policy.total_s) if backend.streams and not backend.free else policy.total_s

    def _on_text(self, limit: asyncio.Timeout, watch: OnText) -> OnText:
        """Take pieces as they come; a reply that goes on beyond what was reserved for it is cut there."""
        task = asyncio.current_task()

        def receive(piece: str) -> None:
            watch(piece)
            if not isinstance(piece, CallText):
                (self._thoughts if isinstance(piece, ThoughtText) else self._text).append(piece)
            self._bytes += utf8_size(piece)
            if self._bytes > MAX_REPLY_BYTES:
                raise ModelUnavailable(f"{self._label} sent more than {MAX_REPLY_BYTES:,} bytes without an end")
            self._is_full = self._is_full or bool(self._request.cut_at and self._written > self._request.cut_at)
            if self._is_full and asyncio.current_task() is task:
                raise _Full
            if not limit.expired():
                end_s = self._loop.time() + (0 if self._is_full else self._policy.gap_s)
                limit.reschedule(min(end_s, self._last_s))

        return receive

    @property
    def was_written(self) -> bool:
        """Whether part of a reply came, which is paid for."""
        return self._bytes > 0

    @property
    def _written(self) -> int:
        """Tokens by our own count, thoughts and calls included."""
        return math.ceil(self._bytes / BYTES_PER_TOKEN)

    @property
    def _label(self) -> str:
        return f"{self._backend.name}={self._backend.model}"

    def _out_of_time(self) -> Completion:
        """A model that was still writing is cut off, as by any other limit of length; all else is a failure."""
        written = self._written
        whole = self._loop.time() >= self._last_s
        if whole and written >= LEAST_TOKENS_PER_S * self._policy.total_s:
            return replace(self.so_far({}), finish=Finish.LENGTH)
        after = "stopped in the middle of its answer" if written else "did not answer in time"
        if whole and written:
            after = f"writes so slowly that its answer had no end after {self._policy.total_s:g} s"
        raise TimedOut(f"{self._label} {after}")

    def so_far(self, extra: dict[str, Any]) -> Completion:
        """What was received as a reply: it was paid for, so it is counted, as an estimate."""
        thought = "".join(self._thoughts)
        received = Completion(
            text="".join(self._text),
            backend=self._backend.name,
            model=self._backend.model,
            tokens_in=estimate_request(self._request),
            tokens_out=self._written,
            latency_s=self._loop.time() - self._began_s,
            thoughts=(Thought(text=thought),) if thought else (),
            extra={"estimated": True, **extra},
        )
        return without_thoughts(received)


def _plausible(completion: Completion, call: _Call) -> Completion:
    """The reply with its token counts, or with estimates where the server's counts are none."""
    counts = (completion.tokens_in, completion.tokens_out)
    if all(isinstance(count, int) and 0 <= count <= MAX_TOKENS for count in counts):
        return completion
    guess = call.so_far({})
    return replace(
        completion,
        tokens_in=guess.tokens_in,
        tokens_out=estimate_reply(completion),
        extra={**completion.extra, "estimated": True},
    )
