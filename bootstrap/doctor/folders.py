"""The home: whether it is there, whose it is, who may read its secrets, and what the disk below it is worth."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from bootstrap.doctor.context import Patient, may_write, mode_of
from bootstrap.doctor.findings import Finding, fault, in_bytes, note, ok, quoted, warning

_NETWORK = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "lustre", "ncpfs"})
_SHARED = ("fuse.sshfs", "fuse.rclone", "fuse.s3fs", "fuse.glusterfs", "virtiofs", "vboxsf", "prl_fs")
_PASSING = frozenset({"tmpfs", "ramfs"})
FEW_INODES = 10_000


def home(patient: Patient) -> Iterator[Finding]:
    """Look at the folder and at the files that only its owner may read."""
    settings, uid = patient.settings, os.geteuid()
    place = settings.home
    if not place.exists():
        yield note(
            "home", f"{place} does not exist yet", f"mkdir -p {quoted(place)}   (the first start makes it as well)"
        )
    elif not place.is_dir():
        yield fault("home", f"{place} is no folder", "give another one with --home or NIGHTSHIFT_HOME")
    elif place.stat().st_uid not in {uid, 0} or (place.stat().st_uid == 0 and uid != 0 and not may_write(place)):
        yield fault(
            "home",
            f"{place} belongs to uid {place.stat().st_uid}, you are {uid}",
            f"sudo chown -R {uid} {quoted(place)}",
        )
    else:
        yield ok("home", str(place))
    for folder in dict.fromkeys((place, settings.state_dir, settings.db_path.parent, settings.workspace)):
        if not may_write(folder):
            yield fault(
                folder.name,
                f"{folder} may not be written",
                f"sudo chown -R {uid} {quoted(folder)} && chmod u+rwX {quoted(folder)}",
            )
    yield from _private(settings.token_file, settings.seal_file)
    yield from _database(settings.db_path)


def disk(patient: Patient) -> Iterator[Finding]:
    """Look at the room that is left, and at the kind of file system."""
    place = next(each for each in (patient.settings.home, *patient.settings.home.parents) if each.exists())
    found, reserve = os.statvfs(place), patient.settings.disk_reserve_mb * 1_000_000
    free = found.f_bavail * found.f_frsize
    text = f"{in_bytes(free)} free of {in_bytes(found.f_blocks * found.f_frsize)}"
    mend = "free some room; `keep_work_days`, `keep_events_days` and `backups_keep` say what Nightshift itself keeps"
    if free < reserve:
        yield fault("room", f"{text}: less than disk_reserve_mb, so no task is begun", mend)
    elif free < 3 * reserve:
        yield warning("room", text, mend)
    else:
        yield ok("room", text)
    if found.f_files and found.f_favail < FEW_INODES:
        yield warning("inodes", f"{found.f_favail} of {found.f_files} free", "remove small files: `df -i` shows where")
    elif found.f_files:
        yield ok("inodes", f"{found.f_favail} of {found.f_files} free")
    yield _file_system(place)


def _private(*files: Path) -> Iterator[Finding]:
    for file in files:
        mode = mode_of(file)
        if mode is not None and mode & 0o077:
            yield fault(file.name, f"others may read {file} (mode {mode:o})", f"chmod 600 {quoted(file)}")
        elif mode is not None:
            yield ok(file.name, f"only you may read {file}")


def _database(file: Path) -> Iterator[Finding]:
    mode = mode_of(file)
    if mode is not None and mode & 0o022:
        yield fault("database", f"others may write {file} (mode {mode:o})", f"chmod go-w {quoted(file)}")
    elif mode is not None and mode & 0o044:
        yield note("database", f"other users may read {file} (mode {mode:o})", f"chmod 700 {quoted(file.parent)}")


def _file_system(place: Path) -> Finding:
    kind, point = _mounted(place)
    if kind in _NETWORK or kind in _SHARED:
        text = f"{kind} at {point}: SQLite's locks cannot be relied upon over a network"
        return fault("file system", text, "move the home to a local disk (--home, NIGHTSHIFT_HOME)")
    if kind in _PASSING:
        return warning("file system", f"{kind} at {point} is gone after a restart", "move the home to a disk")
    return ok("file system", f"{kind or 'unknown'} at {point}")


def _mounted(place: Path) -> tuple[str, str]:
    """Kind and mount point of the file system that holds a path, after proc(5), mountinfo."""
    best, kind = "", ""
    for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace").splitlines():
        left, _, right = line.partition(" - ")
        point = left.split(" ")[4].encode().decode("unicode_escape")
        if len(point) >= len(best) and (place == Path(point) or place.is_relative_to(point)):
            best, kind = point, right.split(" ")[0]
    return kind, best
