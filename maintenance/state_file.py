"""`state.json`: what the daemon was doing, for people and for the next start; written whole or not at all.

The same text is kept in the database, which is the truth: a file that is missing or damaged is a normal state of things
and costs nothing. It says `clean` only after a stop that finished.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from core.clock import from_text, to_text
from core.states import DaemonState, Status
from core.status import DaemonStatus
from core.tasks import Spent


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """What is summed up over all runs: seconds up, starts, commits, and what models were used for."""

    uptime_s: float
    starts: int
    commits: int
    spent: Spent


@dataclass(frozen=True, slots=True, kw_only=True)
class LastRun:
    """What a state says of the run that wrote it; `saved_at` is when that was, `in_flight` the tasks it had in hand."""

    clean: bool
    saved_at: datetime
    version: str
    pid: int
    uptime_total_s: float
    starts: int
    in_flight: tuple[int, ...]


def to_json(status: DaemonStatus, totals: Totals, now: datetime, *, clean: bool) -> str:
    """The state as text, one value a line."""
    return json.dumps(_snapshot(status, totals, now, clean), indent=2) + "\n"


def _snapshot(status: DaemonStatus, totals: Totals, now: datetime, clean: bool) -> Mapping[str, object]:
    spent, due = totals.spent, status.next_checkpoint_at
    return {
        "version": status.version,
        "pid": status.pid,
        "running": not clean,
        "clean": clean,
        "saved_at": to_text(now),
        "state": str(DaemonState.STOPPED if clean and status.state is DaemonState.DRAINING else status.state),
        "uptime_s": round(status.uptime_s, 1),
        "uptime_total_s": round(totals.uptime_s, 1),
        "starts": totals.starts,
        "queue": dict(status.queue),
        "totals": {
            "done": status.queue.get(Status.DONE, 0),
            "failed": status.queue.get(Status.FAILED, 0),
            "commits": totals.commits,
            "model_calls": spent.model_calls,
            "tokens_in": spent.tokens_in,
            "tokens_out": spent.tokens_out,
            "cost_usd": round(spent.cost_usd, 6),
        },
        "in_flight": [
            {
                "task_id": worker.task_id,
                "worker": worker.name,
                "attempt": worker.attempt,
                "phase": worker.phase,
                "iteration": worker.iteration,
            }
            for worker in status.workers
            if worker.task_id is not None
        ],
        "holds": [
            {"source": hold.source, "reason": hold.reason, "since": to_text(hold.since)} for hold in status.holds
        ],
        "next_checkpoint_at": to_text(due) if due else None,
    }


def from_json(text: str) -> LastRun:
    """Read what `to_json` wrote.

    Raises:
        ValueError: it is nothing of the kind.
    """
    try:
        kept = json.loads(text)
        return LastRun(
            clean=bool(kept["clean"]),
            saved_at=from_text(kept["saved_at"]),
            version=str(kept["version"]),
            pid=int(kept["pid"]),
            uptime_total_s=float(kept["uptime_total_s"]),
            starts=int(kept["starts"]),
            in_flight=tuple(int(task["task_id"]) for task in kept["in_flight"]),
        )
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"{type(error).__name__}: {error}") from error
