"""Follows a POST and a committed task through the code: how many files they pass (`scripts/size.py` counts lines).

    .venv/bin/python scripts/structure.py

The files are counted in the real daemon, which runs under a profiler with a scripted model. A file counts as passed
when one of its functions is called. A change of file is a call or a return that leads into another file of ours in the
same thread.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
RESULT = "NIGHTSHIFT_STRUCTURE"


class Profile:
    """The files that the threads of this process pass through while the profile is on."""

    def __init__(self) -> None:
        self.passed: Counter[str] = Counter()
        self.changes = 0
        self._ours: dict[str, str] = {}
        self._on = False

    def turn(self, _number: int, _frame: FrameType | None) -> None:
        """Switch the profile on or off; when it is switched off, write the counts to a file."""
        self._on = not self._on
        if not self._on:
            counts = {"files": len(self.passed), "calls": self.passed.total(), "changes": self.changes}
            path = Path(os.environ[RESULT])
            path.with_suffix(".draft").write_text(json.dumps(counts))
            path.with_suffix(".draft").replace(path)
        self.passed.clear()
        self.changes = 0

    def __call__(self, frame: FrameType, event: str, _argument: Any) -> None:
        """Process one call or return."""
        if not self._on or event not in {"call", "return"}:
            return
        here = self._name(frame)
        if here and event == "call":
            self.passed[here] += 1
        caller: FrameType | None = frame.f_back
        while caller is not None and not self._name(caller):
            caller = caller.f_back
        if here and caller is not None and self._name(caller) != here:
            self.changes += 1

    def _name(self, frame: FrameType) -> str:
        file = frame.f_code.co_filename
        if file not in self._ours:
            ours = file.startswith(f"{ROOT}/") and not file.startswith((f"{ROOT}/.", __file__))
            self._ours[file] = file if ours else ""
        return self._ours[file]


def run_profiled() -> int:
    """Run the daemon in this process, under a profile that SIGUSR2 switches on and off."""
    from nightshift.app import main  # noqa: PLC0415 - its parts are loaded under the profile

    profile = Profile()
    signal.signal(signal.SIGUSR2, profile.turn)
    threading.setprofile(profile)
    sys.setprofile(profile)
    return main.main()


def walks() -> None:
    """Print the files that a POST and a committed task pass."""
    from tests.support.answers import Answers, job  # noqa: PLC0415 - what only the walks need
    from tests.support.daemon import settings_for, until  # noqa: PLC0415 - as above
    from tests.support.wire_server import WireServer  # noqa: PLC0415 - as above

    with tempfile.TemporaryDirectory() as folder, WireServer(Answers()) as server:
        result = Path(folder) / "result.json"
        settings = {**settings_for(server), RESULT: str(result), "WORKER_COUNT": "1", "RECALL_CONTROL_SHARE": "0"}
        with _daemon(Path(folder) / "home", settings) as daemon:
            daemon.wait(daemon.submit(**job(1)))  # imports and caches are not part of the task's cost
            assert daemon.process

            def read_counts() -> dict[str, int]:
                daemon.process and daemon.process.send_signal(signal.SIGUSR2)
                until(result.exists)
                counts: dict[str, int] = json.loads(result.read_text())
                result.unlink()
                return counts

            daemon.ask("POST", "/api/pause", {})
            daemon.process.send_signal(signal.SIGUSR2)
            task = daemon.submit(**job(2))
            print("POST /api/task: {files} files, {calls} calls, {changes} changes of file".format(**read_counts()))
            daemon.process.send_signal(signal.SIGUSR2)
            daemon.ask("POST", "/api/resume", {})
            daemon.wait(task)
            print("committed task: {files} files, {calls} calls, {changes} changes of file".format(**read_counts()))


def _daemon(home: Path, settings: dict[str, str]) -> Any:
    from tests.support.daemon import Daemon  # noqa: PLC0415 - as above

    class Profiled(Daemon):
        """The daemon in a profiled process."""

        def _spawn(self) -> subprocess.Popen[bytes]:
            with (self.home / "daemon.out").open("ab") as out:
                return subprocess.Popen(
                    [sys.executable, __file__, "--inside"],
                    env=self.environment(), cwd=self.home, stdout=out, stderr=subprocess.STDOUT,
                    stdin=subprocess.DEVNULL,
                )  # fmt: skip

    return Profiled(home, settings)


def main_() -> int:
    """Parse the command line, and run the daemon or print the table; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.inside:
        return run_profiled()
    walks()
    return 0


if __name__ == "__main__":
    sys.exit(main_())
