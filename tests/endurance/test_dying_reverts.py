"""The daemon dies at each durable point of a revert: it is made once or not at all, and the ledger learns of it."""

from __future__ import annotations

import http.client
from pathlib import Path

from tests.support import tiers
from tests.support.daemon import until
from tests.support.git_repo import git
from tests.support.house import House, Point
from tests.support.lives import Life
from tests.support.nursery import Nursery
from tests.support.wire_server import WireServer

FULL = tiers.ENDURANCE
PREPARING = ("git: hash-object", "git: merge-tree")
"""Objects that nothing names yet: dying there is dying before."""


def test_a_revert_is_made_once_whatever_the_daemon_dies_of(tmp_path: Path) -> None:
    life = Life(right_first=True)
    with Nursery() as nursery, WireServer(life.reply) as server, House(tmp_path, server, nursery) as house:
        task = house.submit(**life.task(1))
        house.ended(task)
        wrong = []
        for point in recorded(house, task):
            for moment in point.moments:
                wrong += [f"{moment} {point}: {fault}" for fault in dies(house, task, point, moment)]
        assert not wrong, "\n".join(wrong)
        assert git(house.home / "workspace", "fsck", "--strict", "--no-dangling") == ""


def recorded(house: House, task: int) -> list[Point]:
    """The points of a revert, each name once."""
    house.order("record")
    assert house.ask("POST", f"/api/task/{task}/revert", {})[0] == 200
    points = [point for point in house.points("record") if not point.incidental and not point.tells_only]
    assert house.ask("POST", f"/api/task/{task}/revert", {"reapply": True})[0] == 200
    assert {point.name.partition(":")[0] for point in points} >= {"db", "git", "ref"}
    unique = {point.name: point for point in points if FULL or not point.name.startswith(PREPARING)}
    return list(unique.values())


def dies(house: House, task: int, point: Point, moment: str) -> list[str]:
    """Revert with a death, which nobody asks for again, and bring it back; what is not as if nobody had died."""
    commits, events, deaths = history(house), told(house), house.deaths
    house.order(f"{moment} {point}", point, moment)
    try:
        house.daemon.ask("POST", f"/api/task/{task}/revert", {})
        house.doomed()
    except (OSError, http.client.HTTPException, ValueError):
        house.revive()
    wrong = [] if house.deaths == deaths + 1 else [f"it died {house.deaths - deaths} times"]
    made = history(house)
    by = made[0] if made != commits else None
    until(lambda: (house.task(task)["reverted_by"], pending(house)) == (by, False))
    wrong += [] if made in (commits, [by, *commits]) else [f"{len(made) - len(commits)} commits were made"]
    wrong += [] if told(house) == events + (by is not None) else [f"it was told {told(house) - events} times"]
    status, answer = house.ask("POST", f"/api/task/{task}/revert", {})
    wrong += [] if (status == 200) == (by is None) else [f"{status} {answer}"]
    status, answer = house.ask("POST", f"/api/task/{task}/revert", {"reapply": True})
    return [*wrong, *([] if status == 200 else [f"could not be brought back: {answer}"])]


def pending(house: House) -> bool:
    return bool(house.rows("SELECT 1 FROM system_state WHERE key = 'revert_pending'"))


def history(house: House) -> list[str]:
    return git(house.home / "workspace", "rev-list", "main").split("\n")


def told(house: House) -> int:
    return int(house.rows("SELECT count(*) FROM execution_logs WHERE kind = 'reverted'")[0][0])
