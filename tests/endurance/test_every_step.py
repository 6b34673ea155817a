"""The daemon dies by SIGKILL at every durable point of a task's life, and nothing is lost, doubled or left behind.

The points are not listed here: one scenario is recorded, and the daemon dies at every point that the scenario passed
(`crash_injection` defines a point). `make test` chooses a few of these points, the same ones each time. The
daemon dies after a point, which leaves the same state as before the next one. With NIGHTSHIFT_TESTS=endurance it dies
before each point as well, and each line of the log is a point too, although recovery does not read the log.
"""

from __future__ import annotations

from pathlib import Path

from tests.support import tiers
from tests.support.crash_run import CrashRun, crash_run
from tests.support.scenarios import Scenario

FULL = tiers.ENDURANCE


def test_a_daemon_that_dies_at_any_durable_point_goes_on_as_if_it_had_not(tmp_path: Path) -> None:
    def work(run: CrashRun) -> None:
        points = [point for point in run.record() if FULL or not point.tells_only]
        assert len(points) > 25, "the recording shows too little to be a scenario"
        moments = [(point, each) for point in points for each in (point.moments if FULL else point.moments[1:])]
        deaths = tiers.choose(moments, 3)
        wrong = [fault for point, moment in deaths for fault in run.die_at(point, moment)]
        assert not wrong, "\n".join(wrong)

    crash_run(tmp_path, Scenario(), work)
