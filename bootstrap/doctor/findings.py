"""What a check finds: how grave it is, what it is about, and the mend, as a command or a sentence."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from pathlib import Path


class Grade(StrEnum):
    """FAULT stops work or endangers it, WARNING will or may, NOTE is worth knowing."""

    OK = "ok"
    NOTE = "note"
    WARNING = "warning"
    FAULT = "fault"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was looked at; each but a good one says what to do."""

    grade: Grade
    what: str
    text: str
    mend: str = ""


def ok(what: str, text: str) -> Finding:
    """As it should be."""
    return Finding(grade=Grade.OK, what=what, text=text)


def note(what: str, text: str, mend: str = "") -> Finding:
    """Worth knowing."""
    return Finding(grade=Grade.NOTE, what=what, text=text, mend=mend)


def warning(what: str, text: str, mend: str) -> Finding:
    """It may go wrong."""
    return Finding(grade=Grade.WARNING, what=what, text=text, mend=mend)


def fault(what: str, text: str, mend: str) -> Finding:
    """It is wrong."""
    return Finding(grade=Grade.FAULT, what=what, text=text, mend=mend)


def quoted(path: Path) -> str:
    """A path as it can be typed into a shell."""
    return shlex.quote(str(path))


def in_bytes(count: float) -> str:
    """A size for people: `812 MB`."""
    for unit in ("B", "KB", "MB", "GB"):
        if abs(count) < 1000:
            return f"{count:.0f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def ago(span: timedelta) -> str:
    """A length of time up to now: `3 h ago`."""
    seconds = span.total_seconds()
    if seconds < 0:
        return "in the future"
    for size, unit in ((86400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit} ago"
    return f"{seconds:.0f} s ago"
