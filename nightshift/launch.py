"""Starts a program of a checkout in the checkout's own environment, and explains a broken environment in one sentence.

This module uses only the standard library and the syntax of any Python 3, because it runs before it is known what can
be imported.
"""

import importlib
import os
import sys
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OWN_PREFIX = ROOT / ".venv"
OLDEST = (3, 11)
# Libraries of a complete environment. Each is needed by the daemon and by some command.
LIBRARIES = ("click", "flask", "pydantic", "sqlite_utils", "yaml")
FAILED, INTERRUPTED = 1, 130
"""Exit codes with the values of `client.errors.Exit` and `app.main.Exit`, for use before those can be imported."""


class Broken(Exception):
    """The program cannot be started; the message says why, and how to fix it."""


def run(module: str, script: str, function: str = "main") -> int:
    """Run a function of one of our modules, in the environment that `make` has set up if there is one.

    Args:
        module: The dotted name of the module.
        script: The file that was started. The interpreter of the environment starts this file again.
        function: The name of the function, which has no arguments and returns the exit code.

    Returns:
        The exit code.
    """
    try:
        continue_in_environment(script)
        if missing := next((name for name in LIBRARIES if find_spec(name) is None), None):
            raise ModuleNotFoundError(name=missing)
        return int(getattr(importlib.import_module(module), function)())
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == __package__:
            raise
        print(f"{error.name} is not installed in {sys.prefix}: type `make setup` in {ROOT}.", file=sys.stderr)
        return FAILED
    except Broken as error:
        print(error, file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED


def continue_in_environment(script: str) -> None:
    """Restart the script with the interpreter of the checkout's environment, unless that interpreter already runs.

    Raises:
        Broken: This Python is too old, the environment is invalid, or the environment's Python does not start.
    """
    python = OWN_PREFIX / "bin" / "python"
    if Path(sys.prefix).resolve() != OWN_PREFIX.resolve() and os.path.lexists(python):
        if not (OWN_PREFIX / "pyvenv.cfg").exists():  # Otherwise the script would restart itself endlessly
            raise Broken(f"{OWN_PREFIX} is no environment of Python: remove it, and type `make setup` in {ROOT}.")
        try:
            os.execv(python, [str(python), script, *sys.argv[1:]])  # noqa: S606  # no shell is meant
        except OSError as error:
            raise Broken(f"{python} does not start ({error.strerror}): type `make setup` in {ROOT}.") from error
    if sys.version_info < OLDEST:
        version, oldest = sys.version.split()[0], ".".join(map(str, OLDEST))
        raise Broken(f"Nightshift needs Python {oldest} or newer, and this is {version}: type `make setup` in {ROOT}.")
