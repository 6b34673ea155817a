from __future__ import annotations

from nightshift.core.isolation import RunLimits
from nightshift.verdict.languages.plan import Plan, Role, SuiteFile
from nightshift.verdict.time_limits import FIRST_S, SHORTEST_S, SuiteTimes, Taken, TimeLimit

WHOLE = TimeLimit.of(RunLimits(cpu_s=60))


def plan(text: str = "x", path: str = "test_a.py", command: tuple[str, ...] = ()) -> Plan:
    file = SuiteFile(role=Role.GIVEN, path=path, text=text)
    return Plan(
        files=() if command else (file,), texts={}, removed=(), closure=None, dropped={}, paths=(), command=command,
    )  # fmt: skip


def test_a_suite_without_a_history_has_a_short_first_run_and_a_short_limit_stays() -> None:
    first = SuiteTimes().limit(plan(), WHOLE)
    assert (first.cpu_s, first.idle_s, first.wall_s, first.is_owner_limit) == (FIRST_S, 60, 300, False)
    assert TimeLimit.of(RunLimits(cpu_s=60, cpus=0.25)).wall_s == 1200, "a quarter of a core takes four times as long"
    short = TimeLimit.of(RunLimits(cpu_s=3))
    assert SuiteTimes().limit(plan(), short) is short


def test_a_limit_is_ten_times_the_longest_passing_run_between_the_least_and_the_owners() -> None:
    times = SuiteTimes()
    for cpu_s, wall_s in ((0.9, 3.0), (0.8, 2.0), (0.2, 1.0)):
        times.learn(plan(), Taken(cpu_s=cpu_s, wall_s=wall_s))
    limit = times.limit(plan(), WHOLE)
    assert (limit.cpu_s, limit.idle_s, limit.wall_s, limit.is_owner_limit) == (9.0, 30.0, 300, False)
    times.learn(plan("quick"), Taken(cpu_s=0.01, wall_s=0.02))
    assert times.limit(plan("quick"), WHOLE).cpu_s == SHORTEST_S
    times.learn(plan("slow"), Taken(cpu_s=7.0, wall_s=7.0))
    assert times.limit(plan("slow"), WHOLE) is WHOLE
