"""Provides a history with its own database for each test of this folder, and a summary of a week for each module."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from nightshift.core.events import Kind
from nightshift.report.figures import Summary
from nightshift.report.weekly import summarise
from tests.support.history import FIRST, WEEK, History, open_history


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    with open_history(tmp_path / "agent.sqlite") as opened:
        yield opened


@pytest.fixture(scope="module")
def week(tmp_path_factory: pytest.TempPathFactory) -> Summary:
    """Return the second of two weeks, with content for every section of its report."""
    with open_history(tmp_path_factory.mktemp("week") / "agent.sqlite") as history:
        history.week(15, skill=0.5)
        history.week(15, skill=0.5)
        history.tell(Kind.MODEL_FAILED, "x", backend="openai", error="Outage")
        history.tell(Kind.BACKUP_FAILED, "no room")
        return summarise(history.store.db, FIRST + WEEK, history.clock.now)
