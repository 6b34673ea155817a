#!/usr/bin/env python3
"""The command line: adds tasks, shows what happens to them, and steers the daemon, whether it runs or not.

    ./cli.py "Create a FastAPI health check endpoint"
    ./cli.py status
    ./cli.py help

Where it is installed or linked under that name, it is `nightshift`. It may be started with any Python: where `make` has
set up an environment, it goes on in that one. The commands stand in `nightshift/client/commands.py`, what they do in
`nightshift/client/actions.py`.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent
OWN_PREFIX = ROOT / ".venv"
INTERRUPTED = 130
"""`nightshift.client.errors.Exit.INTERRUPTED`, before that can be imported."""


def main() -> int:
    """Run one call; returns its exit code (`nightshift.client.errors.Exit`)."""
    own = OWN_PREFIX / "bin" / "python"
    if own.exists() and Path(sys.prefix).resolve() != OWN_PREFIX.resolve():
        os.execv(own, [str(own), str(ROOT / "cli.py"), *sys.argv[1:]])  # noqa: S606  # no shell is meant
    try:
        from nightshift.client.quick import call  # noqa: PLC0415  # its libraries may be missing
    except ModuleNotFoundError as missing:
        print(f"{missing.name} is not installed: type `make setup` in {ROOT} first.", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED
    return call(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
