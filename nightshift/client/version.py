"""`nightshift version`."""

from __future__ import annotations

from nightshift.client.errors import Exit
from nightshift.core.version import VERSION


def print_version() -> int:
    """Print the version."""
    print(f"Nightshift {VERSION}")
    return Exit.OK
