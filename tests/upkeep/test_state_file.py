"""`state.json` says what the daemon was doing; `tests/files` shows that it is whole."""

import json
from pathlib import Path

from core.states import DaemonState, Phase
from core.status import DaemonStatus, WorkerStatus
from upkeep import state_file


def status() -> DaemonStatus:
    busy = WorkerStatus(name="worker-1", task_id=7, phase=Phase.CODING, iteration=2)
    return DaemonStatus(
        state=DaemonState.RUNNING, uptime_s=61.25, version="1", workers=(busy, WorkerStatus(name="worker-2")),
        queue={"queued": 3},
    )  # fmt: skip


def test_it_says_what_was_in_flight(tmp_path: Path) -> None:
    state_file.save(tmp_path / "state.json", status())
    kept = json.loads((tmp_path / "state.json").read_text())
    assert kept["in_flight"] == [{"task_id": 7, "worker": "worker-1", "phase": "CODING", "iteration": 2}]
    assert (kept["state"], kept["uptime_s"], kept["queue"]) == ("running", 61.2, {"queued": 3})
