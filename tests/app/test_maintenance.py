"""The daemon's maintenance jobs, over simulated weeks."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from nightshift.app.maintenance import Maintenance
from nightshift.app.store import StoreServices, open_store
from nightshift.config.load import load_settings
from nightshift.core.events import Kind
from nightshift.core.status import DaemonStatus
from nightshift.core.tasks.states import Ending
from nightshift.core.tasks.task import TaskSpec
from tests.support.clocks import HandClocks

DAY_S = 86400.0
STEP_S = 7200.0
"""Simulated seconds of one step.

Jobs with an interval of a few seconds therefore run once in two simulated hours; otherwise the simulated weeks would
take hours.
"""


class End(Exception):
    """Raised when the simulated time is over."""


@dataclass
class Home:
    """A home whose daemon runs for some simulated days."""

    path: Path
    clocks: HandClocks = field(default_factory=HandClocks)

    def days(self, number: float, *, dies: bool = False) -> Counter[Kind]:
        """Run for a number of simulated days; return the numbers of events by kind."""
        import asyncio

        with ExitStack() as stack:
            settings = load_settings({"state_interval_s": DAY_S}, home=self.path)
            self.store = open_store(settings, stack, self.clocks)
            newest = self.store.events.newest_id()
            asyncio.run(self._live(number, dies))
            self.store.events.catch_up().result()
            return Counter(event.kind for event in self.store.events.after(newest, limit=100_000))

    async def _live(self, number: float, dies: bool) -> None:
        end = self.clocks.monotonic() + number * DAY_S

        async def sleep(seconds: float) -> None:
            await self.maintenance.scheduler.wait_for_jobs()
            if self.clocks.monotonic() >= end:
                raise End
            self.clocks.pass_s(max(seconds, STEP_S))
            self.live(self.store)

        began = self.clocks.monotonic()

        def status() -> DaemonStatus:
            pause = self.store.queue.pause_state()
            up_s = self.clocks.monotonic() - began
            return DaemonStatus(
                state=pause.state, holds=pause.reasons, uptime_s=up_s, version="1",
                next_checkpoint_at=self.maintenance.checkpoint.due_at(),
            )  # fmt: skip

        settings = load_settings({"state_interval_s": DAY_S}, home=self.path)
        self.maintenance = Maintenance(lambda: settings, self.store, status, self.clocks.all(), sleep=sleep)
        await self.maintenance.take_over()
        with pytest.raises(End):
            await self.maintenance.scheduler.run()
        if not dies:
            await self.maintenance.close()

    def live(self, store: StoreServices) -> None:
        """Submit a task in each simulated step and finish it. If a pause prevents that, end the pause."""
        store.queue.submit(TaskSpec(description="x")).result()
        if task := store.queue.claim("w").result():
            store.queue.finish(task.id, task.fence, Ending.COMMITTED).result()
        else:
            store.queue.resume().result()

    def state(self) -> dict[str, Any]:
        read: dict[str, Any] = json.loads((self.path / "state.json").read_text())
        return read


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def test_three_weeks_have_three_checkpoints_and_nothing_else_to_tell(home: Home) -> None:
    counts = home.days(21.5)
    assert counts[Kind.CHECKPOINT] == 3
    assert counts[Kind.STATE_SAVED] == 22 + 1
    assert counts[Kind.WORKER_ERROR] == counts[Kind.CLOCK_JUMPED] == 0
    assert len(list((home.path / "reports").glob("*.md"))) == 3
    state = home.state()
    assert (state["clean"], round(state["uptime_total_s"] / DAY_S, 1)) == (True, 21.5)


def test_restarts_and_deaths_change_nothing_about_the_week(home: Home) -> None:
    counts = Counter[Kind]()
    for day in range(16):
        counts += home.days(1.0, dies=day % 2 == 0)
    assert counts[Kind.CHECKPOINT] == 2
    assert counts[Kind.CLOCK_JUMPED] == counts[Kind.WORKER_ERROR] == 0
    assert (home.state()["starts"], home.state()["state"]) == (16, "running")
