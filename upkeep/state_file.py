"""`state.json`: what the daemon was doing, for people and for the next start; written whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from core.clock import to_text
from core.status import DaemonStatus
from files.whole import write_whole


def snapshot(status: DaemonStatus) -> Mapping[str, object]:
    """What is worth keeping of a status: state, uptime, counters and the tasks in flight."""
    return {
        "version": status.version,
        "state": status.state.value,
        "uptime_s": round(status.uptime_s, 1),
        "queue": dict(status.queue),
        "in_flight": [
            {"task_id": worker.task_id, "worker": worker.name, "phase": worker.phase, "iteration": worker.iteration}
            for worker in status.workers
            if worker.task_id is not None
        ],
        "next_checkpoint_at": to_text(status.next_checkpoint_at) if status.next_checkpoint_at else None,
    }


def save(path: Path, status: DaemonStatus) -> None:
    """Write the state file."""
    write_whole(path, json.dumps(snapshot(status), indent=2) + "\n")
