"""Nightshift's daemon: `python main.py` serves until it is told to stop.

Settings come from config.yaml and the environment. SIGTERM or SIGINT drains running tasks and ends; a second one
returns them to the queue at once. Exit code 0 after a clean stop, 1 when something failed, 2 for wrong settings.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from collections.abc import Callable

from config import Settings, load_settings
from core.errors import ConfigError, NightshiftError
from core.events import Event
from core.tasks import Task, TaskSpec


def main() -> int:
    """Run the daemon; the process's exit code."""
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    try:
        settings = load_settings()
        asyncio.run(serve(settings))
    except ConfigError as error:
        print("\n".join(("The settings have faults:", *(f"  {fault}" for fault in error.faults))), file=sys.stderr)
        return 2
    except NightshiftError as error:
        print(f"Nightshift cannot go on: {error}", file=sys.stderr)
        return 1
    return 0


async def serve(settings: Settings) -> None:
    """Serve until a signal says stop."""
    from assembly.daemon import Daemon  # noqa: PLC0415 - settings are checked before the heavy parts are loaded

    daemon = Daemon(settings)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, daemon.stop)
    await daemon.serve()


async def run_one(spec: TaskSpec, settings: Settings, on_event: Callable[[Event], None]) -> Task:
    """Do one task in the foreground, without a daemon, and return it as it ended.

    Args:
        spec: what to do.
        settings: those of the home whose database and workspace are used.
        on_event: called with each event of the task, on another thread.

    Raises:
        NightshiftError: another daemon works on this home, or something that is needed could not be had.
    """
    from assembly.single import run_single  # noqa: PLC0415 - as above

    return await run_single(spec, settings, on_event)


if __name__ == "__main__":
    sys.exit(main())
