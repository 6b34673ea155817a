"""Checks of the models and the sandbox."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from nightshift.app.acp import nowhere
from nightshift.app.doctor.context import CheckContext, Finding, fault, note, ok, warning
from nightshift.app.doctor.running import read_status
from nightshift.app.models import chain_of
from nightshift.app.suites import find_sandbox
from nightshift.core.built_in import BUILT_IN
from nightshift.core.dialogue import Message, ModelRequest
from nightshift.core.errors import ConfigError, ModelError, SandboxError
from nightshift.core.program import format_command
from nightshift.core.tasks.states import Phase
from nightshift.core.text.formats import duration
from nightshift.core.text.masking import Masker
from nightshift.models.base import BaseModelHandler
from nightshift.models.chain import how_to_get_one
from nightshift.sandbox import remedy
from nightshift.sandbox.runtime import open_runtime

DEEP_S = 120.0


def check_models(context: CheckContext) -> Iterator[Finding]:
    """Check which models are available. If a daemon runs, report its own result, because its environment may differ."""
    status = None if context.deep else read_status(context)
    if status is not None and "models" in status:
        yield from _check_models_of_daemon(status["models"])
        return
    try:
        chain = chain_of(context.settings, nowhere)
    except ConfigError as error:
        yield from (fault("models", text, "correct model_type, model_name and their settings") for text in error.faults)
        return
    masked, there = Masker(context.settings.secrets), 0
    for backend in chain:
        if backend.name == BUILT_IN:
            yield ok(BUILT_IN, "the built-in engine needs no model, only a sandbox")
            continue
        is_available = backend.is_available()
        there += is_available
        name = " ".join(filter(None, (backend.name, backend.model)))
        if not is_available:
            yield warning(
                name, masked(backend.detail or "does not answer"), backend.setup or "see docs/manual/models.md"
            )
        elif context.deep:
            yield _ask(backend, name, masked)
        else:
            yield ok(name, "answers" + (f" ({masked(backend.detail)})" if backend.detail else ""))
        if is_available and backend.advice:
            yield warning(
                name, masked(backend.advice), "change the model settings accordingly, or see docs/manual/models.md"
            )
    if not there or not context.deep:
        yield _sum_up(is_one_there=there > 0)


def _sum_up(*, is_one_there: bool) -> Finding:
    if is_one_there:
        return note("models", "replies were not tested", f"{format_command('doctor --deep')} asks each for one word")
    return warning("models", "none answers; tasks that the built-in engine cannot do must wait", how_to_get_one())


def _check_models_of_daemon(models: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    for model in models:
        name = " ".join(filter(None, (model["name"], model["model"])))
        detail = f" ({model['detail']})" if model["detail"] else ""
        if model["available"]:
            yield ok(name, f"answers the daemon{detail}")
        elif model["name"] != BUILT_IN:
            yield warning(name, f"does not answer the daemon{detail}", "see docs/manual/models.md")
    yield _sum_up(is_one_there=any(model["available"] and model["name"] != BUILT_IN for model in models))


def _ask(backend: BaseModelHandler, name: str, masked: Masker) -> Finding:
    """Ask a model for one word and measure the time. This is the only check that may cost money."""
    began = time.monotonic()
    try:
        reply = asyncio.run(one_word(backend, DEEP_S))
    except (ModelError, TimeoutError) as error:
        return fault(name, masked(f"answers, but gave no reply: {error or 'timeout'}"), "check its own log")
    return ok(name, f"replied in {duration(time.monotonic() - began)} ({reply} tokens)")


async def one_word(backend: BaseModelHandler, limit_s: float) -> int:
    """Have a backend reply with one word and close it; return the number of tokens of its reply.

    Raises:
        ModelError: the backend gave no reply.
        TimeoutError: the backend gave no reply in time.
    """
    request = ModelRequest(
        phase=Phase.REFLECTING, messages=(Message(role="user", text="Answer with the one word: ready"),), max_tokens=16
    )  # fmt: skip
    try:
        async with asyncio.timeout(limit_s):
            return (await backend.generate(request)).tokens_out
    finally:
        await backend.aclose()


def check_sandbox(context: CheckContext) -> Iterator[Finding]:
    """Check the sandboxes that the settings allow, as the daemon does at its start."""
    settings = context.settings
    try:
        runtime = open_runtime(settings.runner_dir)
    except SandboxError as error:
        yield fault("libraries", str(error), "make setup")
        return
    with tempfile.TemporaryDirectory(prefix="nightshift-doctor-") as folder:
        choice = asyncio.run(find_sandbox(settings, runtime, Path(folder)))
    lines = choice.report.splitlines()
    if choice.sandbox is None:
        yield fault("sandbox", "nothing may be executed, so no task is started", remedy())
    else:
        yield from _describe_choice(choice.sandbox.name, lines)
    yield from _findings(lines, held=choice.sandbox is not None)


def _describe_choice(name: str, lines: list[str]) -> Iterator[Finding]:
    if name == "process":
        yield warning("sandbox", "process: jobs are not isolated", "set sandbox: auto, and install bubblewrap")
    else:
        yield ok("sandbox", f"{name} holds")
    if any("without control groups" in line for line in lines):
        mend = "start the daemon as a systemd user service, or delegate a control group"
        yield warning("limits", next(line for line in lines if "without control groups" in line), mend)
    else:
        yield ok("limits", "memory, processes and time of a whole job are limited")


def _findings(lines: list[str], *, held: bool) -> Iterator[Finding]:
    tried = [line.strip() for line in lines if line.startswith("  ")]
    bad = [line for line in tried if "FAILED" in line]
    for line in bad:
        grade = warning if held else fault
        yield grade(
            "self-test",
            line,
            "docs/internals/security.md says what each means; often a kernel setting or a package is missing",
        )
    if tried and not bad:
        yield ok("self-test", f"{len(tried)} escape attempts blocked")
    for line in (line for line in lines if not line.startswith("  ") and ": " in line and not held):
        yield fault("tried", line, remedy())
