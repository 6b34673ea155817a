"""`nightshift report`: the period that it covers, its output, and the arguments that it refuses."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from nightshift.core.clock import from_text, utc_now
from nightshift.queue import checkpoints
from nightshift.storage.db.database import Database
from tests.support.home import Home


@pytest.fixture
def database(home: Home) -> Path:
    """Make the database of a daemon that has not yet made a checkpoint."""
    path = home.path / "db" / "agent_logs.sqlite"
    Database(path).close()
    return path


def test_a_week_is_written_as_markdown_and_its_path_is_printed(home: Home, database: Path) -> None:
    result = home.cli("--report", "2026-W39")
    paths = [Path(name) for name in result.out.split()]
    assert (result.code, result.err) == (0, "")
    assert paths == [home.path / "reports" / "2026-W39.md"]
    assert "\n2026-09-21 00:00 to 2026-09-28 00:00 UTC\n" in paths[0].read_text()
    assert database.exists()


def test_without_a_week_it_is_the_time_since_the_last_checkpoint(home: Home, database: Path) -> None:
    last = (utc_now() - timedelta(days=3)).replace(second=0, microsecond=0)
    with Database(database) as opened:
        opened.write(lambda conn: checkpoints.count_from(conn, last)).result()
    result = home.cli("--report", "--json")
    assert from_text(result.json["since"]) == last
    assert timedelta(0) <= utc_now() - from_text(result.json["until"]) < timedelta(minutes=5)
    assert Path(result.json["report"]).exists()


@pytest.mark.parametrize(
    ("week", "why"),
    [
        ("2026-W54", "the year 2026 has no week 54"),
        ("9998-W01", "has not begun"),
    ],
)
def test_what_is_no_week_is_refused_with_the_right_form(home: Home, database: Path, week: str, why: str) -> None:
    result = home.cli("--report", week)
    assert result.code == 2
    assert why in result.err
    assert not (home.path / "reports").exists()
    assert database.exists()


def test_without_a_database_nothing_is_made(home: Home) -> None:
    result = home.cli("--report")
    assert result.code == 1
    assert "there is no database yet" in result.err
    assert list(home.path.iterdir()) == []


def test_the_exit_code_of_the_status_tells_whether_it_works(home: Home) -> None:
    with home.daemon() as context:
        assert home.cli("status").code == 0
        context.queue.pause("lunch").result()
        assert home.cli("status").code == home.cli("--status", "--json").code == 6
        context.queue.resume().result()
        assert home.cli("status").code == 0
    assert home.cli("status").code == 3
