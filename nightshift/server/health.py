"""Whether the daemon can do its work, as `/healthz` says it.

What “healthy” means stands in `maintenance.health`; here it is joined by what only a question from outside can show:
that the database answers and takes a write now.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from nightshift.core.errors import StoreError
from nightshift.core.status import OverallState
from nightshift.server.context import AppContext
from nightshift.server.schemas import Answer

PROBE_WALL_S = 2.0


class Health(Answer):
    """Whether the daemon can do its work; shows nothing of any task. `faults` are sentences, empty when it can.

    `state` is the daemon's state as everywhere else: that it is paused or needs its owner is no failure. Null where the
    database cannot be read.
    """

    status: Literal["ok", "failing"]
    state: OverallState | None
    database: bool
    writer: bool
    loop_lag_s: float | None
    faults: list[str]


def look(context: AppContext) -> Health:
    """Read the database, let the writer commit an empty transaction, and look at the workers' signs of life."""
    reads, writes = (
        _works(context.events.newest_id),
        _works(lambda: context.database.write(_nothing).result(PROBE_WALL_S)),
    )
    faults = list(context.faults())
    return Health(
        status="ok" if reads and writes and not faults else "failing",
        state=context.status().overall.state if reads else None,
        database=reads,
        writer=writes,
        loop_lag_s=context.loop_lag_s() if context.loop_lag_s else None,
        faults=faults,
    )


def _works(probe: Callable[[], object]) -> bool:
    try:
        probe()
    except (StoreError, TimeoutError):
        return False
    return True


def _nothing(_: object) -> None:
    """Change nothing; a write job to test whether writing works."""
