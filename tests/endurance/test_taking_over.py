"""The daemon dies, and the next daemon dies while it takes over the work.

A task that was running at two deaths in a row is not started again for some seconds, so this test mostly waits. With
NIGHTSHIFT_TESTS=endurance it dies at every point and moment of its return.
"""

from __future__ import annotations

from pathlib import Path

from tests.support import tiers
from tests.support.crash_run import CrashRun, crash_run
from tests.support.scenarios import Scenario


def test_a_daemon_that_dies_again_while_it_takes_over_loses_nothing_either(tmp_path: Path) -> None:
    def work(run: CrashRun) -> None:
        first = next(point for point in run.record() if "steps[CODING" in point.name)
        points = [point for point in run.record_return(first) if not point.incidental]
        assert any("task_recovered" in point.name for point in points)
        moments = [(point, moment) for point in points for moment in point.moments]
        chosen = moments if tiers.ENDURANCE else moments[1::4]
        wrong = [fault for point, moment in chosen for fault in run.die_again(first, point, moment)]
        assert not wrong, "\n".join(wrong)

    crash_run(tmp_path, Scenario(), work)
