"""The figures of a benchmark at the terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from nightshift.config.load import settings_at
from nightshift.config.places import find_places
from tests.support.benchmarks import arm, read_stored
from tests.support.home import Home

WEAK, STRONG = arm("weak", model="small"), arm("strong", model="large")


@pytest.fixture
def database(home: Home) -> Path:
    return settings_at(find_places(home.path)).benchmark_db_path


@pytest.fixture
def shop(home: Home, database: Path) -> str:
    """Make a repository with 20 benchmark items.

    The arm (model set-up) `strong` solved 18 of them, and `weak` solved 5.
    """
    repo = home.path / "shop"
    (repo / "inner").mkdir(parents=True)
    read_stored(database, str(repo), {WEAK: range(5), STRONG: range(18)})
    return str(repo)


def test_the_report_is_markdown_for_people_and_json_for_scripts(home: Home, shop: str) -> None:
    text = home.cli("bench", "report", f"{shop}/inner").out
    assert text.startswith("# Benchmark of shop\n")
    assert "| `strong` | 18 of 20 (90 %) |" in text
    assert "| `weak`   |  5 of 20 (25 %) |" in text
    report = home.cli("bench", "report", shop, "--json").json
    assert (report["repo"], report["mode"], report["items"]) == (shop, "shown", 20)
    assert report["arms"][0]["solved"] == {"part": 18, "whole": 20}
    assert len(report["arms"][0]["outcomes"]) == 20
    assert report["comparisons"][0]["p_value"] < 0.01
