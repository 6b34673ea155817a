"""The overall state of the daemon: one word names the most urgent state, and one line names the other states."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from nightshift.core.status import (
    DaemonStatus,
    ModelStatus,
    OverallState,
    ParkedTasks,
    SpentBudget,
    Trouble,
    WorkerStatus,
)
from nightshift.core.tasks.queueing import PauseReason, PauseSource
from nightshift.core.tasks.states import CircuitState, DaemonState

NOW = datetime(2026, 11, 25, 23, tzinfo=UTC)
ENGINE = ModelStatus(name="repair", model="", available=True, checked_at=NOW)
MODEL = ModelStatus(name="openai", model="m", available=True, checked_at=NOW)
AWAY = replace(MODEL, available=False, detail="connection refused", next_check_at=NOW + timedelta(seconds=30))
UP = DaemonStatus(state=DaemonState.RUNNING, uptime_s=1.0, version="1", models=(MODEL, ENGINE), sandbox="bubblewrap")
BUSY = (WorkerStatus(name="w-1", task_id=1), WorkerStatus(name="w-2", task_id=2), WorkerStatus(name="w-3"))
FULL = Trouble(what="disk of ~/src/shop is full", tasks=1)
AWAY_DISK = Trouble(what="~/mnt/shop, which is not there", tasks=2)
PARKED = ParkedTasks(count=3, first=(4, 5, 6))


def hold(source: PauseSource, until: datetime | None = None, reason: str = "") -> PauseReason:
    return PauseReason(
        source=source, reason=reason, since=NOW, lifted_by=source.lifted_by, label=source.label, until=until
    )


@pytest.mark.parametrize(
    ("facts", "state", "text"),
    [
        ({}, OverallState.IDLE, "Idle"),
        ({"approvals": 3, "workers": BUSY}, OverallState.NEEDS_YOU, "Working 2 · 3 need you"),
        ({"models": (AWAY, ENGINE), "parked": PARKED}, OverallState.NO_MODEL, "No model · 3 tasks wait"),
        ({"models": (AWAY, ENGINE)}, OverallState.IDLE, "Idle · no model"),
        ({"models": (ENGINE,)}, OverallState.IDLE, "Idle"),
        ({"models": (ENGINE,), "parked": PARKED}, OverallState.IDLE, "Idle · 3 tasks wait for a model"),
        ({"holds": (hold(PauseSource.OWNER),)}, OverallState.PAUSED, "Paused by you"),
        (
            {"holds": (hold(PauseSource.QUIET),), "approvals": 2, "models": (AWAY,), "parked": PARKED},
            OverallState.PAUSED, "Paused: quiet hours · 2 need you",
        ),
        ({"budget": SpentBudget(reason="today: 5 USD are used")}, OverallState.PAUSED, "Paused: budget spent"),
        ({"sandbox": "", "sandbox_detail": "no bwrap"}, OverallState.PAUSED, "Paused: no sandbox"),
        ({"state": DaemonState.STARTING, "sandbox": ""}, OverallState.PAUSED, "Starting"),
        ({"troubles": (FULL,)}, OverallState.PAUSED, "1 task waits for: disk of ~/src/shop is full"),
        (
            {"troubles": (AWAY_DISK,), "approvals": 1},
            OverallState.NEEDS_YOU, "1 needs you · 2 tasks wait for: ~/mnt/shop, which is not there",
        ),
        ({"state": DaemonState.DRAINING, "workers": BUSY}, OverallState.PAUSED, "Stopping · 2 running"),
    ],
)  # fmt: skip
def test_the_most_pressing_comes_first_and_what_needs_the_owner_is_never_left_out(
    facts: dict[str, object], state: OverallState, text: str
) -> None:
    overall = replace(UP, **facts).overall  # type: ignore[arg-type]
    assert (overall.state, overall.text) == (state, text)


def test_a_model_that_is_left_alone_after_failures_is_none() -> None:
    held = replace(MODEL, circuit=CircuitState.OPEN, detail="HTTP 500")
    assert replace(UP, models=(held,), parked=PARKED).overall.state is OverallState.NO_MODEL
    assert replace(UP, models=(held, MODEL), parked=PARKED).overall.state is OverallState.IDLE


def test_a_pause_tells_why_and_until_when() -> None:
    seven = NOW + timedelta(hours=7)
    quiet = hold(PauseSource.QUIET, seven, "quiet hours (22:00-07:00)")
    overall = replace(UP, holds=(quiet,)).overall
    assert overall.until == seven
    assert overall.why.startswith("Paused: quiet hours (quiet hours (22:00-07:00)); tasks are started again by itself")
    assert replace(UP, holds=(hold(PauseSource.OWNER), quiet)).overall.until is None
