"""Creates a virtual environment beside the tree. Its Python can import what tests import.

Tests can import the test libraries, and the tree as if it were installed in editable mode.
"""
# Importing pathlib would cost every start of the sandbox some milliseconds.
# ruff: noqa: PTH101, PTH103, PTH109, PTH118, PTH120, PTH123, PTH211

import os
import sys
from collections.abc import Mapping, Sequence

from . import environment_makers

PYTHONS = ("python", "python3")


def environment(
    libraries: Sequence[str], paths: Sequence[str], *, executable: str = "", more: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return the environment variables of a command, after creating the virtual environment.

    If the repository has an environment of its own (`executable`), only scripts that start pytest are created.

    Args:
        libraries: import paths of the test libraries.
        paths: folders of the tree from which modules are imported.
        executable: the interpreter of the repository's own environment; empty if there is none.
        more: further variables.
    """
    tree, variables = os.getcwd(), {**os.environ, **(more or {})}
    inside = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100
    own = [os.path.normpath(os.path.join(tree, path)) for path in paths]
    folder = os.path.join(os.environ["HOME"], ".venv")
    if executable:
        programs = os.path.join(folder, "bin")
        os.makedirs(programs)
        _write_programs(programs, executable)
        environment_makers.write_programs(programs, variables.get("PATH", ""))
        path = os.pathsep.join((variables.get("PATH", "/usr/bin:/bin"), programs))
        return {**variables, "PATH": path, "PYTHONPATH": os.pathsep.join((*own, inside)), "PWD": tree}
    make(folder, (*own, *libraries, inside))
    environment_makers.write_programs(os.path.join(folder, "bin"), variables.get("PATH", ""))
    path = os.pathsep.join((os.path.join(folder, "bin"), variables.get("PATH", "/usr/bin:/bin")))
    return {**variables, "PATH": path, "VIRTUAL_ENV": folder, "PWD": tree}


def make(folder: str, shown: Sequence[str]) -> None:
    """Create the virtual environment in a new folder. `shown` are the import paths of its Python."""
    programs, series = os.path.join(folder, "bin"), ".".join(map(str, sys.version_info[:2]))
    packages = os.path.join(folder, "lib", f"python{series}", "site-packages")
    os.makedirs(programs)
    os.makedirs(packages)
    for name in PYTHONS:
        os.symlink(sys.executable, os.path.join(programs, name))
    settings = f"home = {os.path.dirname(sys.executable)}\ninclude-system-site-packages = false\n"
    for path, text in (
        (f"{folder}/pyvenv.cfg", settings),
        (f"{packages}/shown.pth", "".join(f"{line}\n" for line in (*shown, f"import {__package__}.start"))),
    ):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    _write_programs(programs, f"{programs}/python")


def _write_programs(folder: str, python: str) -> None:
    """Write the scripts that start pytest."""
    start = f"#!{python}\nimport sys\nfrom pytest import console_main\nsys.exit(console_main())\n"
    for name in ("pytest", "py.test"):
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(start)
        os.chmod(path, 0o755)  # noqa: S103 (a program)
