"""The benchmark's commands at the terminal."""

from __future__ import annotations

from pathlib import Path

from tests.support.git_repo import git, make_repo, write
from tests.support.home import Home
from tests.support.sandboxes import runtime


def test_mining_says_what_each_filter_dropped_and_looks_at_a_commit_once(home: Home, tmp_path: Path) -> None:
    runtime()  # the command needs a runtime that already exists
    repo = make_repo(tmp_path / "shop", {"price.py": "def price():\n    return 1\n"})
    write(repo, {"price.py": "def price():\n    return 2\n", "test_price.py": "def test_price():\n    assert 1\n"})
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "Raise the price")
    summary = home.cli("bench", "mine", str(repo), "--json").json
    assert (summary["repo"], summary["new"], summary["candidates"], summary["items"]) == (str(repo), 2, 0, [])
    assert summary["filters"][0] == {"filter": "merge", "before": 2, "dropped": 1, "after": 1}
    last = {line["filter"]: line["dropped"] for line in summary["filters"]}
    assert last["passing"] == 1
    again = home.cli("bench", "mine", str(repo))
    assert "0 new commits, 0 items" in again.out
    assert "merges and first commits" in again.out
