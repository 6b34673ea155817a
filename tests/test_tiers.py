"""The quick tier of tests is the same in each process and in each run; every test file has a quick test."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator

import pytest

from scripts.run_tests import KNOWN, read_known
from tests.support import tiers

MOST_KNOWN = 1
"""Maximum number of known flaky tests. Lower the number when a test is fixed; never raise it."""
NAMED = "tests/e2e/test_signals.py::test_it"
FOLDER, FILE = "tests/remote/mcp_client/", "tests/remote/mcp_client/test_client.py"
HOSTILE = [f"tests/hostile/test_a.py::test_it[{n}]" for n in range(50)]
PAGES = [f"tests/browser/test_{n}.py::test_page" for n in range(20)]
SEVERAL = [f"tests/remote/mcp_client/test_a.py::test_{n}{item}" for n in range(9) for item in ("[a]", "[b]")]
PLAIN = ["tests/core/test_a.py::test_it[1]", "tests/core/test_a.py::test_it[2]", "tests/hostile/test_a.py::test_one"]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(tiers, "ALL", False)
    monkeypatch.setattr(tiers, "TESTS", {**tiers.TESTS, NAMED: tiers.EVERY})
    tiers.full_files.cache_clear()
    yield
    tiers.full_files.cache_clear()


def test_items_are_chosen_evenly_the_first_and_the_last_among_them() -> None:
    assert tiers.choose(range(10), 4) == [0, 3, 6, 9]
    assert tiers.choose(range(10), 1) == [0]
    assert tiers.choose(range(10), 0) == []
    assert tiers.choose(range(3), 4) == [0, 1, 2]


def test_some_items_of_a_parametrised_test_are_quick_and_short_tests_are_whole() -> None:
    full = tiers.full_tier([*HOSTILE, *PLAIN])
    assert len(set(HOSTILE) - full) == tiers.ITEMS["tests/hostile/"]
    assert {HOSTILE[0], HOSTILE[-1]} <= set(HOSTILE) - full
    assert not full & set(PLAIN)


def test_some_tests_of_a_file_are_quick_with_all_their_items() -> None:
    quick = set(SEVERAL) - tiers.full_tier(SEVERAL)
    assert len({id_.partition("[")[0] for id_ in quick}) == tiers.TESTS["tests/remote/mcp_client/"]
    assert len(quick) == 2 * tiers.TESTS["tests/remote/mcp_client/"]


def test_a_folder_is_full_but_for_the_files_and_tests_that_are_named() -> None:
    file = next(path for path in tiers.TESTS if path.startswith("tests/browser/test_") and tiers.TESTS[path])
    beside = f"{NAMED.partition('::')[0]}::test_another"
    assert tiers.full_tier([*PAGES, f"{file}::test_page", NAMED, beside]) == {*PAGES, beside}


def test_the_choice_is_the_same_whatever_else_is_collected() -> None:
    assert tiers.full_tier(HOSTILE) | tiers.full_tier(SEVERAL) == tiers.full_tier([*SEVERAL, *HOSTILE])


def test_files_that_are_not_imported_are_those_of_which_nothing_is_quick() -> None:
    paths = (tiers.ROOT / "tests").rglob("test_*.py")
    ids = [f"{path.relative_to(tiers.ROOT).as_posix()}::test_it" for path in paths]
    unread = {f"{path.relative_to(tiers.ROOT).as_posix()}::test_it" for path in tiers.full_files()}
    assert any(id_.startswith("tests/browser/") for id_ in unread)
    assert not any(id_.startswith(NAMED.partition("::")[0]) for id_ in unread), "one of its tests is quick"
    assert unread <= tiers.full_tier(ids)


def test_nothing_is_left_out_where_everything_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiers, "ALL", True)
    assert tiers.choose(HOSTILE, 3) == HOSTILE
    assert tiers.full_files() == frozenset()


def test_every_place_of_the_tables_and_every_known_flaky_test_is_there() -> None:
    for location in (
        *(tiers.TESTS.keys() - {NAMED}),
        *tiers.ITEMS,
        *tiers.FIRST,
        *(id_.partition("[")[0] for id_ in read_known(KNOWN)),
    ):
        path, _, test = location.partition("::")
        assert (tiers.ROOT / path).exists(), location
        assert f"def {test}" in (tiers.ROOT / path).read_text() if test else True, location


def test_no_flaky_test_is_added_to_those_that_are_known() -> None:
    assert len(read_known(KNOWN)) <= MOST_KNOWN


@pytest.mark.parametrize(
    ("asked", "has_quick", "has_full"),
    [
        (["{folder}"], True, False),
        (["{file}"], True, True),
        (["-m", "full", "{folder}"], False, True),
        (["-m", "not full", "{file}"], True, False),
    ],
)
def test_the_full_tier_is_run_if_it_is_asked_for(asked: list[str], has_quick: bool, has_full: bool) -> None:
    words = [word.format(folder=FOLDER, file=FILE) for word in asked]
    environment = {name: value for name, value in os.environ.items() if name != "NIGHTSHIFT_TESTS"}
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--collect-only", *words]
    done = subprocess.run(argv, cwd=tiers.ROOT, env=environment, capture_output=True, text=True, check=True)
    names = {line.partition("[")[0] for line in done.stdout.splitlines() if "::" in line}
    total = len(re.findall(r"^(?:async )?def test_", (tiers.ROOT / FILE).read_text(), re.MULTILINE))
    quick = tiers.TESTS[FOLDER]
    assert len(names) == quick * has_quick + (total - quick) * has_full
