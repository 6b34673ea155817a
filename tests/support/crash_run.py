"""Records the durable points of a scenario, and runs the scenario again with a death at each recorded point."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from tests.support.fork_server import ForkServer
from tests.support.scenarios import Scenario
from tests.support.supervised import Point, SupervisedDaemon
from tests.support.traces import SCORES, Trace, trace
from tests.support.wire_server import WireServer


@dataclass(kw_only=True)
class CrashRun:
    """One scenario under one supervised daemon, run again and again."""

    scenario: Scenario
    supervised: SupervisedDaemon
    model: Trace = field(default_factory=lambda: Trace(facts={}))
    moves: set[tuple[str, str]] = field(default_factory=set)
    numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def record(self) -> list[Point]:
        """Run the scenario several times without a death; return the points that the last two runs share, in order."""
        passed: list[list[Point]] = []
        for _ in range(self.scenario.recorded):
            n = next(self.numbers)
            self.supervised.order(f"run-{n}")
            self.model = self._result(n)
            self.moves |= self.model.moves
            passed.append(self.supervised.points(f"run-{n}"))
        common = set(passed[-1]).intersection(passed[-2])
        return [point for point in passed[-1] if point in common and not point.incidental]

    def die_at(self, point: Point, moment: str) -> list[str]:
        """Run the scenario with a death at a point.

        Return the faults: facts that were lost, doubled or left behind.
        """
        n, deaths = next(self.numbers), self.supervised.deaths
        self.supervised.order(f"run-{n}", point, moment)
        outcome = self._result(n)
        if self.supervised.deaths == deaths:
            self.supervised.doomed()
        wrong = [] if self.supervised.deaths == deaths + 1 else ["it did not die"]
        wrong += [f"orphan {line}" for line in self.supervised.orphans()]
        wrong += differences(self.scenario, self.model, outcome, point, moment)
        self.moves |= outcome.moves
        return [f"{moment} {point}: {fault}" for fault in wrong]

    def record_return(self, first: Point) -> list[Point]:
        """Die after a point, and return the points that the restarted daemon passes until it claims the task again."""
        n = next(self.numbers)
        self.supervised.order(f"run-{n}", first, "after")
        self.supervised.order_next(f"return-{n}")
        self._result(n)
        points = self.supervised.points(f"return-{n}")
        claimed = next(number for number, point in enumerate(points) if "task_claimed" in point.name)
        return [point for point in points[: claimed + 1] if not point.tells_only]

    def die_again(self, first: Point, second: Point, moment: str) -> list[str]:
        """Run the scenario with a death after a point and a second death while the restarted daemon recovers.

        Return the faults: facts that were lost, doubled or left behind.
        """
        n, deaths = next(self.numbers), self.supervised.deaths
        self.supervised.order(f"run-{n}", first, "after")
        self.supervised.order_next(f"return-{n}", second, moment)
        outcome = self._result(n)
        wrong = [] if self.supervised.deaths == deaths + 2 else [f"it died {self.supervised.deaths - deaths} times"]
        wrong += [f"orphan {line}" for line in self.supervised.orphans()]
        wrong += differences(self.scenario, self.model, outcome, first, "after")
        return [f"{moment} {second}, on its return: {fault}" for fault in wrong]

    def _result(self, n: int) -> Trace:
        scores = self.supervised.rows(SCORES)[0]
        ids = self.scenario.run(self.supervised, n)
        return trace(self.supervised, ids, f"job_{n}.py", self.scenario.repo(self.supervised), scores)


def differences(scenario: Scenario, model: Trace, outcome: Trace, point: Point, moment: str) -> list[str]:
    """List the facts that a death changed although they must be the same as in a run without a death.

    There are two exceptions. A reply that had come but was not durable yet may be requested, and paid for, once more. A
    command whose result was not durable yet may run once more.
    """
    ours, theirs = (trace.facts if scenario.exact else trace.ends for trace in (outcome, model))
    wrong = [f"{name}: {ours[name]} instead of {wanted}" for name, wanted in theirs.items() if ours[name] != wanted]
    if not scenario.exact:
        return wrong
    again = {"tool_called": 0, "tool_started": _tool_under_way(point, moment)}
    for kind, most in again.items():
        if not model.logged[kind] <= outcome.logged[kind] <= model.logged[kind] + most:
            wrong.append(f"{kind}: {outcome.logged[kind]} instead of {model.logged[kind]}")
    for what, mine, wanted in (("asked", outcome.asked, model.asked), ("paid", outcome.paid, model.paid)):
        more = mine - wanted
        if more.total() > _under_way(point, moment) or wanted - mine:
            wrong.append(f"{what}: {dict(mine)} instead of {dict(wanted)}")
    return wrong


def _under_way(point: Point, moment: str) -> int:
    """Return how many requests may be repeated because a death at this point lost their replies.

    The owner's actions may happen during a request, so a death at such an action may lose a reply, too.
    """
    replied = moment == "before" and ("replies[" in point.name or "model_called" in point.name)
    return int(replied or point.name.startswith("db: insert tasks["))


def _tool_under_way(point: Point, moment: str) -> int:
    """Return how many commands may be repeated because a death at this point lost their results.

    A command that runs writes files and log lines, so a death at such a write may lose its result.
    """
    while_it_runs = point.tells_only or not point.name.startswith("db: ")
    return int(while_it_runs or (moment == "before" and "insert tool_calls" in point.name))


def crash_run(folder: Path, scenario: Scenario, work: Callable[[CrashRun], None]) -> None:
    """Call `work` with a new supervised daemon, and afterwards check that no process and no fault is left behind."""
    folder.mkdir(parents=True, exist_ok=True)
    scenario.prepare(folder)
    with ForkServer() as fork_server, WireServer(scenario.reply) as server:
        supervised = SupervisedDaemon(
            folder, server, fork_server, WORKER_COUNT=str(scenario.workers), **scenario.settings
        )
        with supervised:
            work(CrashRun(scenario=scenario, supervised=supervised))
        assert supervised.orphans() == []
        repo = scenario.repo(supervised)
        faults = supervised.faults(*({repo} - {supervised.home / "workspace"}))
        assert not faults, faults
