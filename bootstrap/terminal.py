"""The standard streams of a daemon, which may outlive the terminal that it was started from.

A reader that has gone (a closed terminal, `main.py | head`) must not end the daemon: Python ignores SIGPIPE, so a write
raises, and the stream is then put to sleep. Descriptors that were closed at the start are filled, lest a database be
opened under the number of the standard output and be written to by whoever prints.
"""

from __future__ import annotations

import contextlib
import os

_STREAMS = (0, 1, 2)


def fill_streams() -> None:
    """Open what of the standard streams is closed on the null device."""
    for descriptor in _STREAMS:
        try:
            os.fstat(descriptor)
        except OSError:
            _to_nowhere(descriptor)


def say(text: str) -> None:
    """Print, as long as somebody listens."""
    try:
        print(text, flush=True)
    except (OSError, ValueError):  # nobody reads any more, or the stream is closed
        _to_nowhere(1)


def _to_nowhere(descriptor: int) -> None:
    with contextlib.suppress(OSError):
        nowhere = os.open(os.devnull, os.O_RDWR)
        if nowhere != descriptor:  # the lowest free number is taken, which may be the one that was closed
            os.dup2(nowhere, descriptor)
            os.close(nowhere)
