"""Entry points: the command line (`nightshift`, `python -m nightshift`, `./cli.py`) and the daemon (`main.py`)."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from nightshift.client import command
from nightshift.storage.files.whole import forbid_others_to_write

if TYPE_CHECKING:
    from nightshift.client.session import Application

DAEMON_FLAGS = frozenset({"-h", "--help", "--home", "--port", "--workers"})


def load_application() -> Application:
    """Import the application; commands need it unless the daemon alone can do them."""
    from nightshift.app.commands.table import APPLICATION  # noqa: PLC0415  # most calls do without

    return APPLICATION


def main() -> int:
    """Run one command with the arguments of this process and return the exit code."""
    forbid_others_to_write()
    return command.main(load_application, sys.argv[1:])


def serve() -> int:
    """Run the daemon, or the command that the arguments name.

    Arguments without a command belong to the command `daemon`.
    """
    arguments = sys.argv[1:]
    if not arguments:
        from nightshift.app.main import main as run_daemon  # noqa: PLC0415  # no command needs it

        return run_daemon()
    forbid_others_to_write()
    is_flag = arguments[0].partition("=")[0] in DAEMON_FLAGS
    return command.main(load_application, ["daemon", *arguments] if is_flag else arguments)


if __name__ == "__main__":
    sys.exit(main())
