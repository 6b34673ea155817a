"""Models: which backends the settings give, which of them answer, and with `--deep` how fast."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

from bootstrap.doctor.context import Patient
from bootstrap.doctor.findings import Finding, fault, note, ok, warning
from bootstrap.models import chain_of
from bootstrap.repair import nothing_runs
from core.dialogue import BUILT_IN, Message, ModelRequest
from core.errors import ConfigError, ModelError
from core.masking import Masker
from core.states import Phase
from models.base import BaseModelHandler
from models.chain import how_to_get_one

DEEP_S = 120.0


def models(patient: Patient) -> Iterator[Finding]:
    """Ask each backend whether it is there."""
    try:
        chain = chain_of(patient.settings, nothing_runs)
    except ConfigError as error:
        yield from (
            fault("models", told, "correct model_type, model_name and what belongs to them") for told in error.faults
        )
        return
    masked, there = Masker(patient.settings.secrets), 0
    for backend in chain:
        if backend.name == BUILT_IN:
            yield ok(BUILT_IN, "the built-in engine needs no model, only a sandbox")
            continue
        found = backend.is_available()
        there += found
        name = " ".join(filter(None, (backend.name, backend.model)))
        if not found:
            yield warning(name, masked(backend.detail or "does not answer"), backend.setup or "see docs/models.md")
        elif patient.deep:
            yield _asked(backend, name, masked)
        else:
            yield ok(name, "answers" + (f" ({masked(backend.detail)})" if backend.detail else ""))
    if not there:
        yield warning("models", "none answers; tasks that the built-in engine cannot do wait for one", how_to_get_one())
    elif not patient.deep:
        yield note("models", "no reply was asked for", "cli.py --doctor --deep asks each for one word, and times it")


def _asked(backend: BaseModelHandler, name: str, masked: Masker) -> Finding:
    """One word from a model, with the time it takes; the one thing here that may cost something."""
    began = time.monotonic()
    try:
        reply = asyncio.run(one_word(backend, DEEP_S))
    except (ModelError, TimeoutError) as error:
        return fault(name, masked(f"is there, but gives no reply: {error or 'time is over'}"), "look at its own log")
    return ok(name, f"replied in {time.monotonic() - began:.1f} s ({reply} tokens)")


async def one_word(backend: BaseModelHandler, limit_s: float) -> int:
    """Have a backend say one word and close it; returns the tokens of its reply.

    Raises:
        ModelError: it gave none.
        TimeoutError: it gave none in time.
    """
    request = ModelRequest(
        phase=Phase.REFLECTING, messages=(Message(role="user", text="Answer with the one word: ready"),), max_tokens=16
    )  # fmt: skip
    try:
        async with asyncio.timeout(limit_s):
            return (await backend.generate(request)).tokens_out
    finally:
        await backend.aclose()
