"""One call to one backend, under three time-outs; a reply that breaks off is still accounted for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from core.dialogue import Completion, ModelRequest
from core.errors import ModelUnavailable
from models.base import BaseModelHandler, estimate_request, estimate_tokens
from models.policy import CallPolicy

Charge = Callable[[Completion], None]
"""Takes what was paid for; a reply that broke off has `lost` in its `extra`."""


async def call_once(
    backend: BaseModelHandler, request: ModelRequest, policy: CallPolicy, on_lost: Charge
) -> Completion:
    """Ask once.

    Raises:
        ModelUnavailable: also when a time-out is over.
        ModelRefused: the backend will not answer this.
    """
    heard: list[str] = []
    began = asyncio.get_running_loop().time()
    try:
        return await _timed(backend, request, policy, heard)
    except BaseException:
        if any(heard):
            on_lost(_lost(backend, request, "".join(heard), asyncio.get_running_loop().time() - began))
        raise


async def _timed(backend: BaseModelHandler, request: ModelRequest, policy: CallPolicy, heard: list[str]) -> Completion:
    """Each sign of life moves the deadline, but never past the total."""
    loop = asyncio.get_running_loop()
    last = loop.time() + policy.total_s
    first_s = policy.first_text_s if backend.streams else policy.total_s
    try:
        async with asyncio.timeout(min(first_s, policy.total_s)) as limit:

            def hear(text: str) -> None:
                heard.append(text)
                if not limit.expired():
                    limit.reschedule(min(loop.time() + policy.gap_s, last))

            return await backend.generate(request, on_text=hear)
    except TimeoutError:
        after = "stopped in the middle of its answer" if any(heard) else "did not answer in time"
        raise ModelUnavailable(f"{backend.name}={backend.model} {after}") from None


def _lost(backend: BaseModelHandler, request: ModelRequest, text: str, latency_s: float) -> Completion:
    """A reply that broke off: it was paid for, so it is counted, as an estimate."""
    return Completion(
        text=text,
        backend=backend.name,
        model=backend.model,
        tokens_in=estimate_request(request.messages),
        tokens_out=estimate_tokens([text]),
        latency_s=latency_s,
        extra={"estimated": True, "lost": True},
    )
