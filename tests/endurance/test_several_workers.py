"""Several workers on tasks that collide; the daemon dies while it commits, integrates, records or finishes a task.

`test_every_step.py` covers the work of a single worker. Here the other workers are in the middle of their tasks when
the daemon dies, so the course of a run varies. Its end does not: each task ends once, with one commit and its evidence.
With NIGHTSHIFT_TESTS=endurance the daemon dies at every point and moment.
"""

from __future__ import annotations

from pathlib import Path

from tests.support import tiers
from tests.support.crash_run import CrashRun, crash_run
from tests.support.scenarios import Crowd
from tests.support.supervised import Point

FULL = tiers.ENDURANCE


def test_workers_in_the_midst_of_their_own_lose_nothing_when_the_daemon_dies(tmp_path: Path) -> None:
    def work(run: CrashRun) -> None:
        points = [point for point in run.record() if _is_chosen(point)]
        assert {"git", "ref", "db"} <= {point.name.split(":")[0] for point in points}
        wrong = [fault for point in points for moment in _moments(point) for fault in run.die_at(point, moment)]
        assert not wrong, "\n".join(wrong)

    crash_run(tmp_path, Crowd(), work)


def _is_chosen(point: Point) -> bool:
    """Check whether the daemon dies at this point.

    The workers pass a point several times. The daemon dies only at the second pass, which stands for the others.
    """
    if FULL:
        return not point.tells_only
    ends = ("git_commits", "tasks[done", "steps[COMMIT", "concluded")
    return point.number == 2 and (not point.name.startswith("db:") or any(word in point.name for word in ends))


def _moments(point: Point) -> tuple[str, ...]:
    return point.moments if FULL else point.moments[1:]
