"""The daemon dies at each durable point of a revert.

The revert is made once or not at all, and the ledger records which.
"""

from __future__ import annotations

import http.client
from pathlib import Path

from tests.support import tiers
from tests.support.daemon import until
from tests.support.fork_server import ForkServer
from tests.support.git_repo import git
from tests.support.scenarios import Scenario
from tests.support.supervised import Point, SupervisedDaemon
from tests.support.wire_server import WireServer

FULL = tiers.ENDURANCE
PREPARING = ("file: workspace.../ID", "git: merge-tree")
"""Points that write objects which no reference names yet. A death there leaves the same state as a death before them.
"""


def test_a_revert_is_made_once_whatever_the_daemon_dies_of(tmp_path: Path) -> None:
    scenario = Scenario(right_first=True)
    with (
        ForkServer() as fork_server,
        WireServer(scenario.reply) as server,
        SupervisedDaemon(tmp_path, server, fork_server) as supervised,
    ):
        task = supervised.submit(**scenario.task(1))
        supervised.ended(task)
        wrong = []
        for point in record(supervised, task):
            for moment in point.moments if FULL else point.moments[1:]:
                wrong += [f"{moment} {point}: {fault}" for fault in dies(supervised, task, point, moment)]
        assert not wrong, "\n".join(wrong)
        assert git(supervised.home / "workspace", "fsck", "--strict", "--no-dangling") == ""


def record(supervised: SupervisedDaemon, task: int) -> list[Point]:
    """Record a revert and return its points, without repeated names.

    If several points have the same name, only the first is returned, because another revert may find its objects
    already written.
    """
    supervised.order("record")
    assert supervised.ask("POST", f"/api/task/{task}/revert", {})[0] == 200
    points = [point for point in supervised.points("record") if not point.incidental and not point.tells_only]
    assert supervised.ask("POST", f"/api/task/{task}/revert", {"reapply": True})[0] == 200
    assert {point.name.partition(":")[0] for point in points} >= {"db", "git", "ref"}
    unique = {point.name: point for point in reversed(points) if FULL or not point.name.startswith(PREPARING)}
    return list(unique.values())


def dies(supervised: SupervisedDaemon, task: int, point: Point, moment: str) -> list[str]:
    """Revert a task while the daemon dies at this point, then reapply the change.

    The revert is requested only once. Return each difference from a revert without a death.
    """
    commits, events, deaths = history(supervised), describe(supervised), supervised.deaths
    supervised.order(f"{moment} {point}", point, moment)
    try:
        supervised.daemon.ask("POST", f"/api/task/{task}/revert", {})
        supervised.doomed()
    except (OSError, http.client.HTTPException, ValueError):
        supervised.revive()
    wrong = [] if supervised.deaths == deaths + 1 else [f"it died {supervised.deaths - deaths} times"]
    commits_after = history(supervised)
    by = commits_after[0] if commits_after != commits else None
    until(lambda: (supervised.task(task)["reverted_by"], pending(supervised)) == (by, False))
    wrong += (
        [] if commits_after in (commits, [by, *commits]) else [f"{len(commits_after) - len(commits)} commits were made"]
    )
    wrong += (
        []
        if describe(supervised) == events + (by is not None)
        else [f"it was told {describe(supervised) - events} times"]
    )
    status, answer = supervised.ask("POST", f"/api/task/{task}/revert", {})
    wrong += [] if (status == 200) == (by is None) else [f"{status} {answer}"]
    status, answer = supervised.ask("POST", f"/api/task/{task}/revert", {"reapply": True})
    return [*wrong, *([] if status == 200 else [f"could not be brought back: {answer}"])]


def pending(supervised: SupervisedDaemon) -> bool:
    return bool(supervised.rows("SELECT 1 FROM system_state WHERE key = 'revert_pending'"))


def history(supervised: SupervisedDaemon) -> list[str]:
    return git(supervised.home / "workspace", "rev-list", "main").split("\n")


def describe(supervised: SupervisedDaemon) -> int:
    return int(supervised.rows("SELECT count(*) FROM execution_logs WHERE kind = 'reverted'")[0][0])
