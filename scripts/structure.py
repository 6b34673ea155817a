"""Counts the code, and follows a task through it: how many lines, files and classes, and how many files are passed.

    .venv/bin/python scripts/structure.py            # lines, files, classes of each package
    .venv/bin/python scripts/structure.py --walks    # also the files that a POST and a committed task pass

The walks are counted in the real daemon, which runs under a profiler with a scripted model: a file is passed when one
of its functions is called, and changed when a call or a return leads into another file of ours in the same thread.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import tokenize
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
OUTSIDE = {"tests"}
NO_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING}
RESULT = "NIGHTSHIFT_STRUCTURE"


@dataclass(frozen=True)
class Size:
    """Of one file, or of several together."""

    files: int = 0
    lines: int = 0
    code: int = 0
    classes: int = 0

    def __add__(self, other: Size) -> Size:
        return Size(
            self.files + other.files, self.lines + other.lines, self.code + other.code, self.classes + other.classes
        )


def size_of(path: Path) -> Size:
    """The size of a module; lines of code are those with a token that is neither comment nor docstring."""
    text = path.read_text()
    tree = ast.parse(text)
    documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    docstrings = {
        line
        for node in ast.walk(tree)
        if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None
        for line in range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1)
    }
    code: set[int] = set()
    with path.open("rb") as stream:
        for token in tokenize.tokenize(stream.readline):
            if token.type not in NO_CODE and token.string:
                code.update(range(token.start[0], token.end[0] + 1))
    classes = sum(isinstance(node, ast.ClassDef) for node in ast.walk(tree))
    return Size(files=1, lines=text.count("\n"), code=len(code - docstrings), classes=classes)


def sizes() -> Iterator[tuple[str, Size]]:
    """Each Python file that git tracks, by its package."""
    names = subprocess.run(["git", "ls-files", "*.py"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in names.split():
        if (ROOT / name).exists():
            yield name.partition("/")[0] if "/" in name else "(top level)", size_of(ROOT / name)


def count() -> None:
    """Print the sizes of all packages."""
    packages: dict[str, Size] = {}
    for package, size in sizes():
        packages[package] = packages.get(package, Size()) + size
    print(f"{'package':14}{'files':>7}{'lines':>9}{'code':>9}{'classes':>9}")
    inside = sum((size for name, size in packages.items() if name not in OUTSIDE), Size())
    rows = sorted(packages.items(), key=lambda row: -row[1].code)
    for name, size in [*rows, ("outside tests", inside)]:
        print(f"{name:14}{size.files:7}{size.lines:9}{size.code:9}{size.classes:9}")


class Profile:
    """Which files are passed by the threads of this process while it is on."""

    def __init__(self) -> None:
        self.passed: Counter[str] = Counter()
        self.changes = 0
        self._ours: dict[str, str] = {}
        self._on = False

    def turn(self, _number: int, _frame: FrameType | None) -> None:
        """Turn it on, or off; then what was seen is written down."""
        self._on = not self._on
        if not self._on:
            found = {"files": len(self.passed), "calls": self.passed.total(), "changes": self.changes}
            path = Path(os.environ[RESULT])
            path.with_suffix(".draft").write_text(json.dumps(found))
            path.with_suffix(".draft").replace(path)
        self.passed.clear()
        self.changes = 0

    def __call__(self, frame: FrameType, event: str, _argument: Any) -> None:
        """See one call or return."""
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


def profiled() -> int:
    """Run the daemon in this process, under a profile that SIGUSR2 turns on and off."""
    import main  # noqa: PLC0415 - its parts are loaded under the profile

    profile = Profile()
    signal.signal(signal.SIGUSR2, profile.turn)
    threading.setprofile(profile)
    sys.setprofile(profile)
    return main.main()


def walks() -> None:
    """Print what a POST and a committed task pass."""
    from tests.support.answers import Answers, job  # noqa: PLC0415 - what only the walks need
    from tests.support.daemon import settings_for, until  # noqa: PLC0415 - as above
    from tests.support.wire_server import WireServer  # noqa: PLC0415 - as above

    with tempfile.TemporaryDirectory() as folder, WireServer(Answers()) as server:
        result = Path(folder) / "result.json"
        settings = {**settings_for(server), RESULT: str(result), "WORKER_COUNT": "1", "RECALL_CONTROL_SHARE": "0"}
        with _daemon(Path(folder) / "home", settings) as daemon:
            daemon.wait(daemon.submit(**job(1)))  # what is loaded or remembered once is not the task's
            assert daemon.process

            def seen() -> dict[str, int]:
                daemon.process and daemon.process.send_signal(signal.SIGUSR2)
                until(result.exists)
                found: dict[str, int] = json.loads(result.read_text())
                result.unlink()
                return found

            daemon.ask("POST", "/api/pause", {})
            daemon.process.send_signal(signal.SIGUSR2)
            task = daemon.submit(**job(2))
            print("POST /api/task: {files} files, {calls} calls, {changes} changes of file".format(**seen()))
            daemon.process.send_signal(signal.SIGUSR2)
            daemon.ask("POST", "/api/resume", {})
            daemon.wait(task)
            print("committed task: {files} files, {calls} calls, {changes} changes of file".format(**seen()))


def _daemon(home: Path, settings: dict[str, str]) -> Any:
    from tests.support.daemon import Daemon  # noqa: PLC0415 - as above

    class Profiled(Daemon):
        """The daemon in a process that counts."""

        def _spawned(self) -> subprocess.Popen[bytes]:
            with (self.home / "daemon.out").open("ab") as out:
                return subprocess.Popen(
                    [sys.executable, __file__, "--inside"],
                    env=self.environment(), cwd=self.home, stdout=out, stderr=subprocess.STDOUT,
                    stdin=subprocess.DEVNULL,
                )  # fmt: skip

    return Profiled(home, settings)


def main_() -> int:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--walks", action="store_true", help="follow a POST and a committed task")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.inside:
        return profiled()
    count()
    if asked.walks:
        walks()
    return 0


if __name__ == "__main__":
    sys.exit(main_())
