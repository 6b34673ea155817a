"""The prefix of every job's command: control group, priority, limits of each process, and an unprivileged user.

The order matters. A process enters its control group and sets its limits first, while it has the rights to do so. It
drops root last, before it touches untrusted code. If root started bubblewrap directly, the kernel would still treat the
job as root, and /proc/sys would be writable from inside.

Sandboxed work gets a lower priority than the owner's: a higher nice value, the lowest best-effort I/O level, and
control groups with a lower weight. The daemon itself keeps its priority, because its loop renews leases and answers the
owner. Nice values have an effect only within one control group. So if jobs have their own groups, these get a lower
weight by the kernel's own scale, in which a nice level is a factor of 1.25 (`sched_prio_to_weight`). The idle class of
I/O is not used: on a busy disk it could starve a job until its timeout, which would look like a failing test.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Sequence
from pathlib import Path

from nightshift.core.isolation import SandboxLimits

JOB_UID = 64321
"""Numeric id of the jobs' user and group if the daemon runs as root. No other process uses it."""

ENV = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin"}
"""The launcher's environment. A job can read bubblewrap's environment, so it must contain nothing of the daemon's own.
"""

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
"""Limits that are the same for every job. Maps `prlimit`'s name of a limit to the kernel's number and the value."""
NICE_STEP = 1.25
LOWEST_IO = ("ionice", "-t", "-c", "2", "-n", "7")


def job_uid() -> int:
    """Return the id of the user as whom jobs run."""
    return JOB_UID if os.geteuid() == 0 else os.geteuid()


def drop_root() -> tuple[str, ...]:
    """Return the command prefix that switches to the jobs' user; empty if the daemon is not root."""
    return _DROP if os.geteuid() == 0 else ()


def prefix(limits: SandboxLimits, join_files: Sequence[Path], *, address_space: bool, nice: int = 0) -> list[str]:
    """Return the arguments that precede the job's command.

    Args:
        limits: limits of the job.
        join_files: the files to which a process writes to join the job's control group.
        address_space: True to limit the memory of each process, because no control group limits the memory of all.
        nice: by how many levels the priority is lowered (`sandbox.launcher`).
    """
    enter = "".join(f"echo $$ > '{file}' && " for file in join_files)
    group = ["/bin/sh", "-c", f'{enter}exec "$@"', "sh"] if join_files else []
    return [*group, *priority(nice), *rlimits(limits, address_space=address_space), *drop_root()]


def each_process(limits: SandboxLimits) -> dict[str, tuple[int, int]]:
    """Return the limits of each process of a job. Maps `prlimit`'s names to the kernel's number and the value.

    `/work` and `/tmp` are separate file systems, so a file may be as large as the larger of them.
    """
    return {
        **FIXED,
        "fsize": (resource.RLIMIT_FSIZE, max(limits.work_mb, limits.tmp_mb) << 20),
        "cpu": (resource.RLIMIT_CPU, int(min(limits.cpu_s, limits.wall_s * max(1.0, limits.cpus))) + 5),
    }


def rlimits(limits: SandboxLimits, *, address_space: bool) -> list[str]:
    """Return the arguments that set the limits of single processes. A limit that is already lower stays."""
    values = settable(limits, address_space=address_space)
    return ["prlimit", *(f"--{name}={value}" for name, (_, value) in values.items()), "--"]


def settable(limits: SandboxLimits, *, address_space: bool) -> dict[str, tuple[int, int]]:
    """Return the limits of `each_process`, reduced to what this process is allowed to set."""
    wanted = each_process(limits)
    if address_space:
        wanted["as"] = (resource.RLIMIT_AS, (limits.memory_mb + limits.reserved_mb) << 20)
        wanted["data"] = (resource.RLIMIT_DATA, limits.memory_mb << 20)  # reserved address space does not count
    return {name: (which, _at_most(which, value)) for name, (which, value) in wanted.items()}


def _at_most(which: int, value: int) -> int:
    hard = resource.getrlimit(which)[1]
    return value if hard == resource.RLIM_INFINITY else min(value, hard)


def priority(nice: int) -> tuple[str, ...]:
    """Return the command prefix that lowers a command's priority; empty for level 0.

    Args:
        nice: levels below the daemon's own priority, 0 to 19.
    """
    return ("nice", "-n", str(nice), *LOWEST_IO) if nice else ()


def weight(nice: int, usual: int, least: int = 1) -> int:
    """Return the weight of a control group at a nice level, given the `usual` weight at level 0."""
    return max(least, round(usual / NICE_STEP**nice))
