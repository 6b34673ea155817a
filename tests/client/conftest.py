"""Fixtures: a home at the terminal, and its queue with a daemon and without one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from nightshift.server.context import AppContext
from tests.support.home import Home


@pytest.fixture
def home(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Home:
    return Home(path=tmp_path, capture=capsys)


@pytest.fixture(params=["daemon", "database"])
def context(request: pytest.FixtureRequest, home: Home) -> Iterator[AppContext]:
    """Give the home's queue, behind a running server or alone."""
    if request.param == "daemon":
        with home.daemon() as running:
            yield running
    else:
        alone = home.context()
        yield alone
        alone.database.close()
