"""A plugin of pytest that writes the ids of the tests that failed to a file: `-p tests.support.failed_tests`."""

from __future__ import annotations

from pathlib import Path

import pytest

OPTION = "--failed-to"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Take the name of the file."""
    parser.addoption(OPTION, type=Path, metavar="FILE", help="write the ids of failed tests to it, one a line")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Write the file; the process that shows the results does, not those that run tests for it."""
    file: Path | None = config.getoption(OPTION)
    if file is not None:
        reports = [*terminalreporter.getreports("failed"), *terminalreporter.getreports("error")]
        file.write_text("".join(f"{id_}\n" for id_ in dict.fromkeys(report.nodeid for report in reports)))
