#!/usr/bin/env python3
"""The command line, such as `./cli.py "Create a health check"`. Implemented in `nightshift/client/`."""

import sys

from nightshift import launch

__all__ = ["main"]


def main() -> int:
    """Run one command and return its exit code, one of `nightshift.client.errors.Exit`."""
    return launch.run("nightshift.__main__", __file__)


if __name__ == "__main__":
    sys.exit(main())
