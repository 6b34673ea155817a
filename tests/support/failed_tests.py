"""A plugin of pytest that writes the ids of tests to a file: `-p tests.support.failed_tests`.

Those that failed stand there as they are; those that were skipped because what they play again is out of date (a reason
that begins with `STALE`) behind that word.
"""

from __future__ import annotations

from pathlib import Path

import pytest

OPTION = "--failed-to"
STALE = "RECORD AGAIN: "


def pytest_addoption(parser: pytest.Parser) -> None:
    """Take the name of the file."""
    parser.addoption(OPTION, type=Path, metavar="FILE", help="write the ids of failed tests to it, one a line")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Write the file; the process that shows the results does, not those that run tests for it."""
    file: Path | None = config.getoption(OPTION)
    if file is not None:
        reports = [*terminalreporter.getreports("failed"), *terminalreporter.getreports("error")]
        skipped = [report for report in terminalreporter.getreports("skipped") if STALE in str(report.longrepr)]
        ids = [*(report.nodeid for report in reports), *(f"{STALE}{report.nodeid}" for report in skipped)]
        file.write_text("".join(f"{id_}\n" for id_ in dict.fromkeys(ids)))
