"""What `make test` leaves out: the same in each process of a run, and never a whole test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support import tiers

HOSTILE = [f"tests/hostile/test_a.py::test_it[{n}]" for n in range(50)]
PAGES = [f"tests/browser/test_{n}.py::test_page" for n in range(20)]
JOBS = [f"tests/e2e/test_{n}.py::test_{m}{at}" for n in range(6) for m in range(6) for at in ("[a]", "[b]")]
PLAIN = ["tests/core/test_a.py::test_it[1]", "tests/core/test_a.py::test_it[2]", "tests/hostile/test_a.py::test_one"]


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(tiers, "ALL", False)
    tiers.unread.cache_clear()
    yield
    tiers.unread.cache_clear()


@pytest.mark.usefixtures("quick")
def test_of_many_items_some_are_run_and_what_is_not_long_is_run_whole() -> None:
    out = tiers.left_out([*HOSTILE, *PLAIN])
    assert len(set(HOSTILE) - out) == tiers.ITEMS["tests/hostile/"]
    assert not out & set(PLAIN)


@pytest.mark.usefixtures("quick")
def test_of_a_folder_of_daemons_some_files_are_run_and_those_that_always_are() -> None:
    always = "tests/browser/test_dashboard_page.py::test_page"
    ran = {*PAGES, always} - tiers.left_out([*PAGES, always])
    assert always in ran
    assert len(ran) == tiers.FILES["tests/browser/"] + 1


@pytest.mark.usefixtures("quick")
def test_of_a_folder_of_expensive_tests_some_are_run_and_the_files_that_always_are() -> None:
    always = [f"tests/e2e/test_main_job.py::test_{n}" for n in range(9)]
    ran = {*JOBS, *always} - tiers.left_out([*JOBS, *always])
    assert ran >= set(always)
    assert len({id_.partition("[")[0] for id_ in ran - set(always)}) == tiers.TESTS["tests/e2e/"]
    assert len(ran - set(always)) == 2 * tiers.TESTS["tests/e2e/"], "a test that is drawn has all its parameters"


@pytest.mark.usefixtures("quick")
def test_of_long_tests_among_short_ones_some_are_run() -> None:
    long = [place if "::" in place else f"{place}::test_it" for place in tiers.LONG]
    single = next(place for place in tiers.LONG if "::" in place)
    short = [f"{single.partition('::')[0]}::test_{n}" for n in range(9)]
    assert len({*long, *short} - tiers.left_out([*long, *short])) == tiers.TESTS[tiers.LONG] + len(short)


@pytest.mark.usefixtures("quick")
def test_what_is_drawn_among_the_long_ones_is_not_drawn_once_more_among_its_folder() -> None:
    long = [f"{place}::test_it" for place in tiers.LONG if place.startswith("tests/e2e/")]
    ran = {*JOBS, *long} - tiers.left_out([*JOBS, *long])
    assert len(ran & set(long)) == tiers.TESTS[tiers.LONG]
    assert len(ran & set(JOBS)) == 2 * tiers.TESTS["tests/e2e/"]


@pytest.mark.usefixtures("quick")
def test_files_that_are_not_even_imported_are_those_of_which_nothing_is_run() -> None:
    paths = (tiers.ROOT / "tests").rglob("test_*.py")
    ids = [f"{path.relative_to(tiers.ROOT).as_posix()}::test_it" for path in paths]
    unread = {f"{path.relative_to(tiers.ROOT).as_posix()}::test_it" for path in tiers.unread()}
    assert any(id_.startswith("tests/bench/") for id_ in unread)
    assert any(id_.startswith("tests/browser/") for id_ in unread)
    assert unread <= tiers.left_out(ids)
    assert tiers.left_out(set(ids) - unread) == tiers.left_out(ids) - unread, "what is read is drawn as before"


def test_what_is_drawn_of_is_there() -> None:
    whole = [place for places in tiers.TESTS for place in ([places] if isinstance(places, str) else places)]
    for place in (*tiers.LATER, *tiers.FILES, *tiers.ALWAYS, *tiers.ITEMS, *tiers.FIRST, *whole):
        path, _, test = place.partition("::")
        assert (tiers.ROOT / path).exists(), place
        assert f"def {test}(" in (tiers.ROOT / path).read_text() if test else True, place


@pytest.mark.usefixtures("quick")
def test_another_commit_draws_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiers, "commit", lambda: "a")
    first = tiers.left_out(HOSTILE)
    assert tiers.left_out(HOSTILE[::-1]) == first
    monkeypatch.setattr(tiers, "commit", lambda: "b")
    assert tiers.left_out(HOSTILE) != first


def test_nothing_is_left_out_where_everything_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiers, "ALL", True)
    assert tiers.left_out([*HOSTILE, *PAGES]) == set()
    assert tiers.drawn(HOSTILE, 3) == HOSTILE
