"""One call of the command line from its arguments to its exit code; every error becomes a sentence and a code."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Sequence
from typing import Any

import click

from client.command import command
from client.exits import Exit, exit_of
from core import faults
from core.errors import InvalidTask, NightshiftError
from core.masking import printable

PROGRAM = "cli.py"


def call(arguments: Sequence[str]) -> int:
    """Do what the arguments ask; returns the exit code."""
    as_json = "--json" in arguments
    _accept_every_character()
    try:
        return int(command.main(list(arguments), prog_name=PROGRAM, standalone_mode=False) or Exit.OK)
    except click.ClickException as error:
        return _tell_usage(error, as_json)
    except (click.Abort, KeyboardInterrupt):
        return Exit.INTERRUPTED
    except BrokenPipeError:
        return _leave_pipe()
    except NightshiftError as error:
        tell(error, as_json)
        return exit_of(error)


def tell(error: NightshiftError, as_json: bool) -> None:
    """Write an error to the standard error stream, in the API's shape where JSON was asked for."""
    if as_json:
        told: dict[str, Any] = {"error": str(error), "fields": {}}
        if isinstance(error, InvalidTask):
            told |= {"fields": error.fields, **({"more": error.more} if error.more else {})}
        print(json.dumps(told), file=sys.stderr)
        return
    for line in _lines(error):
        print(f"error: {printable(line)}", file=sys.stderr)


def _lines(error: NightshiftError) -> Sequence[str]:
    if isinstance(error, InvalidTask):
        told = [f"{name}: {why}" for name, why in error.fields.items()]
        return [*told, faults.and_more(error.more)] if error.more else told
    return str(error).split("\n")


def _tell_usage(error: click.ClickException, as_json: bool) -> int:
    if as_json:
        print(json.dumps({"error": error.format_message(), "fields": {}}), file=sys.stderr)
    else:
        error.show()
    return error.exit_code


def _accept_every_character() -> None:
    """A terminal or pipe of another encoding than UTF-8 gets escapes instead of an error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _leave_pipe() -> int:
    """The reader has gone (`cli.py --logs | head`): say nothing, not even when the interpreter flushes at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return Exit.OK
