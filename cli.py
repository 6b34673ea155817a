#!/usr/bin/env python3
"""The command line: `./cli.py "Create a health check"`, `./cli.py help`. Behind it is `nightshift/client/`."""

import sys

from nightshift import launch

__all__ = ["main"]


def main() -> int:
    """Run one call; the exit code is one of `nightshift.client.errors.Exit`."""
    return launch.run("nightshift.__main__", __file__)


if __name__ == "__main__":
    sys.exit(main())
