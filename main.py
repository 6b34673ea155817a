"""Runs the daemon (`nightshift/app/main.py`) until it is stopped. The commands of cli.py are accepted too."""

import sys

from nightshift import launch

__all__ = ["main"]


def main() -> int:
    """Run the daemon or a command; return an exit code of `nightshift.app.main.Exit` or `client.errors.Exit`."""
    return launch.run("nightshift.__main__", __file__, "serve")


if __name__ == "__main__":
    sys.exit(main())
