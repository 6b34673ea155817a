"""The page of the benchmark: a run is begun, stopped and gone on with; figures, plot and items are for everybody."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from nightshift.config.load import settings_at
from nightshift.config.places import find_places
from nightshift.report.benchmark.store import BenchmarkStore, Mode, RunState
from tests.browser.test_access_for_all import OUT_OF_REACH, SMALLEST, ZOOMED, faults, wide_things
from tests.browser.test_access_for_all import opened as visited
from tests.e2e.test_benchmark_run import bench, said
from tests.support.benchmark_shop import answer, shop
from tests.support.benchmarks import NEWEST, arm, items, stored
from tests.support.browser import NARROW, WIDE, Watch, context_of
from tests.support.daemon import Daemon, settings_for, until
from tests.support.sandboxes import runtime
from tests.support.wire_server import WireServer

EVIL = "<img src=x onerror=alert(1)>"
OTHER = "/home/me/books"


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """A daemon beside a mined repository with one item, and one with figures that were stored."""

    daemon: Daemon
    server: WireServer
    repo: Path
    database: Path


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    runtime()
    folder = tmp_path_factory.mktemp("bench")
    with WireServer(answer) as server:
        price = {"input_per_million_usd": 100, "output_per_million_usd": 100}
        more = {"MAX_ITERATIONS": "2", "MODEL_PRICES": json.dumps({server.model: price})}
        daemon = Daemon(folder / "home", settings_for(server, **more))
        daemon.home.mkdir()
        repo = shop(folder / "shop", only="half")
        assert "1 items" in said(bench(daemon, "mine", str(repo)))
        path = settings_at(find_places(daemon.home)).benchmark_db_path
        arms = {arm("mini"): range(12), arm("mini-lessons", memory=True): range(16), arm("engine", model=""): range(3)}
        stored(path, OTHER, arms, lines=(10, 60, 150))
        with BenchmarkStore(path) as store:
            store.add_item(replace(items(1, repo=OTHER)[0], key=f"{OTHER}@evil", commit="e" * 40, subject=EVIL))
            run = store.begin_run(
                OTHER, Mode.SHOWN, ["mini", "engine"], [one.key for one in store.items(OTHER)], NEWEST
            )
            store.end_run(run.key, RunState.STOPPED, "the budget is spent", NEWEST)
        with daemon:
            yield Home(daemon=daemon, server=server, repo=repo, database=path)


@pytest.fixture
def page(browser: Browser, home: Home) -> Iterator[Page]:
    with context_of(browser, home.daemon.url) as context:
        made = context.new_page()
        watch = Watch(made, home.daemon.url)
        watch.allow("409 POST .*/runs")  # a model that is named wrongly
        yield made
        watch.check()


def card(page: Page, name: str) -> Locator:
    return page.get_by_role("region", name=name, exact=True)


def test_figures_plot_and_items_of_a_repository_are_shown_as_text(page: Page) -> None:
    visited(page, "/benchmark")
    page.get_by_label("Repository").select_option(OTHER)
    arms = card(page, "Arms")
    expect(arms.get_by_role("row", name="mini-lessons")).to_contain_text("16 of 20")
    expect(arms.get_by_role("img", name="Solve rate against cost")).to_be_visible()
    expect(card(page, "books")).to_contain_text("mini-lessons against mini")
    found = page.get_by_role("table", name="Items")
    expect(found).to_contain_text(EVIL)
    expect(found.get_by_role("row", name="Change 0")).to_contain_text("engine solved")
    expect(page.get_by_role("table", name="Runs").get_by_role("row")).to_contain_text(["Arms", "the budget is spent"])


def test_a_run_is_begun_stopped_and_gone_on_with(page: Page, home: Home) -> None:
    home.server.fail_next("slow", 1, phase="CODING", seconds=600)
    visited(page, "/benchmark")
    page.get_by_label("Repository").select_option(str(home.repo))
    expect(card(page, "shop")).to_be_visible()
    page.get_by_label("Models").fill(f"openai={home.server.model}, built-in")
    page.get_by_role("button", name="Start a run").click()
    row = page.get_by_role("table", name="Runs").get_by_role("row").filter(has_text="built-in")
    expect(row).to_contain_text("running")
    expect(page.get_by_role("button", name="Start a run")).to_be_disabled()
    until(lambda: any(one.phase == "CODING" for one in home.server.requests), 60)
    row.get_by_role("button", name="Stop").click()
    expect(row).to_contain_text("stopped")
    home.server.heal()
    row.get_by_role("button", name="Resume").click(timeout=60_000)
    expect(row).to_contain_text("done", timeout=120_000)
    expect(row).to_contain_text("2 of 2")
    expect(card(page, "Arms").get_by_role("row", name=home.server.model)).to_contain_text("1 of 1")
    assert [one.phase for one in home.server.requests].count("PLANNING") == 1, "a paid reply is not asked for again"


def test_what_cannot_begin_is_told_at_the_field(page: Page, home: Home) -> None:
    visited(page, "/benchmark")
    page.get_by_label("Models").fill("gpt")
    page.get_by_role("button", name="Start a run").click()
    expect(page.get_by_text("must be backend=model")).to_be_visible()


@pytest.mark.parametrize(
    ("size", "dark"), [(WIDE, False), (WIDE, True), (NARROW, False), (NARROW, True), (ZOOMED, False), (SMALLEST, True)]
)
def test_it_is_for_everybody(browser: Browser, home: Home, size: tuple[int, int], dark: bool) -> None:
    with context_of(browser, home.daemon.url, size=size, dark=dark) as context:
        page = visited(context.new_page(), f"/benchmark?repo={OTHER}")
        expect(page.get_by_role("table", name="Items")).to_be_visible()
        assert faults(page) == []
        assert wide_things(page) == []
        assert page.evaluate(OUT_OF_REACH) == []


def test_a_home_without_items_says_how_to_get_some(browser: Browser, untouched: Daemon) -> None:
    with context_of(browser, untouched.url) as context:
        page = visited(context.new_page(), "/benchmark")
        expect(page.get_by_text("nightshift bench mine REPO")).to_be_visible()
