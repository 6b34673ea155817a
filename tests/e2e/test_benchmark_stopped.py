"""Ctrl-C or a kill at many points of a benchmark run: no result is lost, and no work is repeated."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from nightshift.config.load import settings_at
from nightshift.config.places import find_places
from nightshift.report.benchmark.store import BenchmarkStore, RunState
from tests.e2e.test_benchmark_run import bench, read_words
from tests.support.benchmark_shop import WRONG, answer, shop
from tests.support.daemon import ROOT, Daemon, settings_for
from tests.support.sandboxes import runtime
from tests.support.wire_server import WireServer

USD = 1000
"""Dollars per million tokens."""


class Breaking:
    """A benchmark process that gets a signal at its n-th request to the model, or soon after that request."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self.asked, self.at, self.signal = 0, 0, signal.SIGINT

    def __call__(self, phase: str, messages: list[dict[str, Any]]) -> str:
        self.asked += 1
        if self.process and self.asked == self.at:
            self.send()
        return answer(phase, messages)

    def send(self) -> None:
        """Send the signal as a terminal does: to the whole process group."""
        assert self.process
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, self.signal)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_run_that_is_broken_off_again_and_again_ends_as_if_it_never_was(
    tmp_path: Path, number: signal.Signals
) -> None:
    runtime()
    breaking, repo = Breaking(), shop(tmp_path / "shop")
    with WireServer(breaking) as server:
        price = {"input_per_million_usd": USD, "output_per_million_usd": USD}
        prices = json.dumps({server.model: price})
        home = Daemon(tmp_path / "home", settings_for(server, MAX_ITERATIONS="2", MODEL_PRICES=prices))
        home.home.mkdir()
        assert "3 items" in read_words(bench(home, "mine", str(repo)))
        path = settings_at(find_places(home.home)).benchmark_db_path
        words = ("run", str(repo), "--models", f"openai={server.model}")
        command = [sys.executable, str(ROOT / "cli.py"), "bench", *words]
        breaking.signal, outputs = number, list[str]()
        while True:
            breaking.asked, breaking.at = 0, 1 if len(outputs) < 2 else 2  # later runs each get one more reply
            breaking.process = subprocess.Popen(
                command, env=home.environment(), cwd=home.home, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                start_new_session=True,
            )  # fmt: skip
            outputs.append(breaking.process.communicate(timeout=300)[0].decode())
            assert "Traceback" not in outputs[-1], outputs[-1]
            if breaking.process.returncode == 0:
                break
            if number is signal.SIGINT:
                assert breaking.process.returncode == 130
                assert "stopped by hand; the same command continues it" in outputs[-1]
            with BenchmarkStore(path, readonly=True) as store:
                noted = store.spent()[0]
                assert noted >= sum(result.cost_usd for result in store.results()) - 1e-9
            assert len(outputs) < 20
        assert len(outputs) > 3
        with BenchmarkStore(path, readonly=True) as store:
            results, subjects = store.results(), {item.key: item.subject for item in store.items()}
            assert store.runs()[0].state is RunState.DONE
            assert Counter(result.item for result in results) == dict.fromkeys(subjects, 1)
            assert {subjects[result.item] for result in results if not result.solved} == {f"Add {WRONG}() to price.py"}
            assert store.spent()[0] == pytest.approx(sum(result.cost_usd for result in results))
