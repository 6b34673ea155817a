"""How sandboxed work stands back for its owner's: a higher nice value, the lowest of the best I/O, and lighter groups.

The daemon itself stays as it is: its loop renews leases and answers its owner. Nice values count within one control
group only, so where jobs have groups of their own these weigh less as well, by the kernel's own measure: a nice level
is a factor of 1.25 (`sched_prio_to_weight`). The idle class of I/O is not used: on a busy disk it may starve a job
until its time is over, and that would look like a failing test.
"""

from __future__ import annotations

NICE_STEP = 1.25
LOWEST_IO = ("ionice", "-t", "-c", "2", "-n", "7")


def words(nice: int) -> tuple[str, ...]:
    """The words before a command that is to stand back; none for level 0, which is everybody's.

    Args:
        nice: levels below the daemon's own, 0 to 19.
    """
    return ("nice", "-n", str(nice), *LOWEST_IO) if nice else ()


def weight(nice: int, usual: int, least: int = 1) -> int:
    """A group's weight where `usual` is that of a group that stands back for nobody."""
    return max(least, round(usual / NICE_STEP**nice))
