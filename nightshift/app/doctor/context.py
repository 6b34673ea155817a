"""Subject of the doctor's checks (one home with its settings, and the daemon that may work on it), and findings."""

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
    """FAULT stops work or endangers it, WARNING will or may, NOTE is worth knowing."""

    OK = "ok"
    NOTE = "note"
    WARNING = "warning"
    FAULT = "fault"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One result of a check; each but a good one says what to do."""

    grade: Grade
    what: str
    text: str
    mend: str = ""


def ok(what: str, text: str) -> Finding:
    """Make a finding of what is as it should be."""
    return Finding(grade=Grade.OK, what=what, text=text)


def note(what: str, text: str, mend: str = "") -> Finding:
    """Worth knowing."""
    return Finding(grade=Grade.NOTE, what=what, text=text, mend=mend)


def warning(what: str, text: str, mend: str) -> Finding:
    """Make a finding of what may go wrong."""
    return Finding(grade=Grade.WARNING, what=what, text=text, mend=mend)


def fault(what: str, text: str, mend: str) -> Finding:
    """Make a finding of what is wrong."""
    return Finding(grade=Grade.FAULT, what=what, text=text, mend=mend)


def quote(path: Path) -> str:
    """A path as it can be typed into a shell."""
    return shlex.quote(str(path))


def in_bytes(count: float) -> str:
    """A size for people: `812 MB`."""
    for unit in ("B", "KB", "MB", "GB"):
        if abs(count) < 1000:
            return f"{count:.0f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


_LOCKS = Path("/proc/locks")


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckContext:
    """One home.

    `faults` are those of its settings; where there are any, `settings` has the defaults, so that everything else can
    still be looked at. `deep` allows what takes long or costs something.
    """

    settings: Settings
    faults: tuple[str, ...] = ()
    deep: bool = False
    clock: Clock = utc_now

    @property
    def holder(self) -> int | None:
        """The process that holds the lock of the home; 0 where it has no number that we can see, None without one.

        Read from the kernel's table: trying to take the lock would be in the way of a daemon that starts just now.
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
    """The home that the command line and the environment name."""
    settings, faults = settings_or_defaults(home)
    return CheckContext(settings=settings, faults=faults, deep=deep)


def read_json(path: Path) -> dict[str, object]:
    """A small file of JSON; empty where it is missing or holds no mapping."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


def mode_of(path: Path) -> int | None:
    """The permission bits of a file, None where there is none."""
    try:
        return path.stat().st_mode & 0o777
    except OSError:
        return None


def may_write(path: Path) -> bool:
    """Tell whether this user may write there, or into the nearest folder above that exists."""
    nearest_path = next((each for each in (path, *path.parents) if each.exists()), Path("/"))
    return os.access(nearest_path, os.W_OK)
