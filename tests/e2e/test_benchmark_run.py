"""The benchmark as its owner uses it: mined, run with two arms (configurations), killed, continued and reported."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

from nightshift.config.load import settings_at
from nightshift.config.places import find_places
from nightshift.storage.db.benchmark_store import BenchmarkStore, Mode, RunState
from tests.support.benchmark_shop import WRONG, answer, shop
from tests.support.daemon import ROOT, Daemon, settings_for, until
from tests.support.sandboxes import runtime
from tests.support.wire_server import WireServer


def bench(home: Daemon, *words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, str(ROOT / "cli.py"), "bench", *words], env=home.environment(), cwd=home.home,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip


def read_words(process: subprocess.Popen[bytes]) -> str:
    out, _ = process.communicate(timeout=600)
    return out.decode()


def test_a_run_that_is_killed_goes_on_without_a_lost_or_doubled_item(tmp_path: Path) -> None:
    runtime()  # the command needs a runtime that already exists
    repo = shop(tmp_path / "shop")
    with WireServer(answer) as server:
        home = Daemon(tmp_path / "home", settings_for(server, MAX_ITERATIONS="2"))
        home.home.mkdir()
        mined = bench(home, "mine", str(repo))
        assert "3 items" in read_words(mined)
        path = settings_at(find_places(home.home)).benchmark_db_path
        arms = tmp_path / "arms.yaml"
        arms.write_text(
            f"- {{name: plain, model: openai={server.model}, protocol: edit}}\n"
            f"- {{name: looking, model: openai={server.model}, protocol: edit, memory: true}}\n"
        )
        words = ("run", str(repo), "--arms", str(arms), "--mode", str(Mode.WORDS))
        for finished in (0, 2):
            process = bench(home, *words)
            until(lambda: process.poll() is not None or results(path) > finished, 300)  # noqa: B023  called at once
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
            process.communicate()
        text = read_words(bench(home, *words))
        assert "done" in text, text
        with BenchmarkStore(path, readonly=True) as store:
            stored_results, (run,) = store.results(mode=Mode.WORDS), store.runs()
            assert run.state is RunState.DONE
            assert Counter((result.item, result.arm) for result in stored_results) == Counter(
                {(item.key, arm): 1 for item in store.items() for arm in ("plain", "looking")}
            )
            subjects = {item.key: item.subject for item in store.items()}
            assert {subjects[result.item] for result in stored_results if not result.solved} == {
                f"Add {WRONG}() to price.py"
            }
        assert not (home.home / "state" / "benchmark" / run.key).exists()
        report = json.loads(read_words(bench(home, "report", str(repo), "--json")))
        assert {arm["arm"]["name"]: arm["solved"] for arm in report["arms"]} == {
            name: {"part": 2, "whole": 3} for name in ("plain", "looking")
        }


def results(path: Path) -> int:
    with BenchmarkStore(path, readonly=True) as store:
        return len(store.results())
