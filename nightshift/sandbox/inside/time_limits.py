"""Decides when a run has used its time, mainly by processor time, so that a busy machine does not shorten the run.

This module is part of the trusted parent, which measures from outside the tested processes. The time of every process
of the sandbox except the trusted parent is counted. For living processes it is read from /proc. The time of an ended
process is added by the kernel to the process that waited for it. If a parent ignores the end of a child, the child's
time is added to no process. Such a child is still subject to the limits by the clock, and to the count of the control
group, if the job has one.

A run is ended when it has used its limit of processor time and at least as much time has passed on the clock. So on
several cores it may use more processor time. A run that waits is ended when it has used almost no processor time for a
while, or when a multiple of the limit has passed on the clock. Time in which the run wanted a processor and got none
does not count as waiting, up to a limit.
"""
# Importing pathlib would cost every start of the sandbox some milliseconds.
# ruff: noqa: PTH123, PTH208

import os
import resource
import time
from collections.abc import Iterator
from typing import Any

LOOK_S, SHORTEST_S = 1.0, 0.02
"""Maximum and minimum seconds between two looks at /proc."""
IDLE = 0.02
"""Share of a processor. A run that uses no more than this, and has no process that could run, is waiting."""
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")
BUSIEST = 4.0
"""Multiple of the clock limit after which a run is ended even if other processes kept it from the processor."""
_AT_WORK = "RD"
"""States of a process that is running, could run, or waits for a disk."""


class TimeLimits:
    """The time limits of one run, which begins when this object is created.

    Args:
        job: `wall_s`, `cpu_s` and `idle_s`. The last two are None if only the clock counts.
    """

    def __init__(self, job: dict[str, Any]) -> None:
        self._wall_s: float = job["wall_s"]
        self._cpu_s: float | None = job.get("cpu_s")
        self._idle_s: float | None = job.get("idle_s")
        self.began = self._busy_at = self._look_at = time.monotonic()
        self._before, self._used, self._last = measure_used()[0], 0.0, self.began
        self._lost = 0.0

    @property
    def wait_s(self) -> float:
        """Seconds until `reached` must be called again, if no event comes before."""
        now = time.monotonic()
        return max(0.0, (self.began + self._wall_s if self._cpu_s is None else self._look_at) - now)

    def reached(self) -> str:
        """Return the limit that was reached: `processor`, `idle` or `clock`; empty if none was."""
        now = time.monotonic()
        if self._cpu_s is None or self._idle_s is None:
            return "clock" if now - self.began >= self._wall_s else ""
        if now < self._look_at:
            return ""
        passed = now - self.began
        self._look(now)
        if self._used >= self._cpu_s and passed >= self._cpu_s:
            return "processor"
        if now - self._busy_at >= self._idle_s:
            return "idle"
        if passed - self._lost >= self._wall_s or passed >= BUSIEST * self._wall_s:
            return "clock"
        busy_s = max(self._cpu_s - passed, self._cpu_s - self._used)
        next_s = min(busy_s, self._idle_s - (now - self._busy_at), self._wall_s - (passed - self._lost))
        self._look_at = now + min(LOOK_S, max(SHORTEST_S, next_s))
        return ""

    def _look(self, now: float) -> None:
        """Measure what the run has used since the last look, and whether it was working or waiting."""
        used_s, is_at_work = measure_used()
        lasted, spent = now - self._last, max(0.0, used_s - self._before - self._used)
        self._last, self._used = now, self._used + spent
        if is_at_work or spent > IDLE * lasted + _TICK_S:
            self._busy_at = now
        if is_at_work:
            self._lost += max(0.0, lasted - spent)

    def used_s(self) -> float:
        """Return the processor time of the run so far. It never decreases, even if processes can no longer be seen."""
        return max(self._used, measure_used()[0] - self._before)


def measure_used() -> tuple[float, bool]:
    """Return the processor time of this process's descendants, dead or alive, and whether one of them is working."""
    gone = resource.getrusage(resource.RUSAGE_CHILDREN)
    ticks, is_at_work = 0, False
    for state, spent in _living():
        ticks += spent
        is_at_work |= state in _AT_WORK
    return gone.ru_utime + gone.ru_stime + ticks * _TICK_S, is_at_work


def _living() -> Iterator[tuple[str, int]]:
    """Yield the state of each living descendant, and its processor time in ticks.

    For process 1, all other processes count as descendants. The ticks include those of children for which the process
    has waited. Parents usually come before their children. So a child that ends during this call is left out, rather
    than counted twice.
    """
    me = os.getpid()
    mine = {me}
    for pid in sorted(int(name) for name in os.listdir("/proc") if name.isdigit()):
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                status = file.read()
        except (FileNotFoundError, ProcessLookupError):
            continue
        fields = status[status.rindex(b")") + 2 :].split()
        if pid != me and (me == 1 or not mine.isdisjoint(map(int, (fields[1], fields[3])))):
            mine.add(pid)
            yield fields[0].decode(), sum(map(int, fields[11:15]))
