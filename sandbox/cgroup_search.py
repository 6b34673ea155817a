"""Finds a place where control groups can be made: version 2 where delegated, otherwise version 1.

Groups are made below the one this process is in, so that limits which the owner put on the daemon go on holding. In
version 2 a group with processes of its own cannot hand controllers on; where the daemon is alone in its group it moves
itself into a leaf first, which is what a delegated systemd unit expects of it.
"""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path

from core.isolation import SandboxLimits
from sandbox import priority
from sandbox.cgroups import V1, V2, CgroupError, Hierarchy, text_of, write

SHARES = 1024
"""The weight of one process in version 1."""

_PARENT = "nightshift"
_CONTROLLERS = ("memory", "pids", "cpu")


def find(proc: Path = Path("/proc/self"), *, nice: int = 0) -> Hierarchy:
    """Find a place for groups and try one out.

    Args:
        proc: what the kernel tells about this process.
        nice: how many levels all jobs together stand back (`sandbox.priority`).

    Raises:
        CgroupError: there is none that this process may use; says why for each version.
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
        raise CgroupError(f"version 2 hands no {', '.join(sorted(missing))} controller to {own}")
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
    with contextlib.suppress(OSError):  # nobody's limits need it
        write(folder / "cgroup.subtree_control", "+io")
    for name in ("cpu.weight", "io.weight"):  # the second is there only where this controller was handed on
        if (parent / name).exists():
            write(parent / name, priority.weight(nice, 100))
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
        if name == "cpu":  # all jobs together weigh as much as a busy process for each core, not as much as one
            write(parent / "cpu.shares", priority.weight(nice, SHARES * (os.cpu_count() or 1), 2))
        parents.append(parent)
    return V1(tuple(parents))


def _own_groups(proc: Path) -> dict[str, str]:
    """Controller to the path of this process's group; the empty name is version 2."""
    groups = {}
    for line in text_of(proc / "cgroup").splitlines():
        _, names, path = line.split(":", 2)
        groups.update(dict.fromkeys(names.split(","), path))
    return groups


def _mounts(proc: Path) -> dict[str, Path]:
    """Controller to where it is mounted; the empty name is version 2."""
    found: dict[str, Path] = {}
    for line in text_of(proc / "mountinfo").splitlines():
        before, _, after = line.partition(" - ")
        kind, _, options = after.split(" ", 2)
        if kind in {"cgroup", "cgroup2"}:
            names = options.split(",") if kind == "cgroup" else [""]
            found.update({name: Path(before.split(" ")[4]) for name in names})
    return found


def sweep(proc: Path = Path("/proc/self")) -> list[str]:
    """Remove the groups of daemons that are gone, wherever `find` would make some; the names of those that went."""
    own, mounts = _own_groups(proc), _mounts(proc)
    controllers = [name for name in ("", *_CONTROLLERS) if name in own and name in mounts]
    parents = (_inside(mounts[name], own[name]) / _PARENT for name in controllers)
    return sorted({name for parent in parents if parent.is_dir() for name in _sweep(parent)})


def _inside(mount: Path, group: str) -> Path:
    """The folder of a group; a container sees its own at the mount's root while /proc tells the path on the host."""
    folder = mount / group.lstrip("/")
    return folder if folder.is_dir() else mount


def _sweep(parent: Path) -> list[str]:
    """Remove groups whose daemon is gone; `--die-with-parent` has ended what ran in them."""
    gone = []
    for folder in parent.iterdir():
        owner = re.fullmatch(r"(\d+)-[0-9a-f]+", folder.name)
        if owner and not Path("/proc", owner[1]).exists():
            with contextlib.suppress(OSError):
                folder.rmdir()
                gone.append(folder.name)
    return gone
