"""Determines when a run has used its time: by processor time first, so that a busy machine does not shorten it.

Part of the trusted parent, which measures from outside. It counts the time of every process of the sandbox except
itself: of living processes from /proc, of ended ones from what the kernel added to the process that waited for them.
Only a child whose parent ignores its end is added to no process; the clock limits still apply to it, and the control
group's own count if the job has one.

A run is ended when it has used its limit of processor time and as much time has passed on the clock, so on several
cores it may use more. A run that waits is ended when it used almost no processor time for a while, or after a multiple
of the limit by the clock. Time in which it wanted a processor and got none does not count for that, up to a limit.
"""
# Importing pathlib would cost every start of the sandbox some milliseconds.
# ruff: noqa: PTH123, PTH208

import os
import resource
import time
from collections.abc import Iterator
from typing import Any

LOOK_S, SHORTEST_S = 1.0, 0.02
"""Seconds between two looks at /proc, at most and at least."""
IDLE = 0.02
"""Share of a processor: a run that uses no more, and is not about to, is waiting."""
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")
BUSIEST = 4.0
"""Multiple of the clock limit that a run may take while other processes keep it from the processor."""
_AT_WORK = "RD"
"""States of a process that has a processor, wants one, or waits for a disk."""


class TimeLimits:
    """The limits of one run, which begins now.

    Args:
        job: `wall_s`, and `cpu_s` and `idle_s`, which are None if only the clock counts.
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
        """Seconds to wait for events before `reached` is called again."""
        now = time.monotonic()
        return max(0.0, (self.began + self._wall_s if self._cpu_s is None else self._look_at) - now)

    def reached(self) -> str:
        """Return the limit that is reached: processor, idle or clock; empty for none."""
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
        """Measure what the run used since the last look, and whether it was working or waiting."""
        used_s, is_at_work = measure_used()
        lasted, spent = now - self._last, max(0.0, used_s - self._before - self._used)
        self._last, self._used = now, self._used + spent
        if is_at_work or spent > IDLE * lasted + _TICK_S:
            self._busy_at = now
        if is_at_work:
            self._lost += max(0.0, lasted - spent)

    def used_s(self) -> float:
        """Return the run's processor time so far; never less than before, even if processes can no longer be seen."""
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
    """Yield state and ticks of each living descendant, with those it waited for; for process 1, of all processes.

    Parents usually come before their children: a child that ends meanwhile is then left out, not counted twice.
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
