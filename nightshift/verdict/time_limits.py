"""Time limits of test runs: the owner's limit, and a shorter limit that is derived from earlier passing runs.

A limit is in seconds of processor time, so a busy machine does not shorten it. A run that waits uses no processor time.
So a run is also cut off after the same number of seconds in which it used no processor time, and in any case after a
multiple of the limit by the clock.

If a suite's tests passed in half a second, there is no need to wait a minute before an endless run is cut off. So a
suite gets ten times the time of its longest passing run. A suite that has not passed yet gets `FIRST_S` seconds, and
more if its tests are long. This changes no verdict: a run that was cut off is repeated alone, with the owner's whole
limit (`SuiteRuns.settle`).
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, replace

from nightshift.core.isolation import RunLimits
from nightshift.core.text.encoding import encode
from nightshift.sandbox import packing
from nightshift.verdict.languages.plan import Plan

CLOCK = 5.0
"""Factor by which a run's limit on the clock exceeds its limit of processor time."""
FIRST_S, SHORTEST_S, FACTOR = 10.0, 5.0, 10.0
LENGTH = 2000
"""Characters of test source that add one second to the limit of a suite that has not passed yet.

A repository's suite is longer than a task's tests, and takes longer.
"""
_MOST = 2000


def clock(limits: RunLimits) -> float:
    """Return the clock seconds that a run may take for each second of its limit of processor time.

    With less than one core, a run may take more.
    """
    return CLOCK / min(1.0, limits.cpus)


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """The processor time and the clock time that a run took, in seconds."""

    cpu_s: float
    wall_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeLimit:
    """The time limit of a run.

    Attributes:
        cpu_s: the limit of processor time, in seconds.
        idle_s: the limit of consecutive seconds without processor time.
        wall_s: the limit of clock time, in seconds.
        is_owner_limit: true if this is the owner's own limit, not a shorter one.
    """

    cpu_s: float
    idle_s: float
    wall_s: float
    is_owner_limit: bool = True

    @classmethod
    def of(cls, limits: RunLimits) -> TimeLimit:
        """Return the limit that the owner set."""
        return cls(cpu_s=limits.cpu_s, idle_s=limits.cpu_s, wall_s=clock(limits) * limits.cpu_s)

    def instructions(self) -> dict[str, float | None]:
        """Return the limit as instructions for the trusted parent process."""
        return {"wall_s": self.wall_s, "cpu_s": self.cpu_s, "idle_s": self.idle_s}

    def at_most(self, cpu_s: float, idle_s: float | None = None) -> TimeLimit:
        """Return this limit with less processor time and idle time.

        The clock limit stays, because the machine may be busy. If `cpu_s` is not below the limit, the limit is returned
        unchanged.

        Args:
            cpu_s: the new limit of processor time.
            idle_s: the new limit of idle time, if it is below the present one; None keeps the present one.
        """
        if cpu_s >= self.cpu_s:
            return self
        idle_s = self.idle_s if idle_s is None else min(self.idle_s, idle_s)
        return replace(self, cpu_s=cpu_s, idle_s=idle_s, is_owner_limit=False)


class SuiteTimes:
    """The longest processor and clock times that passing runs of each suite took.

    A suite is identified by the paths and texts of its test files, or by its command. If a test file changes, the suite
    has no recorded time. The times are lost with this object.
    """

    def __init__(self) -> None:
        self._longest = OrderedDict[str, Taken]()

    def limit(self, planned: Plan, owner_limit: TimeLimit) -> TimeLimit:
        """Return the time limit for the first run of a plan."""
        earlier = self._longest.get(_key(planned))
        if earlier is None:
            return owner_limit.at_most(FIRST_S + sum(len(file.text) for file in planned.files) // LENGTH)
        cpu_s, idle_s = (max(SHORTEST_S, FACTOR * seconds) for seconds in (earlier.cpu_s, earlier.wall_s))
        return owner_limit.at_most(cpu_s, idle_s)

    def learn(self, planned: Plan, taken: Taken) -> None:
        """Record the time of a passing run."""
        key = _key(planned)
        earlier = self._longest.get(key)
        longest = max((taken, earlier or taken), key=lambda usage: usage.cpu_s)
        wall_s = max(taken.wall_s, earlier.wall_s if earlier else 0.0)
        self._longest[key] = Taken(cpu_s=longest.cpu_s, wall_s=wall_s)
        self._longest.move_to_end(key)
        while len(self._longest) > _MOST:
            self._longest.popitem(last=False)


def _key(planned: Plan) -> str:
    files = {file.path: packing.sha256(encode(file.text)) for file in planned.files}
    return packing.digest_of({**files, "": packing.sha256(encode("\0".join(planned.command)))})
