"""Lives are recorded, and lived again with a death at each of the points that the recording shows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from tests.support.house import House, Point
from tests.support.lives import Life
from tests.support.nursery import Nursery
from tests.support.traces import SCORES, Trace, trace
from tests.support.wire_server import WireServer


@dataclass(kw_only=True)
class Campaign:
    """One life in one house, lived again and again."""

    life: Life
    house: House
    model: Trace = field(default_factory=lambda: Trace(facts={}))
    moves: set[tuple[str, str]] = field(default_factory=set)
    numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def record(self) -> list[Point]:
        """Live it without a death; the points that all lives have in common, in order."""
        passed: list[list[Point]] = []
        for _ in range(self.life.recorded):
            n = next(self.numbers)
            self.house.order(f"life-{n}")
            self.model = self._lived(n)
            self.moves |= self.model.moves
            passed.append(self.house.points(f"life-{n}"))
        common = set(passed[-1]).intersection(passed[-2])
        return [point for point in passed[-1] if point in common and not point.incidental]

    def die_at(self, point: Point, moment: str) -> list[str]:
        """Live it with a death; what was lost, doubled or left behind."""
        n, deaths = next(self.numbers), self.house.deaths
        self.house.order(f"life-{n}", point, moment)
        lived = self._lived(n)
        if self.house.deaths == deaths:
            self.house.doomed()
        wrong = [] if self.house.deaths == deaths + 1 else ["it did not die"]
        wrong += [f"orphan {line}" for line in self.house.orphans()]
        wrong += differences(self.life, self.model, lived, point, moment)
        self.moves |= lived.moves
        return [f"{moment} {point}: {fault}" for fault in wrong]

    def record_return(self, first: Point) -> list[Point]:
        """Die after a point; what the next daemon passes until it claims the task again."""
        n = next(self.numbers)
        self.house.order(f"life-{n}", first, "after")
        self.house.order_next(f"return-{n}")
        self._lived(n)
        points = self.house.points(f"return-{n}")
        claimed = next(number for number, point in enumerate(points) if "task_claimed" in point.name)
        return [point for point in points[: claimed + 1] if not point.tells_only]

    def die_again(self, first: Point, second: Point, moment: str) -> list[str]:
        """Die after a point, and again while the next daemon takes over; what was lost, doubled or left behind."""
        n, deaths = next(self.numbers), self.house.deaths
        self.house.order(f"life-{n}", first, "after")
        self.house.order_next(f"return-{n}", second, moment)
        lived = self._lived(n)
        wrong = [] if self.house.deaths == deaths + 2 else [f"it died {self.house.deaths - deaths} times"]
        wrong += [f"orphan {line}" for line in self.house.orphans()]
        wrong += differences(self.life, self.model, lived, first, "after")
        return [f"{moment} {second}, on its return: {fault}" for fault in wrong]

    def _lived(self, n: int) -> Trace:
        scores = self.house.rows(SCORES)[0]
        ids = self.life.live(self.house, n)
        return trace(self.house, ids, f"job_{n}.py", self.life.repo(self.house), scores)


def differences(life: Life, model: Trace, lived: Trace, point: Point, moment: str) -> list[str]:
    """What a life with a death may not have otherwise than one without.

    A reply that came and was not durable yet is the one thing that may be asked for, and paid, once more.
    """
    ours, theirs = (trace.facts if life.exact else trace.ends for trace in (lived, model))
    wrong = [f"{name}: {ours[name]} instead of {wanted}" for name, wanted in theirs.items() if ours[name] != wanted]
    if not life.exact:
        return wrong
    for what, mine, wanted in (("asked", lived.asked, model.asked), ("paid", lived.paid, model.paid)):
        more = mine - wanted
        if more.total() > _under_way(point, moment) or wanted - mine:
            wrong.append(f"{what}: {dict(mine)} instead of {dict(wanted)}")
    return wrong


def _under_way(point: Point, moment: str) -> int:
    """How many requests may be without a stored reply there; what its owner does may fall into the midst of one."""
    replied = moment == "before" and ("replies[" in point.name or "model_called" in point.name)
    return int(replied or point.name.startswith("db: insert tasks["))


def campaign(folder: Path, life: Life, work: Callable[[Campaign], None]) -> None:
    """Let `work` go on in a new house, and see that nothing is left in it at the end."""
    folder.mkdir(parents=True, exist_ok=True)
    life.prepare(folder)
    with Nursery() as nursery, WireServer(life.reply) as server:
        house = House(folder, server, nursery, WORKER_COUNT=str(life.workers), **life.settings)
        with house:
            work(Campaign(life=life, house=house))
        assert house.orphans() == []
        repo = life.repo(house)
        faults = house.faults(*({repo} - {house.home / "workspace"}))
        assert not faults, faults
