"""Measure a new owner's start, from `make run` in a clean clone with an empty home to the first commit.

    python3 bench/fresh.py [--against COMMIT] [--test]

The script prints these figures for each commit:

- seconds to a healthy daemon, and seconds to the first commit
- megabytes on disk: the checkout with its environment, and the files written to the home
- the daemon's memory right after its first tasks, and when it is idle
- processor seconds of `--version`, `--help` and `--status`, with the daemon up and down
- with `--test`, the minutes of `make test`

The script needs access to the package index. Its own imports are from the standard library only.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEALTHY_WALL_S, COMMIT_WALL_S = 1200.0, 300.0
IDLE_AFTER_S = 30.0


class Trial:
    """A clone of one commit, with a home of its own."""

    def __init__(self, folder: Path, commit: str) -> None:
        self.clone, self.home = folder / "clone", folder / "home"
        self.home.mkdir(parents=True)
        subprocess.run(["git", "clone", "-q", ROOT, self.clone], check=True)
        subprocess.run(["git", "checkout", "-q", commit], cwd=self.clone, check=True)
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self.port = listener.getsockname()[1]
        # Without PYTHONDONTWRITEBYTECODE bytecode files are written, as an owner's Python writes them.
        other = ("NIGHTSHIFT", "XDG_", "PYTHONDONTWRITEBYTECODE")
        environ = {name: value for name, value in os.environ.items() if not name.startswith(other)}
        self.environ = {**environ, "HOME": str(self.home), "FLASK_PORT": str(self.port)}

    @contextmanager
    def daemon(self) -> Iterator[subprocess.Popen[bytes]]:
        """Run `make run` while the block runs."""
        with (self.home / "run.log").open("wb") as log:
            process = subprocess.Popen(
                ["make", "run"], cwd=self.clone, env=self.environ, stdout=log, stderr=log, start_new_session=True
            )
            try:
                yield process
            finally:
                os.killpg(process.pid, signal.SIGTERM)
                process.wait()

    def ask(self, path: str) -> object:
        """Send a request to the API and return the answer; None if the API does not answer."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=5) as answer:
                return json.load(answer)
        except (urllib.error.URLError, OSError, ValueError):
            return None

    def has_commit(self) -> bool:
        """Check whether a task has landed."""
        answer = self.ask("/api/commits?limit=1")
        return isinstance(answer, dict) and bool(answer.get("commits"))

    def processor_s(self, *words: str) -> float:
        """Return the processor time of a command line call in seconds.

        The result is the minimum of ten calls, because the daemon uses the processor at the same time.
        """
        return min(self._processor_s(words) for _ in range(10))

    def _processor_s(self, words: tuple[str, ...]) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        argv = [".venv/bin/python", "cli.py", *words]
        subprocess.run(argv, cwd=self.clone, env=self.environ, capture_output=True, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime

    def memory_mb(self, process: subprocess.Popen[bytes]) -> float:
        """Return the memory of the daemon's own process and its helpers, without sandboxes, in MB."""
        total = 0
        for folder in Path("/proc").iterdir():
            if folder.name.isdigit() and _is_of(folder, process.pid):
                total += _private_kb(folder)
        return total / 1024


def _is_of(folder: Path, session: int) -> bool:
    try:
        ours = int((folder / "stat").read_text().rpartition(")")[2].split()[3]) == session
        return ours and b"main.py" in (folder / "cmdline").read_bytes()
    except OSError:
        return False


def _private_kb(folder: Path) -> int:
    try:
        lines = (folder / "smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def megabytes(folder: Path) -> float:
    """Return the size of a folder on disk in MB; a hard-linked file counts once."""
    done = subprocess.run(["du", "-sm", folder], capture_output=True, text=True, check=True)
    return float(done.stdout.split()[0])


def wait(what: str, condition: Callable[[], object], began: float, wall_s: float) -> float:
    """Wait until `condition()` is true; return the seconds since `began`."""
    while not condition():
        if time.monotonic() - began > wall_s:
            raise SystemExit(f"{what}: not within {wall_s:.0f} s")
        time.sleep(0.05)
    return time.monotonic() - began


def measure(folder: Path, commit: str, *, test: bool) -> dict[str, float]:
    """Return all figures of one commit."""
    trial, figures = Trial(folder, commit), dict[str, float]()
    began = time.monotonic()
    with trial.daemon() as process:
        figures["healthy, s"] = wait("healthy", lambda: trial.ask("/healthz"), began, HEALTHY_WALL_S)
        figures["first commit, s"] = wait("commit", trial.has_commit, began, HEALTHY_WALL_S + COMMIT_WALL_S)
        figures["on disk, MB"] = megabytes(trial.clone) + megabytes(trial.home)
        figures["memory at work, MB"] = trial.memory_mb(process)
        figures["--version, CPU s"] = trial.processor_s("--version")
        figures["--help, CPU s"] = trial.processor_s("--help")
        figures["--status up, CPU s"] = trial.processor_s("--status")
        time.sleep(IDLE_AFTER_S)
        figures["memory later, MB"] = trial.memory_mb(process)
    figures["--status down, CPU s"] = trial.processor_s("--status")
    if test:
        began = time.monotonic()
        done = subprocess.run(["make", "test"], cwd=trial.clone, env=trial.environ, capture_output=True, check=False)
        figures["make test, min"] = (time.monotonic() - began) / 60
        figures["make test, exit code"] = done.returncode
    return figures


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", metavar="COMMIT", help="another commit to measure in the same run")
    parser.add_argument("--test", action="store_true", help="also `make test`")
    given = parser.parse_args()
    commits = ["HEAD", *([given.against] if given.against else [])]
    with tempfile.TemporaryDirectory(prefix="fresh-") as folder:
        by_commit = {
            commit: measure(Path(folder, str(at)), commit, test=given.test) for at, commit in enumerate(commits)
        }
    print(f"{'':24}" + "".join(f"{commit:>14}" for commit in by_commit))
    for name in by_commit["HEAD"]:
        print(f"{name:24}" + "".join(f"{figures.get(name, float('nan')):14.2f}" for figures in by_commit.values()))


if __name__ == "__main__":
    main()
