"""How the owner starts the command line by hand, for every message that tells him what to type."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

NAME = "nightshift"
SCRIPT = Path(__file__).resolve().parents[2] / "cli.py"


@cache
def program() -> str:
    """`nightshift` where that is this program; in a checkout that nobody linked under this name, `./cli.py`."""
    import shutil  # noqa: PLC0415 - brings all compressions along; a version or a help names no command

    program_path = shutil.which(NAME)
    if program_path and (
        Path(program_path).resolve() == SCRIPT or Path(program_path).parent == Path(sys.prefix) / "bin"
    ):
        return NAME
    in_checkout = (SCRIPT.parent / "Makefile").exists()
    return f"./{SCRIPT.name}" if in_checkout else NAME


def format_command(command: str) -> str:
    """A command as it is typed, such as `nightshift retry 7`."""
    return f"{program()} {command}"
