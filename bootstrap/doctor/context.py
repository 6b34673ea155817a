"""Whom the doctor looks at: one home with its settings, which may be broken, and the daemon that may work on it."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

from config import Settings, settings_or_defaults
from core.clock import Clock, utc_now

_LOCKS = Path("/proc/locks")


@dataclass(frozen=True, slots=True, kw_only=True)
class Patient:
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


def patient(home: Path | None = None, *, deep: bool = False) -> Patient:
    """The home that the command line and the environment name."""
    settings, faults = settings_or_defaults(home)
    return Patient(settings=settings, faults=faults, deep=deep)


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
    place = next((each for each in (path, *path.parents) if each.exists()), Path("/"))
    return os.access(place, os.W_OK)
