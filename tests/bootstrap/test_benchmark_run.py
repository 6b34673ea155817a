"""An attempt of the benchmark, and what goes before it."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from benchmark.arms import of_models
from benchmark.store import Mode
from bootstrap.benchmark import mine_commits, opened, validate_candidates
from bootstrap.benchmark_run import Attempts, _why_wait
from bootstrap.store import open_store
from config import Settings, settings_at
from core.clock import utc_now
from core.tasks import TaskSpec
from maintenance.instance_lock import InstanceLock
from settings.places import find_places
from tests.support.benchmark_shop import answer, shop
from tests.support.sandboxes import runtime
from tests.support.wire_server import WireServer


def settings_in(home: Path, **flags: object) -> Settings:
    return settings_at(find_places(home), flags)


def test_an_attempt_whose_result_was_not_stored_gives_it_again_and_asks_nobody(tmp_path: Path) -> None:
    runtime()
    with WireServer(answer) as server:
        home = tmp_path / "home"
        home.mkdir()
        (home / "config.yaml").write_text(
            f"openai_api_key: k\nopenai_base_url: {server.openai_base_url}\nmax_iterations: 2\n"
        )
        settings = settings_in(home)
        with opened(settings, str(shop(tmp_path / "shop", only="half"))) as here:
            mine_commits(here)
            asyncio.run(validate_candidates(here, settings, 1, lambda _one: None))
            (item,), (arm,) = here.store.items(), of_models([f"openai={server.model}"])
            here.store.add_arm(arm)
            run = here.store.begin_run(here.repo, Mode.WORDS, [arm.name], [item.key], utc_now())
            attempts = Attempts(settings, here, run, tell=lambda _words: None)
            first = asyncio.run(attempts(arm, item, None))
        asked = len(server.requests)
        with opened(settings, str(tmp_path / "shop")) as here:
            attempts = Attempts(settings, here, run, tell=lambda _words: None)
            again = asyncio.run(attempts(arm, item, None))
        assert first is not None
        assert again is not None
        assert first.solved
        assert replace(again, finished_at=first.finished_at) == first
        assert len(server.requests) == asked
        attempts.clear()
        assert not (settings.benchmark_dir / run.key).exists()


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
