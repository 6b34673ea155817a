"""A benchmark's result decides, in the real daemon, which model starts a repository's tasks and with which settings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from nightshift.config.load import settings_at
from nightshift.config.places import find_places
from nightshift.core.clock import utc_now
from tests.support.answers import Answers, job
from tests.support.benchmarks import arm, read_stored
from tests.support.daemon import Daemon, settings_for
from tests.support.git_repo import make_repo
from tests.support.wire_server import WireServer

BIG = arm("big", backend="openai", model="big")
SMALL = arm("small", backend="openai", model="small")
READ = replace(SMALL, name="small-read", readers=True)


def test_a_task_is_begun_by_the_model_that_did_best_under_the_settings_it_did_best_with(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "shop", {"README.md": "A shop.\n"})
    with WireServer(Answers(), models=["big", "small"]) as server:
        settings = settings_for(
            server, MODEL_NAME="openai=big,openai=small", ROUTING="measured", WORKER_COUNT="1", ENABLE_REVIEW="true"
        )
        with Daemon(tmp_path / "home", settings) as daemon:
            path = settings_at(find_places(daemon.home)).benchmark_db_path
            solved_items = {BIG: range(2), SMALL: range(19), READ: range(12)}
            read_stored(path, str(repo), solved_items, finished_at=utc_now())

            taken = daemon.cli("bench", "use", str(repo), "--yes")
            assert taken.returncode == 0, taken.stderr
            (ended,) = daemon.wait(daemon.submit(**job(1), repo=str(repo)))
            assert ended["ending"] == "committed", ended["reason"]

            asked = [request.body["model"] for request in server.requests]
            log = daemon.get(f"/api/logs?task={ended['task_id']}&limit=500")["events"]
            log_text = "\n".join(f"{line['message']} {line.get('data', '')}" for line in log)
            assert asked[-1] == "small", "the owner's first is the big one, which plans at most"
            assert "openai=small answered CODING" in log_text
            assert "openai=small solved 19 of 20 benchmark items here today (counts as 6 attempts)" in log_text
            assert "openai=small works as the benchmark found best: no readers" in log_text
            phases = [step["phase"] for each in daemon.get(f"/api/task/{ended['task_id']}/timeline")["tries"]
                      for step in each["steps"]]  # fmt: skip
            assert "REVIEW" not in phases, "the settings would have it reviewed"

            daemon.cli("bench", "use", str(repo), "--off")
            before = len(server.requests)
            (second,) = daemon.wait(daemon.submit(**job(2), repo=str(repo), review=False))
            assert second["ending"] == "committed", second["reason"]
            log = daemon.get(f"/api/logs?task={second['task_id']}&limit=500")["events"]
            assert len(server.requests) > before
            assert not any("benchmark" in f"{line['message']} {line.get('data', '')}" for line in log)
