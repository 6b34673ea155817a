"""Time limits of test runs: the owner's limit, and a shorter one that earlier passing runs justify.

A limit is in seconds of processor time, so a busy machine takes nothing from a run. A waiting run uses none: it is cut
off after the same number of seconds without any processor time, and in any case after a multiple of the limit by the
clock.

If a suite's tests passed in half a second, it does not take a minute to find them endless. So the first run of a suite
gets ten times the time of its longest passing run; without such a run it gets `FIRST_S`, and more for long tests. This
changes no verdict: a run that was cut off is repeated alone, with the owner's whole limit (`SuiteRuns.settle`).
"""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from nightshift.core.isolation import RunLimits
from nightshift.core.text.encoding import encode
from nightshift.sandbox import packing
from nightshift.verdict import kept
from nightshift.verdict.languages.plan import Plan

CLOCK = 5.0
"""Factor from a run's limit of processor time to its limit by the clock."""
FIRST_S, SHORTEST_S, FACTOR = 10.0, 5.0, 10.0
LENGTH = 2000
"""Characters of tests that add one second to the first run's limit, because a repository's suite takes longer than a
task's.
"""
EVERY_S = 30.0
_MOST = 2000
_VERSION, _WHAT = 1, "what suites took"


def clock(limits: RunLimits) -> float:
    """Return the clock seconds that one second of processor time may take; more with less than one core."""
    return CLOCK / min(1.0, limits.cpus)


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """The time that a run took: processor time and clock time, in seconds."""

    cpu_s: float
    wall_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeLimit:
    """The time limit of a run. `learned` is the suite's longest passing run if that run shortened the limit.

    `is_owner_limit` is true for the owner's own limit.
    """

    cpu_s: float
    idle_s: float
    wall_s: float
    is_owner_limit: bool = True
    learned: Taken | None = None

    @classmethod
    def of(cls, limits: RunLimits) -> TimeLimit:
        """Return the owner's limit."""
        return cls(cpu_s=limits.cpu_s, idle_s=limits.cpu_s, wall_s=clock(limits) * limits.cpu_s)

    def at_most(self, cpu_s: float, learned: Taken | None = None, idle_s: float | None = None) -> TimeLimit:
        """Return a limit with less processor and idle time. The clock limit stays, because the machine may be busy."""
        if cpu_s >= self.cpu_s:
            return self
        idle_s = self.idle_s if idle_s is None else min(self.idle_s, idle_s)
        return replace(self, cpu_s=cpu_s, idle_s=idle_s, is_owner_limit=False, learned=learned)


class SuiteTimes:
    """The time of the longest passing run of each suite, optionally stored in a file that may be lost.

    A suite is its test files with their texts, or a command. Other tests in files of the same names have no history.
    """

    def __init__(self, path: Path | None = None, now: Callable[[], float] = time.monotonic) -> None:
        self._path, self._now = path, now
        self._due, self._write_at = False, -math.inf
        self._longest = OrderedDict[str, Taken](_read(path) if path else ())

    def limit(self, planned: Plan, owner_limit: TimeLimit) -> TimeLimit:
        """Return the limit for the first run of a suite."""
        earlier = self._longest.get(_key(planned))
        if earlier is None:
            return owner_limit.at_most(FIRST_S + sum(len(file.text) for file in planned.files) // LENGTH)
        cpu_s, idle_s = (max(SHORTEST_S, FACTOR * seconds) for seconds in (earlier.cpu_s, earlier.wall_s))
        return owner_limit.at_most(cpu_s, earlier, idle_s)

    def learn(self, planned: Plan, taken: Taken) -> None:
        """Record the time of a passing run. Call it in a thread: it writes the file if a limit changes by much.

        A suite that ends at once changes no limit, so most tasks write nothing. All suites are written together, at
        most every `EVERY_S` seconds: on a busy machine the suite of every task takes its time.
        """
        key = _key(planned)
        earlier = self._longest.get(key)
        longest = max((taken, earlier or taken), key=lambda usage: usage.cpu_s)
        wall_s = max(taken.wall_s, earlier.wall_s if earlier else 0.0)
        self._longest[key] = Taken(cpu_s=longest.cpu_s, wall_s=wall_s)
        self._longest.move_to_end(key)
        while len(self._longest) > _MOST:
            self._longest.popitem(last=False)
        before = earlier or Taken(cpu_s=0.0, wall_s=0.0)
        self._due |= FACTOR * max(taken.cpu_s - before.cpu_s, taken.wall_s - before.wall_s) > SHORTEST_S
        if self._path and self._due and self._now() >= self._write_at:
            self._due, self._write_at = False, self._now() + EVERY_S
            _write(self._path, self._longest)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    """The content of the file: the time of each suite, by the suite's digest."""

    version: int
    suites: Mapping[str, Taken]


def _key(planned: Plan) -> str:
    files = {file.path: packing.sha256(encode(file.text)) for file in planned.files}
    return packing.digest_of({**files, "": packing.sha256(encode("\0".join(planned.command)))})


def _read(path: Path) -> Iterable[tuple[str, Taken]]:
    stored = kept.read(path, _Kept, _WHAT)
    rows = stored.suites.items() if stored and stored.version == _VERSION else ()
    return [(key, taken) for key, taken in rows if 0 <= taken.cpu_s < math.inf and 0 <= taken.wall_s < math.inf]


def _write(path: Path, longest: OrderedDict[str, Taken]) -> None:
    rows = {key: {"cpu_s": round(taken.cpu_s, 2), "wall_s": round(taken.wall_s, 2)} for key, taken in longest.items()}
    kept.write(path, {"version": _VERSION, "suites": rows}, _WHAT)
