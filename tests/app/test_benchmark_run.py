"""One attempt of a benchmark, and the reasons for which a benchmark waits before an attempt."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from nightshift.app.benchmark import Opened, mine_commits, open_results, validate_candidates
from nightshift.app.benchmark_run import Attempts, _why_wait, run_arms, seconds_of_work
from nightshift.app.store import open_store
from nightshift.config.load import Settings, settings_at
from nightshift.config.places import find_places
from nightshift.core.clock import utc_now
from nightshift.core.events import Event, Kind
from nightshift.core.tasks.benchmark_results import Arm, BrokenOff, Item, Result
from nightshift.core.tasks.task import TaskSpec
from nightshift.maintenance.instance_lock import AlreadyRunning, InstanceLock
from nightshift.report.benchmark.arms import of_models
from nightshift.report.benchmark.running import Asked, Turn
from nightshift.storage.db.benchmark_store import Mode, Run
from tests.support.benchmark_shop import answer, shop
from tests.support.sandboxes import runtime
from tests.support.wire_server import WireServer


def settings_in(home: Path, **flags: object) -> Settings:
    return settings_at(find_places(home), flags)


@contextmanager
def one_item(folder: Path, server: WireServer, **more: str) -> Iterator[tuple[Settings, Opened, Arm, Item, Run]]:
    """Provide a benchmark run of one arm and one item, in a home of its own."""
    runtime()
    home, price = folder / "home", {"input_per_million_usd": 1000, "output_per_million_usd": 1000}
    home.mkdir(exist_ok=True)
    (home / "config.yaml").write_text(
        f"openai_api_key: k\nopenai_base_url: {server.openai_base_url}\nmax_iterations: 2\nmodel_max_wait_s: 1\n"
        f"model_max_tokens: 100\nmodel_prices: {json.dumps({server.model: price})}\n"
        "setup_scripts: trust\nenvironments: ask\n"
    )
    settings = settings_in(home)
    with open_results(settings, str(shop(folder / "shop", only="half", **more))) as here:
        mine_commits(here)
        asyncio.run(validate_candidates(here, settings, 1, lambda _outcome: None))
        (item,), (arm,) = here.store.items(), of_models([f"openai={server.model}"])
        here.store.add_arm(arm)
        yield settings, here, arm, item, here.store.begin_run(here.repo, Mode.WORDS, [arm.name], [item.key], utc_now())


def test_an_attempt_whose_result_was_not_stored_gives_it_again_and_asks_nobody(tmp_path: Path) -> None:
    with WireServer(answer) as server, one_item(tmp_path, server) as (settings, here, arm, item, run):
        first = asyncio.run(Attempts(settings, here, run, tell=lambda _words: None)(Turn(arm, item), None))
        asked = len(server.requests)
        attempts = Attempts(settings, here, run, tell=lambda _words: None)
        again = asyncio.run(attempts(Turn(arm, item), None))
        assert isinstance(first, Result)
        assert isinstance(again, Result)
        assert first.solved
        assert replace(again, finished_at=first.finished_at) == first
        assert len(server.requests) == asked
        assert not list(settings.benchmark_dir.rglob("environments")), "arms share those of their owner's home"
        one_place = settings.benchmark_dir / run.key / arm.name / "repository"
        assert (one_place / ".git").exists(), "lessons are about a repository, so all items are tried in the same place"
        attempts.clear()
        assert not (settings.benchmark_dir / run.key).exists()


def test_an_attempt_that_the_runs_budget_cut_off_is_tried_anew_with_more_and_paid_for_twice(tmp_path: Path) -> None:
    with WireServer(answer) as server, one_item(tmp_path, server) as (settings, here, arm, item, run):
        attempts = Attempts(settings, here, run, tell=lambda _words: None)
        broken = asyncio.run(attempts(Turn(arm, item), 0.9))
        assert isinstance(broken, BrokenOff)
        assert broken.reason.startswith("the budget is spent")
        paid = here.store.spent(run.key)[0]
        assert 0 < paid < 0.9
        result = asyncio.run(attempts(Turn(arm, item), 100.0))
        assert isinstance(result, Result)
        assert result.solved
        assert here.store.spent(run.key)[0] == pytest.approx(paid + result.cost_usd)


def test_two_runs_do_not_work_at_the_same_time(tmp_path: Path) -> None:
    with WireServer(answer) as server, one_item(tmp_path, server) as (settings, here, arm, _item, _run):
        with InstanceLock(settings.benchmark_lock_file), pytest.raises(AlreadyRunning):
            asyncio.run(run_arms(settings, here, [arm], Asked(mode=Mode.WORDS), tell=lambda _words: None))
        assert server.requests == []


def test_the_owners_own_tasks_pause_and_quiet_hours_go_first(tmp_path: Path) -> None:
    settings, now = settings_in(tmp_path), utc_now()
    assert _why_wait(settings, now) == ""
    assert "quiet" in _why_wait(settings_in(tmp_path, quiet_hours=["00:00-24:00"]), now)
    with ExitStack() as stack:
        settings.make_folders()
        store = open_store(settings, stack)
        store.queue.submit(TaskSpec(description="Add a field")).result()
        assert _why_wait(settings, now) == "", "it waits for a daemon, and there is none"
        with InstanceLock(settings.lock_file, settings.db_lock_file):
            assert _why_wait(settings, now) == "1 of your own tasks go first"
        store.queue.pause("I am at work").result()
        assert "I am at work" in _why_wait(settings, now)


def test_the_time_that_nobody_worked_on_a_task_is_not_counted() -> None:
    def at(second: int, kind: Kind = Kind.TASK_MOVED, **moved: str) -> Event:
        return Event(
            kind=kind, data={name.removesuffix("_"): status for name, status in moved.items()}, at=moment(second)
        )

    def moment(second: int) -> datetime:
        return datetime(2026, 11, 26, tzinfo=UTC) + timedelta(seconds=second)

    events = [
        at(0, to="queued"), at(5, to="running", from_="queued"), at(7),
        at(900, Kind.TASK_RECOVERED, to="queued", from_="running"),
        at(901, to="running", from_="queued"), at(911, to="scheduled", from_="running"),
        at(2000, to="running", from_="scheduled"), at(2003, to="done", from_="running"),
    ]  # fmt: skip
    assert seconds_of_work(events) == 2 + 10 + 3
    assert seconds_of_work([]) == 0
