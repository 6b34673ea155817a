#!/usr/bin/env python3
"""Command line: `./cli.py "Create a health check"`, `./cli.py help`. The implementation is `nightshift/client/`."""

import sys

from nightshift import launch

__all__ = ["main"]


def main() -> int:
    """Run one command and return an exit code of `nightshift.client.errors.Exit`."""
    return launch.run("nightshift.__main__", __file__)


if __name__ == "__main__":
    sys.exit(main())
