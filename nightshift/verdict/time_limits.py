"""How long a run of tests may take: the owner's limit, and a shorter one that earlier passing runs give reason for.

A limit is seconds of processor time, so that a busy machine takes nothing from a run. What waits uses none: it is cut
off when it used none for as long, and after some times as much by the clock whatever it does.

Whoever's tests passed in half a second does not need a minute to be found endless. So the first run of a suite gets ten
times what its longest passing run took; where none is known, `FIRST_S`, and more for long tests. That costs nobody a
verdict: what a limit cut off runs again alone, with the owner's whole limit (`verdict.cut_off`).
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
"""A run may take so many times its limit of processor time by the clock."""
FIRST_S, SHORTEST_S, FACTOR = 10.0, 5.0, 10.0
LENGTH = 2000
"""For so many characters of tests the first run gets a second more: a repository's suite takes longer than a task's."""
EVERY_S = 30.0
_MOST = 2000
_VERSION, _WHAT = 1, "what suites took"


def clock(limits: RunLimits) -> float:
    """How many seconds by the clock a second of processor time may take; more on less than a core."""
    return CLOCK / min(1.0, limits.cpus)


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """The time of a run, in seconds of processor time and by the clock."""

    cpu_s: float
    wall_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeLimit:
    """The limit of a run. `learned` is the longest passing run of the suite, where that made it shorter.

    `is_owner_limit` tells that it is the owner's limit.
    """

    cpu_s: float
    idle_s: float
    wall_s: float
    is_owner_limit: bool = True
    learned: Taken | None = None

    @classmethod
    def of(cls, limits: RunLimits) -> TimeLimit:
        """The owner's limit."""
        return cls(cpu_s=limits.cpu_s, idle_s=limits.cpu_s, wall_s=clock(limits) * limits.cpu_s)

    def at_most(self, cpu_s: float, learned: Taken | None = None, idle_s: float | None = None) -> TimeLimit:
        """A shorter limit of processor time, and of waiting; the clock stays, for the machine may be busy."""
        if cpu_s >= self.cpu_s:
            return self
        idle_s = self.idle_s if idle_s is None else min(self.idle_s, idle_s)
        return replace(self, cpu_s=cpu_s, idle_s=idle_s, is_owner_limit=False, learned=learned)


class SuiteTimes:
    """The time of the longest passing run of each suite; in a file that may be lost, where one is named.

    A suite is its test files with their texts, or a command: other tests in files of these names have no history.
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
        """Note a passing run. May write the file if that changes a limit by much: call it in a thread.

        A suite that is over at once changes none, so most tasks write nothing. All suites are written together, so
        they are written at most every `EVERY_S` seconds: on a busy machine the suite of every task takes its time.
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
    """The file: the digest of a suite to what it took."""

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
