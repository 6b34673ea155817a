"""One call to one backend, under three time-outs; a reply that breaks off is still accounted for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from core.dialogue import Completion, Finish, ModelRequest
from core.errors import ModelUnavailable
from models.base import BaseModelHandler, OnText, estimate_request, estimate_tokens
from models.faults import TimedOut
from models.policy import CallPolicy

MAX_REPLY_CHARS = 8_000_000
"""No model writes so much; a server that does is broken, and would fill the memory."""
MAX_TOKENS = 100_000_000
"""No prompt and no reply has so many."""
LEAST_TOKENS_PER_S = 0.5
"""A model that is slower than this over the whole time-out is as good as gone."""

Charge = Callable[[Completion], None]
"""Takes what was paid for; a reply that broke off has `lost` in its `extra`."""


async def call_once(
    backend: BaseModelHandler, request: ModelRequest, policy: CallPolicy, on_lost: Charge
) -> Completion:
    """Ask once.

    Raises:
        ModelUnavailable: also `TimedOut`, when one of the time-outs is over.
        ModelRefused: the backend will not answer this.
    """
    call = _Call(backend, request, policy)
    try:
        return await call.timed()
    except BaseException:
        if any(call.heard):
            on_lost(call.so_far({"lost": True}))
        raise


class _Call:
    """One call while it lasts, and what was heard of its reply."""

    def __init__(self, backend: BaseModelHandler, request: ModelRequest, policy: CallPolicy) -> None:
        self._backend, self._request, self._policy = backend, request, policy
        self.heard: list[str] = []
        self._chars = 0
        self._loop = asyncio.get_running_loop()
        self._began_s = self._loop.time()
        self._last_s = self._began_s + policy.total_s

    async def timed(self) -> Completion:
        """Ask; each sign of life moves the deadline, but never past the total."""
        try:
            async with asyncio.timeout(self._first_s()) as limit:
                return _plausible(await self._backend.generate(self._request, on_text=self._hearing(limit)), self)
        except TimeoutError:
            return self._out_of_time()

    def _first_s(self) -> float:
        """How long the first sign of life may take: a model of the owner's own is given all the time there is."""
        policy, backend = self._policy, self._backend
        return min(policy.first_text_s, policy.total_s) if backend.streams and not backend.free else policy.total_s

    def _hearing(self, limit: asyncio.Timeout) -> OnText:
        def hear(text: str) -> None:
            if text:
                self.heard.append(text)
                self._chars += len(text)
            if self._chars > MAX_REPLY_CHARS:
                raise ModelUnavailable(f"{self._label} sent more than {MAX_REPLY_CHARS:,} characters without an end")
            if not limit.expired():
                limit.reschedule(min(self._loop.time() + self._policy.gap_s, self._last_s))

        return hear

    @property
    def _label(self) -> str:
        return f"{self._backend.name}={self._backend.model}"

    def _out_of_time(self) -> Completion:
        """A model that was still writing is cut off, as by any other limit of length; all else is a failure."""
        written = estimate_tokens(["".join(self.heard)]) if any(self.heard) else 0
        whole = self._loop.time() >= self._last_s
        if whole and written >= LEAST_TOKENS_PER_S * self._policy.total_s:
            return replace(self.so_far({}), finish=Finish.LENGTH)
        after = "stopped in the middle of its answer" if written else "did not answer in time"
        if whole and written:
            after = f"writes so slowly that its answer had no end after {self._policy.total_s:g} s"
        raise TimedOut(f"{self._label} {after}")

    def so_far(self, extra: dict[str, Any]) -> Completion:
        """What was heard as a reply: it was paid for, so it is counted, as an estimate."""
        text, request = "".join(self.heard), self._request
        written = estimate_tokens([text])
        return Completion(
            text=text,
            backend=self._backend.name,
            model=self._backend.model,
            tokens_in=estimate_request(request.messages),
            tokens_out=min(written, request.max_tokens or written),
            latency_s=self._loop.time() - self._began_s,
            extra={"estimated": True, **extra},
        )


def _plausible(completion: Completion, call: _Call) -> Completion:
    """The reply with its token counts, or with estimates where the server's counts are none."""
    counts = (completion.tokens_in, completion.tokens_out)
    if all(isinstance(count, int) and 0 <= count <= MAX_TOKENS for count in counts):
        return completion
    guess = call.so_far({})
    return replace(
        completion,
        tokens_in=guess.tokens_in,
        tokens_out=estimate_tokens([completion.text]),
        extra={**completion.extra, "estimated": True},
    )
