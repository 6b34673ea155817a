"""A history on a database of its own for each test of this folder."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.history import History, open_history


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    with open_history(tmp_path / "agent.sqlite") as opened:
        yield opened
