"""The benchmark at the terminal."""

from __future__ import annotations

from pathlib import Path

from nightshift.client.errors import Exit
from tests.support.git_repo import git, make_repo, write
from tests.support.home import Home
from tests.support.sandboxes import runtime


def test_mining_says_what_each_filter_dropped_and_looks_at_a_commit_once(home: Home, tmp_path: Path) -> None:
    runtime()  # the command takes it as it is
    repo = make_repo(tmp_path / "shop", {"price.py": "def price():\n    return 1\n"})
    write(repo, {"price.py": "def price():\n    return 2\n", "test_price.py": "def test_price():\n    assert 1\n"})
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "Raise the price")
    found = home.cli("bench", "mine", str(repo), "--json").json
    assert (found["repo"], found["new"], found["candidates"], found["items"]) == (str(repo), 2, 0, [])
    assert found["filters"][0] == {"filter": "merge", "before": 2, "dropped": 1, "after": 1}
    last = {line["filter"]: line["dropped"] for line in found["filters"]}
    assert last["passing"] == 1
    again = home.cli("bench", "mine", str(repo))
    assert "0 new commits, 0 items" in again.out
    assert "merges and first commits" in again.out


def test_a_folder_without_a_repository_is_refused_with_its_name(home: Home, tmp_path: Path) -> None:
    refused = home.cli("bench", "mine", str(tmp_path / "none"))
    assert refused.code != 0
    assert str(tmp_path / "none") in refused.err


def test_a_model_that_cannot_write_is_refused_before_anything_is_mined(home: Home, tmp_path: Path) -> None:
    repo = str(make_repo(tmp_path.with_name(f"{tmp_path.name}-shop"), {"shop.py": "PRICE = 1\n"}))
    for model, words in (("nope", "backend=model"), ("repair=x", "writes no words"), ("ghost=x", "unknown backend")):
        refused = home.cli("bench", "mine", repo, "--model", model)
        assert refused.code != Exit.OK
        assert words in refused.err
    assert home.cli("bench", "mine", repo, "--json").json["new"] == 1, "nothing was looked at before"
