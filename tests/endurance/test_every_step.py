"""The daemon dies by SIGKILL at every durable point of a task's life, and nothing is lost, doubled or left behind.

The points are not listed here: one life is recorded, and every point that it passed is a place to die (`mortal` tells
what a point is). `make test` draws some of them by the commit. With NIGHTSHIFT_TESTS=endurance the lines of the log,
which carry nothing that recovery reads, are places too.
"""

from __future__ import annotations

from pathlib import Path

from tests.support import tiers
from tests.support.endurance import Campaign, campaign
from tests.support.lives import Life

FULL = tiers.ENDURANCE


def test_a_daemon_that_dies_at_any_durable_point_goes_on_as_if_it_had_not(tmp_path: Path) -> None:
    def work(house: Campaign) -> None:
        points = [point for point in house.record() if FULL or not point.tells_only]
        assert len(points) > 25, "the recording shows too little to be a life"
        deaths = tiers.drawn([(point, moment) for point in points for moment in point.moments], 8)
        wrong = [fault for point, moment in deaths for fault in house.die_at(point, moment)]
        assert not wrong, "\n".join(wrong)

    campaign(tmp_path, Life(), work)
