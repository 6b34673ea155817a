"""The daemon: `python main.py` serves until it is told to stop. Behind it is `nightshift/app/main.py`."""

import sys

from nightshift import launch

__all__ = ["main"]


def main() -> int:
    """Run the daemon; the exit code is one of `nightshift.app.main.Exit`."""
    return launch.run("nightshift.app.main", __file__)


if __name__ == "__main__":
    sys.exit(main())
