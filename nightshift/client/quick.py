"""The way into the command line: what scripts and status bars ask for often is answered without click.

To import click and make all commands takes several times the processor time of a version or a status. Whatever is typed
in any other way than these is left to `client.command`, which answers the same ones too.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from nightshift.client.errors import run_guarded
from nightshift.client.version import print_version
from nightshift.storage.files.whole import forbid_others_to_write

VERSIONS = (("--version",), ("version",))
STATUSES = (("--status",), ("status",))
JSON = "--json"
DAEMON_FLAGS = frozenset({"-h", "--help", "--home", "--port", "--workers"})


def main() -> int:
    """Run one call with the arguments of this process; the exit code."""
    forbid_others_to_write()
    return call([os.fsencode(each).decode("utf-8", "surrogateescape") for each in sys.argv[1:]])  # in any locale


def serve() -> int:
    """Run the daemon; with arguments, what they ask. Flags alone are those of the command `daemon`."""
    arguments = sys.argv[1:]
    if not arguments:
        from nightshift.app.main import main as run_daemon  # noqa: PLC0415  # no command needs it

        return run_daemon()
    forbid_others_to_write()
    is_flag = arguments[0].partition("=")[0] in DAEMON_FLAGS
    return call(["daemon", *arguments] if is_flag else arguments)


def call(arguments: Sequence[str]) -> int:
    """Do what the arguments ask; returns the exit code, as `client.command.call`."""
    asked = tuple(arguments)
    if asked in VERSIONS:
        return run_guarded(print_version, as_json=False)
    as_json = asked[-1:] == (JSON,)
    if (asked[:-1] if as_json else asked) in STATUSES:
        return run_guarded(lambda: _status(as_json=as_json), as_json=as_json)
    from nightshift.client import command  # noqa: PLC0415  # click and all commands

    return command.call(arguments)


def _status(*, as_json: bool) -> int:
    from nightshift.client.daemon import status  # noqa: PLC0415  # a version needs none of it
    from nightshift.client.session import Session  # noqa: PLC0415  # as above

    session = Session(as_json=as_json)
    try:
        return status(session)
    finally:
        session.disconnect()
