"""Becomes a program that may not look into the processes outside of it and its children.

Where the kernel has no Landlock it becomes the program all the same.
"""

import os
from collections.abc import Sequence
from typing import NoReturn

from . import landlock

START = "import sys; sys.path.insert(0, sys.argv[1]); from {package}.shut_off import main; main(sys.argv[2:])"
_OUR_LIBRARIES = "LD_LIBRARY_PATH"  # of this interpreter, where it is a copy


def words(executable: str, code: str) -> list[str]:
    """The words that the program's own follow; `code` is the folder of this package."""
    folder, package = os.path.split(code)
    return [executable, "-I", "-S", "-c", START.format(package=package), folder]


def environment() -> dict[str, str]:
    """What this interpreter needs to start, and the program does not get."""
    return {name: os.environ[name] for name in (_OUR_LIBRARIES,) if name in os.environ}


def main(program: Sequence[str]) -> NoReturn:
    """Become the program."""
    landlock.restrict()
    env = {name: value for name, value in os.environ.items() if name != _OUR_LIBRARIES}
    os.execve(program[0], list(program), env)  # noqa: S606 (no shell is wanted)
