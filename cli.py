#!/usr/bin/env python3
"""The command line: adds tasks, shows what happens to them, and steers the daemon, whether it runs or not.

    cli.py "Create a FastAPI health check endpoint"
    cli.py --status
    cli.py --help

It may be started with any Python: where the libraries are missing it goes on with the one that `make` has set up.
The options stand in `hand/command.py`, what they do in `hand/actions.py`.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

OWN_PYTHON = Path(__file__).resolve().parent / ".venv" / "bin" / "python"


def main() -> int:
    """Run one call; returns its exit code (`hand.exits.Exit`)."""
    try:
        from hand.session import call  # noqa: PLC0415  # may be missing its libraries, see the module
    except ModuleNotFoundError as missing:
        return _go_on_with_own_python(missing)
    return call(sys.argv[1:])


def _go_on_with_own_python(missing: ModuleNotFoundError) -> int:
    if OWN_PYTHON.exists() and Path(sys.prefix) != OWN_PYTHON.parent.parent:
        os.execv(OWN_PYTHON, [str(OWN_PYTHON), str(Path(__file__).resolve()), *sys.argv[1:]])  # noqa: S606  # no shell is meant
    print(f"{missing.name} is not installed: type `make setup` in {OWN_PYTHON.parents[2]} first.", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
