"""Scenarios other than the plain one: they cover every row of the phase table and every move between statuses.

If an earlier scenario already passed a point, the same line of code made the same write there. So the daemon is killed
only at some new points of each scenario, and only after them: the state before a point equals the state after the
previous point. With NIGHTSHIFT_TESTS=endurance, the daemon is killed at all points of each scenario, both before and
after them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from nightshift.agent.machine import PHASES, TABLE
from nightshift.core.tasks.states import MOVES, Status
from tests.support import tiers
from tests.support.crash_run import CrashRun, crash_run
from tests.support.scenarios import SCENARIOS, Scenario
from tests.support.supervised import Point

FULL = tiers.ENDURANCE
S = Status
NOBODY_MAKES = {
    (S.QUEUED, S.SCHEDULED): "a task in the queue is ready",
    (S.QUEUED, S.BLOCKED): "what a queued task needs is done",
    (S.QUEUED, S.FAILED): "only where its specification cannot be read: tests/queue/test_manager.py",
    (S.SCHEDULED, S.BLOCKED): "what a scheduled task needs is done",
    (S.SCHEDULED, S.FAILED): "what a scheduled task needs is done",
    (S.BLOCKED, S.SCHEDULED): "two conditions in one: tests/queue/test_manager.py",
    (S.WAITING, S.FAILED): "what nobody answers is assumed, or waits on",
    (S.RUNNING, S.CANCELLED): "as to failed: tests/e2e/test_interruptions.py",
    (S.FAILED, S.SCHEDULED): "as from cancelled: tests/queue/test_manager.py",
    (S.FAILED, S.QUEUED): "as from cancelled: tests/queue/test_manager.py",
    (S.CANCELLED, S.SCHEDULED): "as to queued: tests/queue/test_manager.py",
    (S.CANCELLED, S.BLOCKED): "as from failed: this file",
    (S.FAILED, S.DONE): "where the owner integrates a draft: tests/attempt/test_branch_integration.py",
    (S.CANCELLED, S.DONE): "as from failed",
    **{
        (a, b): "by a hub alone: tests/remote/hub/test_dispatcher.py, tests/e2e/test_hub.py"
        for a in Status for b in MOVES[a] if S.SHARED in {a, b}
    },
}  # fmt: skip


def test_every_phase_outcome_and_move_is_passed_through_and_died_at(tmp_path: Path) -> None:
    seen: set[str] = set()
    steps: set[tuple[str, str]] = set()
    moves: set[tuple[str, str]] = set()
    wrong: list[str] = []

    def work(run: CrashRun) -> None:
        points = [point for point in run.record() if FULL or not point.tells_only]
        steps.update((row[3], row[4]) for rows in run.model.facts["steps"] for row in rows)
        for point in _new(points, seen) if type(run.scenario) is not Scenario else ():
            for moment in point.moments if FULL else point.moments[1:]:
                wrong.extend(run.die_at(point, moment))
        seen.update(point.name for point in points)
        moves.update(run.moves)

    _run_all(tmp_path, work)
    assert not wrong, "\n".join(wrong)
    table = {(str(phase), str(outcome)) for phase, outcome in TABLE if phase in PHASES}
    assert steps >= table, f"no scenario passes through {sorted(table - steps)}"
    wanted = {(str(a), str(b)) for a in Status for b in MOVES[a]} - {(str(a), str(b)) for a, b in NOBODY_MAKES}
    assert moves >= wanted, f"no scenario makes the moves {sorted(wanted - moves)}"


def _new(points: list[Point], seen: set[str]) -> list[Point]:
    """Return the points at which the daemon dies: all, or at most five that no earlier scenario passed."""
    if FULL:
        return points
    new = list({point.name: point for point in reversed(points) if point.name not in seen}.values())[::-1]
    return new[:: len(new) // 5 + 1]


def _run_all(folder: Path, work: Callable[[CrashRun], None]) -> None:
    for kind in SCENARIOS:
        crash_run(folder / kind.__name__, kind(), work)
