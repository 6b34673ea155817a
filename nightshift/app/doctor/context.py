"""The context of the doctor's checks (one home, its settings and its daemon), and the findings of the checks."""

from __future__ import annotations

import json
import os
import shlex
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from nightshift.config.load import Settings, settings_or_defaults
from nightshift.core.clock import Clock, utc_now


class Grade(StrEnum):
    """Severity: a FAULT stops or endangers work, a WARNING may become a FAULT, and a NOTE is worth knowing."""

    OK = "ok"
    NOTE = "note"
    WARNING = "warning"
    FAULT = "fault"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One result of a check; every finding whose grade is not OK says how to fix the problem."""

    grade: Grade
    what: str
    text: str
    mend: str = ""


def ok(what: str, text: str) -> Finding:
    """Make a finding for something that is in order."""
    return Finding(grade=Grade.OK, what=what, text=text)


def note(what: str, text: str, mend: str = "") -> Finding:
    """Make a finding that is worth knowing."""
    return Finding(grade=Grade.NOTE, what=what, text=text, mend=mend)


def warning(what: str, text: str, mend: str) -> Finding:
    """Make a finding for something that may go wrong."""
    return Finding(grade=Grade.WARNING, what=what, text=text, mend=mend)


def fault(what: str, text: str, mend: str) -> Finding:
    """Make a finding for something that is wrong."""
    return Finding(grade=Grade.FAULT, what=what, text=text, mend=mend)


def quote(path: Path) -> str:
    """Return a path quoted for a shell."""
    return shlex.quote(str(path))


def in_bytes(count: float) -> str:
    """Format a number of bytes for people, such as `812 MB`."""
    for unit in ("B", "KB", "MB", "GB"):
        if abs(count) < 1000:
            return f"{count:.0f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


_LOCKS = Path("/proc/locks")


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckContext:
    """A home and how to check it.

    `faults` are the faults of the home's settings. If there are any, `settings` contains the defaults, so that
    everything else can still be checked. `deep` allows checks that take long or cost money.
    """

    settings: Settings
    faults: tuple[str, ...] = ()
    deep: bool = False
    clock: Clock = utc_now

    @property
    def holder(self) -> int | None:
        """Process id of the holder of the home's lock.

        The value is 0 if a process holds the lock but its id is not visible to us, and None if nothing holds the lock.

        The id comes from the kernel's table of locks, because trying to take the lock would disturb a daemon that is
        starting.
        """
        try:
            inode = str(self.settings.lock_file.stat().st_ino)
            lines = _LOCKS.read_text(encoding="ascii").splitlines()
        except OSError:
            return None
        for words in (line.split() for line in lines):
            if words[1:2] == ["FLOCK"] and words[5].rpartition(":")[2] == inode:
                return max(0, int(words[4]))
        return None


def check_context(home: Path | None = None, *, deep: bool = False) -> CheckContext:
    """Make the context of `home`, or of the home that the environment names."""
    settings, faults = settings_or_defaults(home)
    return CheckContext(settings=settings, faults=faults, deep=deep)


def read_json(path: Path) -> dict[str, object]:
    """Read a small JSON file; return an empty mapping if it is missing or contains no mapping."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


def mode_of(path: Path) -> int | None:
    """Return the permission bits of a file, None if there is no such file."""
    try:
        return path.stat().st_mode & 0o777
    except OSError:
        return None


def may_write(path: Path) -> bool:
    """Check whether this user may write to a path, or to its nearest existing parent folder."""
    nearest_path = next((each for each in (path, *path.parents) if each.exists()), Path("/"))
    return os.access(nearest_path, os.W_OK)
