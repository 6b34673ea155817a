"""Defines how a call of the command line fails: its exceptions, their exit codes, and how errors are printed."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Any, TextIO

from nightshift.core.errors import (
    AmbiguousName,
    BranchRefused,
    ConfigError,
    IllegalMove,
    InvalidTask,
    NightshiftError,
    NoEvidence,
    NotLessons,
    NotReverted,
    UnknownCommit,
    UnknownNode,
    UnknownTask,
    UnusableFile,
)
from nightshift.core.text import faults


class DaemonGone(NightshiftError):
    """Raised if no daemon answers."""


class Stranger(DaemonGone):
    """Raised if a program other than Nightshift answers at the daemon's address."""


class NotAllowed(NightshiftError):
    """Raised if the daemon refused the request."""


class NotFound(NightshiftError):
    """Raised if a request names a task, an approval, a commit or a step that does not exist."""


class Exit(IntEnum):
    """Exit codes of a call of the command line, for scripts."""

    OK = 0
    FAILED = 1
    USAGE = 2
    DAEMON_DOWN = 3
    NOT_FOUND = 4
    REFUSED = 5
    WAITS = 6
    INTERRUPTED = 130


CODES: tuple[tuple[tuple[type[NightshiftError], ...], Exit], ...] = (
    ((InvalidTask, ConfigError, NotLessons, UnusableFile), Exit.USAGE),
    ((DaemonGone,), Exit.DAEMON_DOWN),
    ((NotFound, UnknownTask, UnknownNode, UnknownCommit, NoEvidence), Exit.NOT_FOUND),
    ((NotAllowed, IllegalMove, NotReverted, BranchRefused, AmbiguousName), Exit.REFUSED),
    ((NightshiftError,), Exit.FAILED),
)


def exit_of(error: NightshiftError) -> Exit:
    """Return the exit code of an error."""
    return next(code for kinds, code in CODES if isinstance(error, kinds))


def print_error(error: NightshiftError, *, as_json: bool) -> None:
    """Print an error on the standard error stream. With `as_json`, it is JSON in the form of the API's errors."""
    if not as_json:
        from nightshift.core.text.masking import printable  # noqa: PLC0415 - most calls go well

        for line in _lines(error):
            print(f"error: {printable(line)}", file=sys.stderr)
        return
    fields: dict[str, Any] = {"error": str(error), "fields": {}}
    if isinstance(error, InvalidTask):
        fields |= {"fields": error.fields, **({"more": error.more} if error.more else {})}
    print(json.dumps(fields), file=sys.stderr)


def run_guarded(action: Callable[[], int], *, as_json: bool) -> int:
    """Run a call and return its exit code. Every error is printed as a sentence on the standard error stream."""
    _prepare_streams()
    try:
        code = action()
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except BrokenPipeError:
        _leave(sys.stdout)  # the reader has gone (`logs | head`)
        return Exit.OK
    except NightshiftError as error:
        print_error(error, as_json=as_json)
        return exit_of(error)
    except OSError as error:
        why = f"{error.filename}: {error.strerror}" if error.filename else error.strerror or str(error)
        if isinstance(error, FileNotFoundError) and not error.filename:
            why = "the current folder is gone; change to another one"
        with contextlib.suppress(OSError):  # printing fails too if the error stream is broken
            print_error(NightshiftError(why), as_json=as_json)
        _leave(sys.stdout, sys.stderr)
        return Exit.FAILED


def _prepare_streams() -> None:
    """Connect closed standard streams to the null device, and let output streams escape characters they cannot encode.

    Without the null device, the next file that is opened, such as the database, would get the descriptor of the closed
    stream.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)  # takes the lowest free descriptor: the closed stream's
            setattr(sys, name, os.fdopen(nowhere, "w" if number else "r", encoding="utf-8"))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _leave(*streams: TextIO) -> None:
    """Discard all further output of the streams, including what the interpreter flushes when it exits."""
    for stream in streams:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _lines(error: NightshiftError) -> Sequence[str]:
    if isinstance(error, InvalidTask):
        lines = [f"{name}: {why}" for name, why in error.fields.items()]
        return [*lines, faults.and_more(error.more)] if error.more else lines
    return str(error).split("\n")
