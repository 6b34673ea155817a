"""Soak test: runs weeks of a daemon's life in an hour, and checks that its resources do not grow.

    .venv/bin/python bench/soak.py [--minutes M] [--weeks N] [--tasks-a-day N]

The daemon is the real one in a process of its own. Only its clocks are moved (bench/soak_inside.py), an hour at a time,
so that nothing sleeps. Each simulated day the daemon does some tasks against a scripted model, then the rest of the day
passes. Each week it reaches a checkpoint and waits. The report of the week is made again from the database, and every
byte of it must be the same; then the owner resumes. The test runs until `--minutes` are over, and for at least
`--weeks` (20).

The daemon's resources are read from /proc at each checkpoint. The second half of the weeks must show no growth: for
each figure, the slope of a straight line through its values is printed per week, with the slope's maximum. The exit
code is 1 if any check failed.
"""

# ruff: noqa: E402  the path comes first: this folder's queue.py would hide the standard library's
from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[0] = str(ROOT)

import argparse
import re
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from itertools import zip_longest
from statistics import linear_regression
from typing import Any

from nightshift.queue import checkpoints
from nightshift.report.weekly import summarise, write_report
from nightshift.storage.db.database import Database
from tests.support.answers import RIGHT, TESTS, WRONG
from tests.support.daemon import Daemon, settings_for
from tests.support.scenarios import Scenario
from tests.support.wire_server import WireServer

SETTINGS = {"KEEP_EVENTS_DAYS": "14", "KEEP_WORK_DAYS": "7", "WORKER_COUNT": "2", "CHECKPOINT_DAYS": "7"}
HOURS = 24
FILES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """The resources that the daemon uses, and the folders of its home in megabytes."""

    memory_mb: float
    descriptors: float
    threads: float
    processes: float
    database_mb: float
    backups_mb: float
    logs_mb: float
    workspace_mb: float
    rest_mb: float


MOST = Use(
    memory_mb=0.5, descriptors=0.1, threads=0.1, processes=0.1, database_mb=0.3, backups_mb=1.5, logs_mb=1.0,
    workspace_mb=0.3, rest_mb=0.1,
)  # fmt: skip
"""Maximum growth of each figure per week, in the second half. The workspace grows by the commits of its tasks."""


class Again(Scenario):
    """Tasks that write the same few files repeatedly, so that the repository's tree does not grow."""

    def say(self, phase: str, n: int, text: str) -> str:
        """Answer wrongly at first, and rightly after a reflection; each version of a file is different."""
        version = re.search(r"as version (\d+)", text)
        if phase != "CODING" or version is None:
            return super().say(phase, n, text)
        code = RIGHT if f"number {n}" in text else WRONG
        return self.code(n, code + f"\n\nVERSION = {version[1]}\n")

    def version(self, number: int) -> dict[str, object]:
        """Return the task with that number."""
        n, version = number % FILES, number // FILES
        more = f"def test_version():\n    import job_{n}\n\n    assert job_{n}.VERSION == {version}\n"
        test = f"{TESTS.format(n=n)}\n\n{more}"
        return {"description": f"Write total() in job_{n}.py as version {version}", "tests": {f"test_job_{n}.py": test}}


class Soaked(Daemon):
    """The daemon of bench/soak_inside.py."""

    def _spawn(self) -> subprocess.Popen[bytes]:
        with (self.home / "daemon.out").open("ab") as out:
            return subprocess.Popen(
                [sys.executable, str(ROOT / "bench" / "soak_inside.py")],
                env=self.environment(), cwd=self.home, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=out,
            )  # fmt: skip

    def pass_hours(self, hours: int) -> None:
        """Let simulated hours pass."""
        assert self.process
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(f"pass {hours}\n".encode())
        self.process.stdin.flush()
        assert self.process.stdout.readline() == b"passed\n", self.output()[-2000:]

    def use(self) -> Use:
        """Read the resources that the daemon uses now."""
        assert self.process
        proc = Path(f"/proc/{self.process.pid}")
        status = dict(line.split(":", 1) for line in (proc / "status").read_text().splitlines() if ":" in line)
        sizes = {name: _megabytes(self.home / name) for name in ("db", "logs", "workspace")}
        backups = _megabytes(self.home / "db" / "backups")
        return Use(
            memory_mb=int(status["VmRSS"].split()[0]) / 1024,
            descriptors=len(list((proc / "fd").iterdir())),
            threads=int(status["Threads"]),
            processes=sum(len(file.read_text().split()) for file in (proc / "task").glob("*/children")),
            database_mb=sizes["db"] - backups,
            backups_mb=backups,
            logs_mb=sizes["logs"],
            workspace_mb=sizes["workspace"],
            rest_mb=_megabytes(self.home) - sum(sizes.values()),
        )


class Soak:
    """One soak test; `wrong` collects failed checks."""

    def __init__(self, daemon: Soaked, scenario: Again, tasks_a_day: int) -> None:
        self.daemon, self.scenario, self._tasks_a_day = daemon, scenario, tasks_a_day
        self.uses: list[Use] = []
        self.wrong: list[str] = []
        self.done = 0
        self._last = self._stand().last

    def week(self) -> None:
        """Run until the next checkpoint, and check it."""
        for _ in range(9):
            self._day()
            self.daemon.pass_hours(HOURS)
            if self._stand().waits:
                break
        else:
            raise AssertionError("no checkpoint in nine days")
        self.uses.append(self.daemon.use())
        self._compare()
        assert self.daemon.ask("POST", "/api/resume", {})[0] == 200

    def _day(self) -> None:
        numbers = [self.done + n + 1 for n in range(self._tasks_a_day)]
        self.done += len(numbers)
        ids = [self.daemon.submit(**self.scenario.version(n)) for n in numbers]
        for task in self.daemon.wait(*ids, within_s=120):
            if task["ending"] != "committed":
                self.wrong.append(f"task {task['task_id']} ended as {task['ending']}: {task['reason']}")

    def _stand(self) -> checkpoints.Checkpoints:
        with Database(self.daemon.home / "db" / "agent_logs.sqlite", readonly=True) as database:
            return checkpoints.read(database.reader())

    def _compare(self) -> None:
        """Make the week's report again, and check that every byte of it is the same."""
        since, self._last = self._last, self._stand().last
        assert since
        assert self._last
        with (
            tempfile.TemporaryDirectory() as folder,
            Database(self.daemon.home / "db" / "agent_logs.sqlite", readonly=True) as database,
        ):
            again = write_report(summarise(database, since, self._last), Path(folder))
            first = self.daemon.home / "reports" / again.name
            if not first.exists() or first.read_bytes() != again.read_bytes():
                self.wrong.append(
                    f"{again.name} is not the same when it is made again: {_first_difference(first, again)}"
                )


def _first_difference(first: Path, second: Path) -> str:
    if not first.exists():
        return "it was not there"
    lines = [path.read_text().splitlines() for path in (first, second)]
    pairs = (pair for pair in zip_longest(*lines, fillvalue="(nothing)") if pair[0] != pair[1])
    return " | ".join(text[:200] for text in next(pairs, ("the same lines",)))


def _megabytes(folder: Path) -> float:
    sizes = 0
    for path in folder.rglob("*"):
        try:
            stat = path.lstat()
        except OSError:
            continue
        sizes += stat.st_blocks * 512
    return sizes / 2**20


def slopes(uses: list[Use]) -> Mapping[str, float]:
    """Return the growth of each figure per week, by least squares over the second half."""
    half = uses[len(uses) // 2 :]
    weeks = list(range(len(half)))
    return {
        field.name: linear_regression(weeks, [getattr(use, field.name) for use in half]).slope for field in fields(Use)
    }


def table(uses: list[Use], grown: Mapping[str, float]) -> str:
    lines = ["| figure | first week | middle | last week | growth a week | at most |", "|---|---|---|---|---|---|"]
    first, middle, last, most = (asdict(use) for use in (uses[0], uses[len(uses) // 2], uses[-1], MOST))
    for name, slope in grown.items():
        figures = " | ".join(f"{each[name]:.1f}" for each in (first, middle, last))
        lines.append(f"| {name.replace('_mb', ', MB').replace('_', ' ')} | {figures} | {slope:+.3f} | {most[name]:g} |")
    return "\n".join(lines)


def run(folder: Path, options: Any) -> Soak:
    """Run the soak test in a folder."""
    scenario = Again()
    with WireServer(scenario.reply) as server:
        daemon = Soaked(folder / "home", settings_for(server, **SETTINGS))
        with daemon:
            daemon.wait(daemon.submit(**scenario.task(FILES)))
            soak, began = Soak(daemon, scenario, options.tasks_a_day), time.monotonic()
            while len(soak.uses) < options.weeks or time.monotonic() - began < options.minutes * 60:
                soak.week()
                server.requests.clear()
                print(f"week {len(soak.uses)}: {soak.uses[-1]} {soak.wrong}", file=sys.stderr, flush=True)
            print(f"{len(soak.uses)} weeks, {soak.done} tasks in {(time.monotonic() - began) / 60:.1f} minutes\n")
    return soak


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--minutes", type=float, default=60.0)
    words.add_argument("--weeks", type=int, default=20)
    words.add_argument("--tasks-a-day", type=int, default=4)
    options = words.parse_args()
    with tempfile.TemporaryDirectory(prefix="nightshift-soak-", ignore_cleanup_errors=True) as folder:
        soak = run(Path(folder), options)
    grown = slopes(soak.uses)
    print(table(soak.uses, grown))
    wrong = soak.wrong + [
        f"{name} grows by {slope:.3f} a week" for name, slope in grown.items() if slope > getattr(MOST, name)
    ]
    print(
        "\n"
        + ("\n".join(wrong) or "Each report was the same when it was made again; nothing grows beyond its measure.")
    )
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
