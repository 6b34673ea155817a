"""The benchmark over the API: its runs with their states, and items with what became of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from nightshift.app.benchmark_process import BenchmarkProcess
from nightshift.config.load import Settings, load_settings
from nightshift.maintenance.instance_lock import InstanceLock
from nightshift.report.benchmark.running import Asked
from nightshift.report.benchmark.store import BenchmarkStore, Mode, RunState
from nightshift.server.context import AppContext
from tests.support.app_context import Client, serving
from tests.support.benchmarks import NEWEST, arm, items, results, stored
from tests.support.daemon import until

REPO = "/srv/shop"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    home = tmp_path / "home"
    home.mkdir()
    return load_settings(home=home)


@pytest.fixture
def served(context: AppContext, settings: Settings) -> Iterator[Client]:
    process = BenchmarkProcess(lambda: settings)
    with serving(replace(context, benchmark=process, benchmark_db=lambda: settings.benchmark_db_path)) as client:
        yield client
    process.close()


def begun(settings: Settings, *arms: str, rounds: int = 1, hours: int = 0) -> str:
    with BenchmarkStore(settings.benchmark_db_path) as store:
        keys = [item.key for item in store.items(REPO)]
        return store.begin_run(REPO, Mode.SHOWN, arms, keys, NEWEST + timedelta(hours=hours), rounds=rounds).key


def states(client: Client) -> dict[str, str]:
    return {run["key"]: run["state"] for run in client.get("/api/benchmark").json["runs"]}


def test_nothing_is_told_where_nothing_was_mined(served: Client) -> None:
    told = served.get("/api/benchmark").json
    assert (told["repositories"], told["repo"], told["page"], told["runs"]) == ([], None, None, [])


def test_items_have_their_outcomes_newest_first_and_runs_their_progress(served: Client, settings: Settings) -> None:
    stored(settings.benchmark_db_path, REPO, {arm("a"): range(3), arm("b"): range(9)}, count=20)
    key = begun(settings, "a", "c")
    with BenchmarkStore(settings.benchmark_db_path) as store:
        store.add_arm(arm("c"))
        store.end_run(key, RunState.STOPPED, "the budget is spent", NEWEST)
    told = served.get(f"/api/benchmark?repo={REPO}").json
    assert [item["subject"] for item in told["items"]][:2] == ["Change 19", "Change 18"]
    assert [(one["arm"], one["solved"]) for one in told["items"][-5]["outcomes"]] == [("a", False), ("b", True)]
    (run,) = told["runs"]
    assert (run["done"], run["total"], run["state"], run["reason"]) == (20, 40, "stopped", "the budget is spent")


def test_a_run_is_under_way_only_while_a_process_holds_the_lock_and_then_the_last_one_alone(
    served: Client, settings: Settings
) -> None:
    stored(settings.benchmark_db_path, REPO, {arm("a"): range(3), arm("b"): range(9)}, count=10)
    killed, last = begun(settings, "a"), begun(settings, "a", "b", hours=1)
    assert states(served) == {killed: "broken", last: "broken"}
    with InstanceLock(settings.benchmark_lock_file):
        assert states(served) == {killed: "broken", last: "running"}
        answer = served.post(f"/api/benchmark/runs/{killed}/resume")
        assert (answer.status, answer.json["error"]) == (409, "a run is under way; stop it first")
        assert served.post(f"/api/benchmark/runs/{last}/stop").status == 202
    assert states(served)[last] == "stopped"


def test_rounds_count_in_the_progress_and_stand_in_the_figures(served: Client, settings: Settings) -> None:
    arms = arm("plain"), arm("lessons", memory=True)
    stored(settings.benchmark_db_path, REPO, dict.fromkeys(arms, ()), count=0)
    own = items(4, repo=REPO)
    with BenchmarkStore(settings.benchmark_db_path) as store:
        for item in own:
            store.add_item(item)
    key = begun(settings, "plain", "lessons", rounds=2)
    with BenchmarkStore(settings.benchmark_db_path) as store:
        for one in arms:
            for result in results(one, own, range(2)):
                store.add_round_result(result, key, 1)
    told = served.get("/api/benchmark").json
    assert [(run["rounds"], run["done"], run["total"]) for run in told["runs"]] == [(2, 8, 16)]
    assert "Rounds" in {section["title"] for section in told["page"]["sections"]}


def test_what_a_run_said_last_is_told_after_its_process_has_ended(served: Client, settings: Settings) -> None:
    stored(settings.benchmark_db_path, REPO, {arm("a"): ()}, count=1)
    process = BenchmarkProcess(lambda: settings)
    process.begin(REPO, ["built-in"], Asked(items=1, budget_usd=0.5))
    assert process.state().is_running
    until(lambda: not process.state().is_running, 60)
    assert REPO in process.state().said
    assert served.get("/api/benchmark").json["said"] == process.state().said
    process.close()
