"""Limits memory, processes and CPU of a whole job by control groups: version 2 if it is delegated, otherwise version 1.

Limits of single processes do not bound a job that forks; only a control group does. A limit counts as set only when the
kernel returns it on reading. All writes use `os.write`, because a buffered file object would hide the kernel's refusal
until the file is closed, where the error is easily lost.

Groups are created below the group of this process, so that limits which the owner set on the daemon still apply. In
version 2 a group that contains processes cannot delegate controllers. If the daemon is alone in its group, it first
moves itself into a child group, as a delegated systemd unit is expected to do.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import secrets
import signal
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from nightshift.core.errors import SandboxError
from nightshift.core.isolation import SandboxLimits
from nightshift.sandbox import launcher

PERIOD_US = 100_000
# The swap files are missing if the kernel does not account for swap; in that case a limit of the memory is enough.
# Older kernels lack `memory.oom.group` of version 2.
_OPTIONAL = frozenset({"memory.swap.max", "memory.oom.group", "memory.memsw.limit_in_bytes"})
_CHUNK = 1 << 16
# The most bytes that version 1 charges in one step. A group whose usage is this close to its limit has reached the
# limit.
_CHARGED = 1 << 20
SHARES = 1024
"""Default weight of a group in version 1, which corresponds to one process."""
_PARENT = "nightshift"
_CONTROLLERS = ("memory", "pids", "cpu")


class CgroupError(Exception):
    """The kernel did not accept a limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Resource usage of a group.

    Attributes:
        oom_kills: number of processes that the kernel killed because memory was short.
        is_own_limit: True if the kernel killed these processes because the group exceeded its own limit.
        peak_bytes: peak memory usage; None if it is not known.
    """

    oom_kills: int = 0
    is_own_limit: bool = True
    peak_bytes: int | None = None


class Hierarchy(Protocol):
    """A parent group in which groups for jobs can be created."""

    def create(self, limits: SandboxLimits) -> Group:
        """Create a group in which these limits apply.

        Raises:
            CgroupError: the kernel refused one of the limits.
        """
        ...


@dataclass(frozen=True, slots=True)
class Group:
    """The control group of one job.

    `folders` has one folder for each controller in version 1, and a single one in version 2.
    """

    folders: tuple[Path, ...]

    @property
    def join_files(self) -> tuple[Path, ...]:
        """The files to which a process writes its process number to join the group."""
        return tuple(folder / "cgroup.procs" for folder in self.folders)

    def usage(self) -> Usage:
        """Read the resources that the group has used so far."""
        folder = self.folders[0]
        events = _table(folder / "memory.events") or _table(folder / "memory.oom_control")
        peak = _number(folder / "memory.peak") or _number(folder / "memory.max_usage_in_bytes")
        # If the group never reached its own limit, the memory of the machine or of an enclosing group ran out.
        limit = _number(folder / "memory.limit_in_bytes") or 0
        is_own_limit = bool(events["oom"]) if "oom" in events else (peak or limit) >= limit - _CHARGED
        return Usage(oom_kills=events.get("oom_kill", 0), is_own_limit=is_own_limit, peak_bytes=peak)

    def cpu_s(self) -> float | None:
        """Return the processor time of the group in seconds; None if version 1 counts it in a separate hierarchy."""
        for folder in self.folders:
            if (used_us := _table(folder / "cpu.stat").get("usage_usec")) is not None:
                return used_us / 1e6
            if (used_ns := _number(folder / "cpuacct.usage")) is not None:
                return used_ns / 1e9
        return None

    def kill(self) -> None:
        """Send SIGKILL to every process in the group. New processes can only be children of killed ones.

        Every process joins the first folder first, so killing the processes in that folder is enough.
        """
        try:
            write(self.folders[0] / "cgroup.kill", 1)
        except OSError:  # version 1, or an older kernel
            for pid in text_of(self.join_files[0]).split():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)

    def remove(self) -> bool:
        """Remove the group. Return False if processes in the group have not ended yet."""
        for folder in self.folders:
            try:
                folder.rmdir()
            except FileNotFoundError:
                continue
            except OSError:
                return False
        return True


@dataclass(frozen=True, slots=True)
class V2:
    """Creates groups of version 2 below `parent`, which delegates the controllers memory, pids and cpu."""

    parent: Path

    def create(self, limits: SandboxLimits) -> Group:
        """Create a group in which these limits apply."""
        wanted: dict[str, int | str] = {
            "memory.max": limits.memory_mb << 20,
            "pids.max": limits.pids,
            "cpu.max": f"{_quota(limits)} {PERIOD_US}",
            "memory.swap.max": 0,
            "memory.oom.group": 1,
        }
        return _make({self.parent: wanted})


@dataclass(frozen=True, slots=True)
class V1:
    """Creates groups of version 1. `parents` has one folder for each controller, memory first."""

    parents: tuple[Path, ...]

    def create(self, limits: SandboxLimits) -> Group:
        """Create a group in which these limits apply."""
        memory_bytes = limits.memory_mb << 20
        wanted: tuple[Mapping[str, int | str], ...] = (
            {"memory.limit_in_bytes": memory_bytes, "memory.memsw.limit_in_bytes": memory_bytes},
            {"pids.max": limits.pids},
            {"cpu.cfs_period_us": PERIOD_US, "cpu.cfs_quota_us": _quota(limits)},
        )
        return _make(dict(zip(self.parents, wanted, strict=True)))


async def remove(group: Group) -> None:
    """Remove a group. The kernel needs a moment for this after the last process has ended.

    Raises:
        SandboxError: processes in the group do not end.
    """
    for pause_s in _pauses(group):
        await asyncio.sleep(pause_s)


def remove_now(group: Group) -> None:
    """Remove a group like `remove`, but blocking. Used when the event loop is being closed."""
    for pause_s in _pauses(group):
        time.sleep(pause_s)


def _pauses(group: Group) -> Iterator[float]:
    """Try to remove a group until that succeeds. Yield the seconds to wait between the tries."""
    for attempt in range(200):
        if group.remove():
            return
        group.kill()
        yield 0.001 * min(20, attempt + 1)
    raise SandboxError(f"processes are left in {group.folders[0]}")


def write(file: Path, value: int | str) -> None:
    """Write a control file without buffering, so that the kernel's refusal raises an error here.

    Raises:
        OSError: the kernel refused.
    """
    descriptor = os.open(file, os.O_WRONLY)
    try:
        os.write(descriptor, str(value).encode())
    finally:
        os.close(descriptor)


def _make(wanted: Mapping[Path, Mapping[str, int | str]]) -> Group:
    """Create a folder in each parent and set its values. If the kernel refuses one, no folder is left behind."""
    name = f"{os.getpid()}-{secrets.token_hex(6)}"
    group = Group(tuple(parent / name for parent in wanted))
    try:
        for folder, values in zip(group.folders, wanted.values(), strict=True):
            folder.mkdir()
            _set_all(folder, values)
    except (CgroupError, OSError):
        group.remove()
        raise
    return group


def _quota(limits: SandboxLimits) -> int:
    return max(1000, int(limits.cpus * PERIOD_US))


def _set_all(folder: Path, values: Mapping[str, int | str]) -> None:
    for name, value in values.items():
        if name in _OPTIONAL and not (folder / name).exists():
            continue
        try:
            write(folder / name, value)
        except OSError as error:
            raise CgroupError(f"{name} = {value} was refused: {error.strerror}") from error
        if text_of(folder / name).split() != str(value).split():
            raise CgroupError(f"the kernel set {name} to {text_of(folder / name).strip()} instead of {value}")


def text_of(file: Path) -> str:
    """Return a control file's text; empty if there is no such file."""
    try:
        descriptor = os.open(file, os.O_RDONLY)
    except OSError:
        return ""
    try:
        parts = iter(lambda: os.read(descriptor, _CHUNK), b"")
        return b"".join(parts).decode("utf-8", "replace")
    except OSError:
        return ""
    finally:
        os.close(descriptor)


def _number(file: Path) -> int | None:
    text = text_of(file).strip()
    return int(text) if text.isdigit() else None


def _table(file: Path) -> dict[str, int]:
    pairs = (line.split() for line in text_of(file).splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}


def find(proc: Path = Path("/proc/self"), *, nice: int = 0) -> Hierarchy:
    """Find a parent for groups, and test it by creating a group.

    Args:
        proc: the kernel's folder about this process.
        nice: by how many levels the priority of all jobs together is lowered (`sandbox.launcher`).

    Raises:
        CgroupError: there is no parent that this process may use; the message gives the reason for each version.
    """
    faults = []
    for look in (_find_v2, _find_v1):
        try:
            hierarchy = look(proc, nice)
            group = hierarchy.create(SandboxLimits())
        except (CgroupError, OSError) as error:
            faults.append(str(error))
        else:
            group.remove()
            return hierarchy
    raise CgroupError("; ".join(faults))


def _find_v2(proc: Path, nice: int) -> V2:
    own = _own_groups(proc).get("")
    mount = _mounts(proc).get("")
    if own is None or mount is None:
        raise CgroupError("version 2 is not mounted")
    folder = mount / own.lstrip("/")
    missing = set(_CONTROLLERS) - set(text_of(folder / "cgroup.controllers").split())
    if missing:
        raise CgroupError(f"version 2 does not delegate the controllers {', '.join(sorted(missing))} to {own}")
    if not os.access(folder / "cgroup.subtree_control", os.W_OK):
        raise CgroupError(f"{own} is not delegated to this user")
    if text_of(folder / "cgroup.procs").split() == [str(os.getpid())]:
        leaf = folder / "daemon"
        leaf.mkdir(exist_ok=True)
        write(leaf / "cgroup.procs", os.getpid())
    parent = folder / _PARENT
    parent.mkdir(exist_ok=True)
    for level in (folder, parent):
        write(level / "cgroup.subtree_control", "+memory +pids +cpu")
    with contextlib.suppress(OSError):  # the limits do not depend on this setting
        write(folder / "cgroup.subtree_control", "+io")
    for name in ("cpu.weight", "io.weight"):  # the second file exists only if its controller was delegated
        if (parent / name).exists():
            write(parent / name, launcher.weight(nice, 100))
    _sweep(parent)
    return V2(parent)


def _find_v1(proc: Path, nice: int) -> V1:
    own, mounts = _own_groups(proc), _mounts(proc)
    if missing := [name for name in _CONTROLLERS if name not in own or name not in mounts]:
        raise CgroupError(f"version 1 has no {', '.join(missing)} controller mounted")
    parents = []
    for name in _CONTROLLERS:
        parent = _inside(mounts[name], own[name]) / _PARENT
        parent.mkdir(exist_ok=True)
        _sweep(parent)
        if name == "cpu":  # all jobs together weigh as much as one busy process per core
            write(parent / "cpu.shares", launcher.weight(nice, SHARES * (os.cpu_count() or 1), 2))
        parents.append(parent)
    return V1(tuple(parents))


def _own_groups(proc: Path) -> dict[str, str]:
    """Return the path of this process's group for each controller. The empty name stands for version 2."""
    groups = {}
    for line in text_of(proc / "cgroup").splitlines():
        _, names, path = line.split(":", 2)
        groups.update(dict.fromkeys(names.split(","), path))
    return groups


def _mounts(proc: Path) -> dict[str, Path]:
    """Return the mount point of each controller. The empty name stands for version 2."""
    mounts: dict[str, Path] = {}
    for line in text_of(proc / "mountinfo").splitlines():
        before, _, after = line.partition(" - ")
        kind, _, options = after.split(" ", 2)
        if kind in {"cgroup", "cgroup2"}:
            names = options.split(",") if kind == "cgroup" else [""]
            mounts.update({name: Path(before.split(" ")[4]) for name in names})
    return mounts


def sweep(proc: Path = Path("/proc/self")) -> list[str]:
    """Remove the groups of dead daemons in all places where `find` would create groups; return their names."""
    own, mounts = _own_groups(proc), _mounts(proc)
    controllers = [name for name in ("", *_CONTROLLERS) if name in own and name in mounts]
    parents = (_inside(mounts[name], own[name]) / _PARENT for name in controllers)
    return sorted({name for parent in parents if parent.is_dir() for name in _sweep(parent)})


def _inside(mount: Path, group: str) -> Path:
    """Return the folder of a group.

    In a container, /proc shows the host's path, but the container's own group is at the root of the mount.
    """
    folder = mount / group.lstrip("/")
    return folder if folder.is_dir() else mount


def _sweep(parent: Path) -> list[str]:
    """Remove groups whose daemon is dead. Their processes have ended because of `--die-with-parent`."""
    gone = []
    for folder in parent.iterdir():
        owner = re.fullmatch(r"(\d+)-[0-9a-f]+", folder.name)
        if owner and not Path("/proc", owner[1]).exists():
            with contextlib.suppress(OSError):
                folder.rmdir()
                gone.append(folder.name)
    return gone
