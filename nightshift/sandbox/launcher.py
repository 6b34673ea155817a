"""The prefix of every job's command line: group, priority, limits of each process, and an unprivileged user.

The order matters. A process enters its control group and takes its limits while it still may, and drops root last,
before anything that touches untrusted code. Started by root, bubblewrap alone would leave the job root in the kernel's
eyes, and what /proc/sys holds would be writable from inside.

Sandboxed work stands back for its owner's: a higher nice value, the lowest of the best I/O, and lighter groups. The
daemon itself stays as it is: its loop renews leases and answers its owner. Nice values count within one control group
only, so where jobs have groups of their own these weigh less as well, by the kernel's own measure: a nice level is a
factor of 1.25 (`sched_prio_to_weight`). The idle class of I/O is not used: on a busy disk it may starve a job until its
time is over, and that would look like a failing test.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Sequence
from pathlib import Path

from nightshift.core.isolation import SandboxLimits

JOB_UID = 64321
"""User and group of jobs when the daemon runs as root; no other process uses it."""

ENV = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin"}
"""The launcher's environment. A job can read that of bubblewrap, so nothing of the daemon's may be in it."""

_DROP = (
    "setpriv", f"--reuid={JOB_UID}", f"--regid={JOB_UID}", "--clear-groups", "--inh-caps=-all", "--bounding-set=-all",
    "--no-new-privs", "--",
)  # fmt: skip

FIXED = {
    "core": (resource.RLIMIT_CORE, 0),
    "nofile": (resource.RLIMIT_NOFILE, 256),
    "memlock": (resource.RLIMIT_MEMLOCK, 1 << 16),
    "msgqueue": (resource.RLIMIT_MSGQUEUE, 0),
}
"""The limits that are the same for every job: `prlimit`'s name to the kernel's number and the value."""
NICE_STEP = 1.25
LOWEST_IO = ("ionice", "-t", "-c", "2", "-n", "7")


def job_uid() -> int:
    """The user that jobs run as."""
    return JOB_UID if os.geteuid() == 0 else os.geteuid()


def drop_root() -> tuple[str, ...]:
    """The words that become the jobs' user; none when the daemon is not root."""
    return _DROP if os.geteuid() == 0 else ()


def prefix(limits: SandboxLimits, join_files: Sequence[Path], *, address_space: bool, nice: int = 0) -> list[str]:
    """The words before the command.

    Args:
        limits: of the job.
        join_files: control files to enter the job's group.
        address_space: bound the memory of each process too, where no group bounds that of all.
        nice: how many levels it stands back (`sandbox.launcher`).
    """
    enter = "".join(f"echo $$ > '{file}' && " for file in join_files)
    group = ["/bin/sh", "-c", f'{enter}exec "$@"', "sh"] if join_files else []
    return [*group, *priority(nice), *rlimits(limits, address_space=address_space), *drop_root()]


def each_process(limits: SandboxLimits) -> dict[str, tuple[int, int]]:
    """The limits of every single process of a job: `prlimit`'s name to the kernel's number and the value.

    Where `/work` and `/tmp` are file systems of their own, a file may be as large as the larger of them.
    """
    return {
        **FIXED,
        "fsize": (resource.RLIMIT_FSIZE, max(limits.work_mb, limits.tmp_mb) << 20),
        "cpu": (resource.RLIMIT_CPU, int(min(limits.cpu_s, limits.wall_s * max(1.0, limits.cpus))) + 5),
    }


def rlimits(limits: SandboxLimits, *, address_space: bool) -> list[str]:
    """The words that set limits of single processes; a limit that is lower already stays."""
    values = settable(limits, address_space=address_space)
    return ["prlimit", *(f"--{name}={value}" for name, (_, value) in values.items()), "--"]


def settable(limits: SandboxLimits, *, address_space: bool) -> dict[str, tuple[int, int]]:
    """As `each_process`, with none above what this process may set."""
    wanted = each_process(limits)
    if address_space:
        wanted["as"] = (resource.RLIMIT_AS, (limits.memory_mb + limits.reserved_mb) << 20)
        wanted["data"] = (resource.RLIMIT_DATA, limits.memory_mb << 20)  # what is reserved alone does not count
    return {name: (which, _at_most(which, value)) for name, (which, value) in wanted.items()}


def _at_most(which: int, value: int) -> int:
    hard = resource.getrlimit(which)[1]
    return value if hard == resource.RLIM_INFINITY else min(value, hard)


def priority(nice: int) -> tuple[str, ...]:
    """The words before a command that is to stand back; none for level 0, which is everybody's.

    Args:
        nice: levels below the daemon's own, 0 to 19.
    """
    return ("nice", "-n", str(nice), *LOWEST_IO) if nice else ()


def weight(nice: int, usual: int, least: int = 1) -> int:
    """A group's weight where `usual` is that of a group that stands back for nobody."""
    return max(least, round(usual / NICE_STEP**nice))
