"""Nightshift's daemon: `python main.py` or `nightshift daemon` serves until it is stopped.

The settings come from config.yaml and the environment.

- SIGTERM, SIGINT: drain running tasks (DRAIN_S) and end; a second signal returns the tasks to the queue at once.
- SIGHUP: read the settings and tasks.yaml again. A closing terminal also sends this signal, which ends nothing.

Exit codes: 0 after a requested stop, 1 after a failure, 2 for wrong settings, and 3 if another daemon already works on
this home.
"""

from __future__ import annotations

import asyncio
import ctypes
import faulthandler
import gc
import logging
import os
import resource
import signal
import sys
from collections.abc import Mapping
from enum import IntEnum
from pathlib import Path
from types import MappingProxyType

from nightshift.config.load import Settings, load_settings, service_manager, set_variables
from nightshift.core.errors import ConfigError, NightshiftError
from nightshift.storage.files.whole import forbid_others_to_write

STDERR = 2
NO_VARIABLES: Mapping[str, object] = MappingProxyType({})
# Limit of open files, enough for hundreds of live streams. A higher limit is slower, because each child process closes
# every possible file when it starts.
MOST_FILES = 8192
NEW_OBJECTS = 10_000
"""Garbage collection threshold. With the default (700), the daemon spent a tenth of its time on garbage collection
during large listings.
"""

ARENAS = -8
"""`M_ARENA_MAX` of glibc's `malloc.h`: the option that limits the number of heaps."""


class Exit(IntEnum):
    """Exit codes of the daemon; a service manager restarts it only after `FAILED`."""

    STOPPED = 0
    FAILED = 1
    WRONG_SETTINGS = 2
    ALREADY_RUNNING = 3


def main(
    home: Path | None = None, *, restarts_itself: bool = False, variables: Mapping[str, object] = NO_VARIABLES
) -> int:
    """Run the daemon of `home`, or of the home that the environment names, and return the exit code.

    With `restarts_itself`, the daemon restarts when the program's files are replaced; under a service manager it always
    does. `variables` are settings given as command-line flags, under the names of their environment variables.
    """
    from nightshift.app.terminal import fill_streams, free_streams  # noqa: PLC0415 - as in `serve`
    from nightshift.maintenance.instance_lock import AlreadyRunning  # noqa: PLC0415 - as in `serve`

    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # until `serve` handles it; we read the settings now anyway
    fill_streams()
    _lift_limits()
    forbid_others_to_write()
    # The service manager sends SIGABRT if the watchdog gets no sign of life. Write the stack of each thread then.
    # `faulthandler` runs no Python code, which may be what hangs.
    faulthandler.enable(file=os.dup(STDERR))
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    try:
        set_variables(variables)
        settings, restarts_itself = load_settings(home=home), restarts_itself or bool(service_manager().socket)
        with free_streams():
            is_to_restart = asyncio.run(serve(settings, restarts_itself))
    except ConfigError as error:
        print("\n".join(("The settings have faults:", *(f"  {fault}" for fault in error.faults))), file=sys.stderr)
        return Exit.WRONG_SETTINGS
    except AlreadyRunning as error:
        print(f"Nightshift is already running: {error}", file=sys.stderr)
        return Exit.ALREADY_RUNNING
    except (NightshiftError, OSError) as error:  # OSError: a disk that is full or not writable
        print(f"Nightshift cannot continue: {str(error) or type(error).__name__}", file=sys.stderr)
        return Exit.FAILED
    if is_to_restart and service_manager().socket:
        return Exit.FAILED  # the manager expects a stop, and restarts only after a failure
    if is_to_restart:
        os.execv(sys.executable, sys.orig_argv)  # noqa: S606  the command that started this process
    return Exit.STOPPED


async def serve(settings: Settings, restarts_itself: bool = False) -> bool:
    """Serve until a signal requests the stop; return True if the daemon must be restarted with new files."""
    from nightshift.app.daemon import Daemon  # noqa: PLC0415 - settings are checked before the heavy parts are loaded
    from nightshift.app.terminal import show  # noqa: PLC0415 - as above

    daemon = Daemon(settings, show=show, restarts_itself=restarts_itself)
    gc.freeze()  # imported objects stay until the process ends
    gc.set_threshold(NEW_OBJECTS)
    share_heap()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, daemon.stop)
    loop.add_signal_handler(signal.SIGHUP, daemon.reload_soon)
    await daemon.serve()
    return daemon.is_to_restart


def _lift_limits() -> None:
    """Raise the limit of open files as far as the parent process allows, unblock all signals, and reset SIGCHLD.

    SIGCHLD must not stay ignored, because the exit codes of child processes would then be lost and read as 0.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, signal.valid_signals())
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)


def share_heap() -> None:
    """Make all threads allocate from one heap, so that memory freed by one thread can be used by all.

    By default glibc gives each thread a heap of its own and keeps freed memory in it. One heap costs no speed, because
    only one thread runs Python code at a time. Other C libraries have no such option.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(ARENAS, 1)


if __name__ == "__main__":
    sys.exit(main())
