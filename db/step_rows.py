"""What the timeline of a task is made of, read from its rows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from core.clock import from_text
from core.dialogue import Finish
from core.states import Outcome, Phase
from db.sqlite import Row


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRow:
    """A finished step. `work` is the digest of the case file after it; test counts only where tests ran."""

    attempt: int
    step_no: int
    iteration: int
    phase: Phase
    outcome: Outcome
    note: str
    data: Mapping[str, Any]
    work: str
    passed: int | None
    failed: int | None
    total: int | None
    started_at: datetime
    ended_at: datetime
    duration_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseTime:
    """One phase of an iteration."""

    phase: Phase
    outcome: Outcome
    duration_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class IterationRow:
    """One try: its phases in order, the last test counts, and what its model calls used.

    `lessons` counts those recalled for the attempt by then; None where that is not known.
    """

    attempt: int
    iteration: int
    phases: tuple[PhaseTime, ...]
    passed: int | None
    failed: int | None
    total: int | None
    tokens_in: int
    tokens_out: int
    cost_usd: float
    duration_s: float
    started_at: datetime
    ended_at: datetime
    lessons: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A model call. `prompt` and `reply` are digests; the prompt's text is JSON: a list of [role, text]."""

    attempt: int
    step_no: int
    call_no: int
    iteration: int
    phase: Phase
    backend: str
    model: str
    tokens_in: int
    tokens_out: int
    cost_usd: float | None
    latency_s: float
    finish: Finish
    prompt: str
    reply: str
    at: datetime


def step_of(row: Row) -> StepRow:
    """Read a row of `steps`."""
    return StepRow(
        attempt=row["attempt"],
        step_no=row["step_no"],
        iteration=row["iteration"],
        phase=Phase(row["phase"]),
        outcome=Outcome(row["outcome"]),
        note=row["note"],
        data=json.loads(row["data"]),
        work=row["work"],
        passed=row["passed"],
        failed=row["failed"],
        total=row["total"],
        started_at=from_text(row["started_at"]),
        ended_at=from_text(row["ended_at"]),
        duration_s=row["duration_s"],
    )


def iteration_of(row: Row) -> IterationRow:
    """Read a row of `iterations`."""
    phases = (
        PhaseTime(phase=Phase(phase), outcome=Outcome(outcome), duration_s=duration_s)
        for phase, outcome, duration_s in json.loads(row["phases"])
    )
    return IterationRow(
        attempt=row["attempt"],
        iteration=row["iteration"],
        phases=tuple(phases),
        passed=row["passed"],
        failed=row["failed"],
        total=row["total"],
        tokens_in=row["tokens_in"],
        tokens_out=row["tokens_out"],
        cost_usd=row["cost_usd"],
        duration_s=row["duration_s"],
        started_at=from_text(row["started_at"]),
        ended_at=from_text(row["ended_at"]),
        lessons=row["lessons"],
    )


def call_of(row: Row) -> Call:
    """Read a row of `replies`."""
    return Call(
        attempt=row["attempt"],
        step_no=row["step_no"],
        call_no=row["call_no"],
        iteration=row["iteration"],
        phase=Phase(row["phase"]),
        backend=row["backend"],
        model=row["model"],
        tokens_in=row["tokens_in"],
        tokens_out=row["tokens_out"],
        cost_usd=row["cost_usd"],
        latency_s=row["latency_s"],
        finish=Finish(row["finish"]),
        prompt=row["prompt"],
        reply=row["reply"],
        at=from_text(row["at"]),
    )
