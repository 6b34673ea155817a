"""A pytest plugin that writes the ids of failed and of out-of-date tests to a file: `-p tests.support.failed_tests`.

A failed test is written as its id alone. A test that was skipped because its recording is out of date (the reason for
the skip begins with `STALE`) is written with `STALE` before its id.
"""

from __future__ import annotations

from pathlib import Path

import pytest

OPTION = "--failed-to"
STALE = "RECORD AGAIN: "


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the command line option that names the file to write."""
    parser.addoption(OPTION, type=Path, metavar="FILE", help="write the ids of failed tests to it, one a line")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Write the file. Only pytest's main process, which shows the results, writes it; the worker processes do not."""
    file: Path | None = config.getoption(OPTION)
    if file is not None:
        reports = [*terminalreporter.getreports("failed"), *terminalreporter.getreports("error")]
        skipped = [report for report in terminalreporter.getreports("skipped") if STALE in str(report.longrepr)]
        ids = [*(report.nodeid for report in reports), *(f"{STALE}{report.nodeid}" for report in skipped)]
        file.write_text("".join(f"{id_}\n" for id_ in dict.fromkeys(ids)))
