"""The results of a benchmark affect a repository's tasks only if the owner adopts them; the owner can remove them."""

from __future__ import annotations

from pathlib import Path

import pytest

from nightshift.app.repository_settings import open_service
from nightshift.client.errors import Exit
from nightshift.config.load import settings_at
from nightshift.config.places import find_places
from nightshift.core.clock import utc_now
from nightshift.core.errors import InvalidTask
from nightshift.core.tasks.benchmarked import Benchmarked, Compared
from tests.support.benchmarks import arm, read_stored
from tests.support.git_repo import make_repo
from tests.support.home import Home

PLAIN, TOOLS, SMALL = arm("plain"), arm("tools", tools=True), arm("small", model="small")


@pytest.fixture
def repo(home: Home, tmp_path: Path) -> str:
    """Make a repository with a benchmark of 20 items.

    The coder model solved 5 items without tools and 15 with tools. The small model solved 2.
    """
    folder = str(make_repo(tmp_path.with_name(f"{tmp_path.name}-shop"), {"shop.py": "PRICE = 1\n"}))
    path = settings_at(find_places(home.path)).benchmark_db_path
    read_stored(path, folder, {PLAIN: range(5), TOOLS: range(15), SMALL: range(2)}, finished_at=utc_now())
    return folder


def list_used(home: Home, repo: str) -> tuple[Benchmarked, ...]:
    with open_service(settings_at(find_places(home.path)), to_change=False) as service:
        return service.used(repo)


def test_nothing_is_taken_over_unasked_and_the_table_says_what_would_be(home: Home, repo: str) -> None:
    shown = home.cli("bench", "use", repo)
    assert (shown.code, list_used(home, repo)) == (Exit.OK, ())
    assert "Nothing was changed; --yes applies this" in shown.out
    (row,) = [line for line in shown.out.splitlines() if "cloud=coder" in line]
    for words in ("tools", "15 of 20 (53 % to 89 %)", "6", "surely solves 53 %, plain 11 %"):
        assert words in row


def test_it_is_taken_over_shown_and_taken_back(home: Home, repo: str) -> None:
    assert f"In use for the tasks of {repo}" in home.cli("bench", "use", repo, "--yes").out
    small, coder = sorted(list_used(home, repo), key=lambda usage: usage.solved)
    assert (coder.arm, coder.tools, coder.solved, coder.taken) == ("tools", True, 15, (Compared.TOOLS,))
    assert (small.arm, small.taken) == ("small", ())
    answer = home.cli("bench", "use", repo, "--json").json
    assert answer["used"] == answer["found"]
    assert "In use for the tasks" in home.cli("bench", "use", repo).out
    assert "no longer affects its tasks" in home.cli("bench", "use", repo, "--off").out
    assert list_used(home, repo) == ()
    assert "nothing was in use" in home.cli("bench", "use", repo, "--off").out


def test_other_settings_of_the_repository_stay_and_cannot_forge_a_benchmark(home: Home, repo: str) -> None:
    home.cli("repo-settings", repo, "wall_s=60")
    home.cli("bench", "use", repo, "--yes")
    assert home.cli("repo-settings", repo, "review=on").code == Exit.OK
    assert len(list_used(home, repo)) == 2
    assert " 60 " in home.cli("repo-settings", repo).out
    forged = {"benchmark": [{"model": "cloud=small", "solved": 20, "items": 20}]}
    settings = settings_at(find_places(home.path))
    with open_service(settings, to_change=True) as service, pytest.raises(InvalidTask, match="bench use"):
        service.change(repo, forged)
    assert len(list_used(home, repo)) == 2
