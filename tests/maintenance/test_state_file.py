"""`state.json`: its content, and its use at the next start.

A complete example is in `tests/storage/files`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from nightshift.core.events import Event
from nightshift.core.status import DaemonStatus, WorkerStatus
from nightshift.core.tasks.queueing import PauseReason, PauseSource
from nightshift.core.tasks.states import DaemonState, Phase, Status
from nightshift.maintenance.state_file import StateKeeper
from nightshift.storage.db.database import Database
from nightshift.storage.db.state_store import StateStore
from tests.support.clocks import HandClocks

CLOCKS = HandClocks()
BUSY = WorkerStatus(name="worker-1", task_id=7, attempt=2, phase=Phase.CODING, iteration=3)
STATUS = DaemonStatus(
    state=DaemonState.RUNNING, uptime_s=60.25, version="1", pid=42, workers=(BUSY, WorkerStatus(name="worker-2")),
    queue={Status.QUEUED: 3, Status.DONE: 5},
    holds=(PauseReason(source=PauseSource.QUIET, reason="night", since=CLOCKS(), lifted_by="by itself"),),
)  # fmt: skip


@dataclass
class Site:
    folder: Path
    state: StateStore
    events: list[Event] = field(default_factory=list)
    status: DaemonStatus = STATUS

    @property
    def file(self) -> Path:
        return self.folder / "state.json"

    def keeper(self) -> StateKeeper:
        return StateKeeper(self.file, self.state, lambda: self.status, self.events.append, CLOCKS)

    def read_state(self) -> dict[str, object]:
        read: dict[str, object] = json.loads(self.file.read_text())
        return read


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with Database(tmp_path / "a.sqlite") as db:
        yield Site(tmp_path, StateStore(db, clock=CLOCKS))


async def test_it_says_what_was_in_flight_and_why_nothing_is_begun(site: Site) -> None:
    await site.keeper().save()
    state = site.read_state()
    assert state["in_flight"] == [
        {"task_id": 7, "worker": "worker-1", "attempt": 2, "phase": "CODING", "iteration": 3}
    ]  # fmt: skip
    assert state["holds"] == [{"source": "quiet", "reason": "night", "since": "2026-11-02T08:00:00.000000Z"}]
    assert (state["state"], state["pid"], state["running"], state["clean"]) == ("running", 42, True, False)
    assert state["saved_at"] == "2026-11-02T08:00:00.000000Z"


async def test_uptime_and_starts_are_summed_up_over_restarts(site: Site) -> None:
    for run in range(1, 4):
        keeper = site.keeper()
        keeper.last_run()
        await keeper.save()
        site.status = replace(STATUS, uptime_s=100.0)
        await keeper.save(clean=run == 1)
        site.status = STATUS
        assert (site.read_state()["starts"], site.read_state()["uptime_total_s"]) == (run, 100.0 * run)


async def test_a_stop_is_told_from_a_death(site: Site) -> None:
    first = site.keeper()
    assert first.last_run() is None
    await first.save()
    before = site.keeper().last_run()
    assert before is not None
    assert (before.clean, before.starts) == (False, 1)
    site.status = replace(STATUS, state=DaemonState.DRAINING)
    await first.save(clean=True)
    assert site.read_state()["state"] == "stopped"
    before = site.keeper().last_run()
    assert before is not None
    assert before.clean


@pytest.mark.parametrize("damage", ["", "[]", '{"a":' * 3000, None])
async def test_a_missing_or_damaged_file_does_not_matter(site: Site, damage: str | None) -> None:
    await site.keeper().save(clean=True)
    if damage is None:
        site.file.unlink()
    else:
        site.file.write_text(damage)
    before = site.keeper().last_run()
    assert before is not None
    assert (before.clean, before.starts) == (True, 1)
