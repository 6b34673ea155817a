"""Exit codes that scripts can use, and which error means which."""

from __future__ import annotations

from enum import IntEnum

from client.door import DaemonGone, NotAllowed
from core.errors import (
    ConfigError,
    IllegalMove,
    InvalidTask,
    NightshiftError,
    NoEvidence,
    NotLessons,
    NotReverted,
    UnknownApproval,
    UnknownCommit,
    UnknownStep,
    UnknownTask,
)
from intake.marked_yaml import BrokenFile


class Exit(IntEnum):
    """How a call ended."""

    OK = 0
    FAILED = 1
    USAGE = 2
    DAEMON_DOWN = 3
    NOT_FOUND = 4
    REFUSED = 5
    INTERRUPTED = 130


CODES: tuple[tuple[tuple[type[NightshiftError], ...], Exit], ...] = (
    ((InvalidTask, ConfigError, BrokenFile, NotLessons), Exit.USAGE),
    ((DaemonGone,), Exit.DAEMON_DOWN),
    ((UnknownTask, UnknownApproval, UnknownCommit, UnknownStep, NoEvidence), Exit.NOT_FOUND),
    ((NotAllowed, IllegalMove, NotReverted), Exit.REFUSED),
    ((NightshiftError,), Exit.FAILED),
)


def exit_of(error: NightshiftError) -> Exit:
    """The exit code that an error means."""
    return next(code for kinds, code in CODES if isinstance(error, kinds))
