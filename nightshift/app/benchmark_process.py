"""Runs of the benchmark that begin on the dashboard: the command of the terminal, as a child process of the daemon."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from nightshift.config.load import Settings
from nightshift.config.places import ROOT, is_held
from nightshift.core.clock import Clock, utc_now
from nightshift.core.errors import BenchmarkError
from nightshift.report.benchmark.arms import of_models
from nightshift.report.benchmark.running import Asked
from nightshift.report.benchmark.store import BenchmarkStore, RunState
from nightshift.server.context import BenchmarkState

END_WITHIN_S = 20.0
MOST_TOLD = 2000
"""So many bytes of the end of what it says are looked at."""


class BenchmarkProcess:
    """At most one run at a time; see `server.context.BenchmarkPort`.

    Args:
        settings: those that hold now.
        clock: dates the end of runs.
    """

    def __init__(self, settings: Callable[[], Settings], clock: Clock = utc_now) -> None:
        self._settings, self._clock = settings, clock
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    def state(self) -> BenchmarkState:
        """Return the state of the run, also of one that was begun in a terminal."""
        running = self._is_alive() or is_held(self._settings().benchmark_lock_file)
        return BenchmarkState(is_running=running, said=self._said())

    def begin(self, repo: str, models: Sequence[str], asked: Asked, key: str = "") -> None:
        """Begin a run of these models, or go on with that of a key.

        Raises:
            BenchmarkError: one is under way, or a model is named wrongly.
        """
        if key:
            self._begin(repo, [f"--run={key}"])
            return
        of_models(models)
        if any("," in model for model in models):
            raise BenchmarkError("models: name each alone, without commas")
        words = [f"--models={','.join(models)}", f"--mode={asked.mode}"]
        words += [f"--items={asked.items}"] if asked.items else []
        words += [f"--budget={asked.budget_usd}"] if asked.budget_usd else []
        self._begin(repo, words)

    def stop(self, key: str) -> None:
        """Have a run end: what is from here puts its attempt down, one of a terminal stops after it."""
        if self.state().is_running:
            with BenchmarkStore(self._settings().benchmark_db_path) as store:
                store.end_run(key, RunState.STOPPED, "stopped on the dashboard", self._clock())
            self._signal()

    def close(self) -> None:
        """End what is from here; it can be gone on with."""
        self._signal()
        if self._process:
            try:
                self._process.wait(END_WITHIN_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()

    def _said(self) -> str:
        """The last line that the newest run from here told."""
        try:
            with self._output.open("rb") as file:
                file.seek(max(0, file.seek(0, 2) - MOST_TOLD))
                lines = file.read().decode("utf-8", "replace").splitlines()
        except OSError:
            return ""
        return next((line for line in reversed(lines) if line.strip()), "")

    @property
    def _output(self) -> Path:
        return self._settings().benchmark_dir / "output.txt"

    def _is_alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def _signal(self) -> None:
        if self._process and self._is_alive():
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(signal.SIGINT)

    def _begin(self, repo: str, words: Sequence[str]) -> None:
        with self._lock:
            if self.state().is_running:
                raise BenchmarkError("a run is under way; stop it first")
            settings = self._settings()
            settings.benchmark_dir.mkdir(parents=True, exist_ok=True)
            command = [sys.executable, "-m", "nightshift", "bench", "run", *words, "--", repo]
            with self._output.open("wb") as output:
                # Its own session: a Ctrl-C in the daemon's terminal reaches it once, through `close`.
                self._process = subprocess.Popen(
                    command, cwd=ROOT, env=dict(settings.own_environment), start_new_session=True,
                    stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                )  # fmt: skip
