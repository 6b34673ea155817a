"""Provides a home for terminal tests, and its queue with and without a daemon."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from nightshift.server.context import AppContext
from tests.support.home import Home


@pytest.fixture
def home(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Home:
    (tmp_path / "home").mkdir()
    return Home(path=tmp_path / "home", capture=capsys)


@pytest.fixture(params=["daemon", "database"])
def context(request: pytest.FixtureRequest, home: Home) -> Iterator[AppContext]:
    """Provide the queue of the home, once through a running daemon and once directly on the database."""
    if request.param == "daemon":
        with home.daemon() as running:
            yield running
    else:
        alone = home.context()
        yield alone
        alone.database.close()
