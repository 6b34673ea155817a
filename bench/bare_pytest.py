"""Runs plain pytest on commits of a repository, and measures the result of each test and the cost of the run."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

OWNER = ("-c", "user.name=Owner", "-c", "user.email=owner@example.org", "-c", "core.hooksPath=/dev/null")
LONGEST_CPU_S = 150
_PLUGIN = """
import json, os

ended = {}


def pytest_runtest_logreport(report):
    if report.when == "call" or report.outcome != "passed":
        if ended.get(report.nodeid) != "failed":
            ended[report.nodeid] = report.outcome


def pytest_collectreport(report):
    if report.failed:
        ended[report.nodeid] = "failed"


def pytest_sessionfinish():
    with open(os.environ["BARE_RESULTS"], "w") as file:
        json.dump(ended, file)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """The results and the cost of one run of pytest.

    `ended` maps the id of each test to `passed`, `failed` or `skipped`; it is empty if the run was cut off. `cpu_s` and
    `wall_s` are seconds of processor time and of wall time.
    """

    ended: Mapping[str, str] = field(default_factory=dict)
    cpu_s: float = 0.0
    wall_s: float = 0.0

    @property
    def passing(self) -> frozenset[str]:
        """Ids of the tests that passed."""
        return frozenset(name for name, how in self.ended.items() if how == "passed")

    @property
    def failing(self) -> frozenset[str]:
        """Ids of the tests that failed, and of the files that could not be collected."""
        return frozenset(name for name, how in self.ended.items() if how == "failed")


def git(repo: Path, *words: str, text: str | None = None) -> str:
    """Run git as the repository's owner and return its output.

    Raises:
        subprocess.CalledProcessError: git failed.
    """
    command = ["git", *OWNER, *words]
    done = subprocess.run(command, cwd=repo, input=text, capture_output=True, text=True, check=True)
    return done.stdout.strip("\n")


class Checkout:
    """A working tree of a repository, with an interpreter that runs its tests.

    Args:
        repo: the repository.
        folder: the folder of the working tree, which is created.
        python: an interpreter with pytest and all packages that the tests import.
    """

    def __init__(self, repo: Path, folder: Path, python: Path) -> None:
        self.folder, self._python = folder, python
        git(repo, "worktree", "add", "-q", "--detach", str(folder))
        self._plugin = folder.with_name(f"{folder.name}-plugin")
        self._plugin.mkdir(exist_ok=True)
        (self._plugin / "bare_results.py").write_text(_PLUGIN)

    def at(self, commit: str) -> None:
        """Check out a commit, and delete all files that are not part of the commit."""
        git(self.folder, "checkout", "-q", "--force", "--detach", commit)
        git(self.folder, "clean", "-fdxq")

    def put(self, files: Mapping[str, str | None]) -> None:
        """Write these files; delete each file whose text is None."""
        for path, text in files.items():
            target = self.folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.unlink(missing_ok=True)
            if text is not None:
                target.write_text(text, newline="")

    def read(self, path: str) -> str | None:
        """Return the text of a file; None if it does not exist or is not text."""
        try:
            return (self.folder / path).read_bytes().decode()
        except (OSError, UnicodeDecodeError):
            return None

    def run(self, paths: Collection[str]) -> Ran:
        """Run these test files in one pytest process, with a limit of `LONGEST_CPU_S` seconds of processor time."""
        there = sorted(path for path in paths if (self.folder / path).is_file())
        if not there:
            return Ran()
        results = self._plugin / "results.json"
        results.unlink(missing_ok=True)
        words = ["-q", "--tb=no", "-p", "no:cacheprovider", "-p", "bare_results"]
        words += ["--continue-on-collection-errors", "--import-mode=prepend"]
        roots = [self.folder, *([self.folder / "src"] if (self.folder / "src").is_dir() else []), self._plugin]
        began = time.perf_counter()
        process = subprocess.Popen(
            [self._python, "-m", "pytest", *words, *there], cwd=self.folder, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, env=_environment(results, roots),
        )  # fmt: skip
        resource.prlimit(process.pid, resource.RLIMIT_CPU, (LONGEST_CPU_S, LONGEST_CPU_S))
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        wall_s = time.perf_counter() - began
        ended = json.loads(results.read_text()) if results.exists() else {}
        return Ran(ended=ended, cpu_s=usage.ru_utime + usage.ru_stime, wall_s=wall_s)


def _environment(results: Path, roots: Iterable[Path]) -> dict[str, str]:
    return {
        "PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": os.pathsep.join(map(str, roots)), "BARE_RESULTS": str(results), "PYTHONHASHSEED": "0",
    }  # fmt: skip


def install(python: Path, packages: Collection[str]) -> None:
    """Install the missing packages into the environment of `python`, with the `pip` on the PATH.

    Raises:
        subprocess.CalledProcessError: pip failed.
    """
    (site,) = python.parent.parent.glob("lib/python3*/site-packages")
    missing = [name for name in packages if not (site / name).exists()]
    pip = shutil.which("pip") or "pip"
    if missing:
        words = ["install", "-q", "--only-binary=:all:", "--target", str(site), *missing]
        subprocess.run([pip, *words], check=True, capture_output=True)
