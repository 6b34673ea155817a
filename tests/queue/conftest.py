"""Provides a store in a separate file for each test of this folder."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.store import Store, open_store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "agent.sqlite") as opened:
        yield opened
