"""The machine: its clock, its limits, and whether a service starts Nightshift with it; and the inbox, `tasks.yaml`."""

from __future__ import annotations

import os
import pwd
import resource
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bootstrap.doctor.context import Patient
from bootstrap.doctor.findings import Finding, ago, fault, note, ok, warning
from config import user_folders
from core.errors import StoreError
from db.inspection import facts
from intake.marked_yaml import BrokenFile
from intake.tasks_file import load_file

NEAR = timedelta(seconds=60)
FIRST_YEAR = 2026
FEW_FILES, FEW_PROCESSES, FEW_WATCHES, FEW_INSTANCES = 1024, 512, 8192, 64
SERVICE = "nightshift.service"
_INOTIFY = Path("/proc/sys/fs/inotify")
_LINGER = Path("/var/lib/systemd/linger")
_SET_CLOCK = "timedatectl set-ntp true   (claims, reports and budgets go by the clock)"


def intake(patient: Patient) -> Iterator[Finding]:
    """Read the inbox as the daemon would."""
    path = patient.settings.tasks_file
    if not path.exists():
        yield ok("tasks.yaml", "is not there; tasks come over the other doors")
        return
    try:
        reading = load_file(path)
    except BrokenFile as error:
        for line in str(error).splitlines()[:10]:
            yield fault("tasks.yaml", line, f"correct it in {path}; none of its entries counts meanwhile")
        return
    count = len(reading.entries)
    yield ok("tasks.yaml", f"{count} {'entry' if count == 1 else 'entries'}, all of them good")
    yield from (note("tasks.yaml", told) for told in reading.notices)


def clock(patient: Patient) -> Iterator[Finding]:
    """Hold the clock against what was written before."""
    now = patient.clock()
    if now.year < FIRST_YEAR:
        yield fault("clock", f"it says {now:%Y-%m-%d %H:%M} UTC", _SET_CLOCK)
    else:
        yield ok("clock", f"{now:%Y-%m-%d %H:%M:%S} UTC")
    yield from _newest_event(patient, now)
    yield from _files(patient, now)


def limits(_: Patient) -> Iterator[Finding]:
    """Look at what the system grants a process and a user."""
    files, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield _enough(
        "open files", files, FEW_FILES, f"ulimit -n {max(FEW_FILES, min(most, 65536))}, or LimitNOFILE= in the unit"
    )
    processes = resource.getrlimit(resource.RLIMIT_NPROC)[0]
    yield _enough("processes", processes, FEW_PROCESSES, "ulimit -u 4096, or TasksMax= in the unit")
    for name, few in (("max_user_watches", FEW_WATCHES), ("max_user_instances", FEW_INSTANCES)):
        found = int((_INOTIFY / name).read_text(encoding="ascii"))
        yield _enough(f"inotify {name}", found, few, f"sudo sysctl fs.inotify.{name}={few * 4}")


def service(_: Patient) -> Iterator[Finding]:
    """Look for the unit, and whether it runs while nobody is logged in."""
    unit = user_folders().config.parent / "systemd" / "user" / SERVICE
    if not Path("/run/systemd/system").is_dir():
        yield note("service", "systemd does not run here: Nightshift has to be started by hand, or by what does run")
        return
    if not unit.exists():
        yield note(
            "service",
            f"{unit} is not there: after a restart of the machine nobody starts Nightshift",
            "cli.py --install-service   (docs/service.md)",
        )
        return
    user = pwd.getpwuid(os.getuid()).pw_name
    yield ok("service", str(unit))
    if (_LINGER / user).exists():
        yield ok("linger", f"user services of {user} run while nobody is logged in")
    else:
        yield warning("linger", "the service ends when you log out", f"loginctl enable-linger {user}")


def _newest_event(patient: Patient, now: datetime) -> Iterator[Finding]:
    try:
        newest = facts(patient.settings.db_path).newest_event_at
    except StoreError:
        return  # the section on the database tells why
    if newest is None:
        return
    if newest - now > NEAR:
        told = f"the newest event is of {newest:%Y-%m-%d %H:%M:%S} UTC, {(newest - now).total_seconds():.0f} s ahead"
        yield fault("events", told, _SET_CLOCK)
    else:
        yield ok("events", f"the newest is {ago(now - newest)}")


def _files(patient: Patient, now: datetime) -> Iterator[Finding]:
    """A file system that stamps files ahead of us has another clock, or ours was set back."""
    settings = patient.settings
    paths = [settings.db_path, settings.db_path.with_name(settings.db_path.name + "-wal"), settings.state_file]
    times = [datetime.fromtimestamp(path.stat().st_mtime, UTC) for path in paths if path.exists()]
    if not times:
        return
    ahead = max(times) - now
    if ahead > NEAR:
        told = f"the newest file of the home is {ahead.total_seconds():.0f} s ahead of the clock"
        yield warning("files", told, "the clock was set back, or the file system's own clock is wrong: " + _SET_CLOCK)
    else:
        yield ok("files", "none is ahead of the clock")


def _enough(what: str, found: int, few: int, mend: str) -> Finding:
    if found == resource.RLIM_INFINITY:
        return ok(what, "unlimited")
    return ok(what, str(found)) if found >= few else warning(what, f"{found}, fewer than {few}", mend)
