"""The command with which the owner starts the command line, for messages that tell the owner what to type."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

NAME = "nightshift"
SCRIPT = Path(__file__).resolve().parents[2] / "cli.py"


@cache
def program() -> str:
    """Return `nightshift` if that command starts this program, or `./cli.py` in a checkout where it does not."""
    import shutil  # noqa: PLC0415 - brings all compressions along; a version or a help names no command

    program_path = shutil.which(NAME)
    if program_path and (
        Path(program_path).resolve() == SCRIPT or Path(program_path).parent == Path(sys.prefix) / "bin"
    ):
        return NAME
    in_checkout = (SCRIPT.parent / "Makefile").exists()
    return f"./{SCRIPT.name}" if in_checkout else NAME


def format_command(command: str) -> str:
    """Return a command as the owner types it, such as `nightshift retry 7`."""
    return f"{program()} {command}"
