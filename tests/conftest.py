"""Fixtures that tests of several packages share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.sandboxes import Judge, open_folder


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that jobs can enter, which pytest's own are not."""
    with open_folder() as path:
        yield path


@pytest.fixture
def judge(folder: Path) -> Judge:
    return Judge(folder / "staging")
