"""The table of code sizes.

The tests cover what is counted, that a rise fails the check, and that raising a number requires a reason.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from scripts import size
from tests.support.daemon import git

CORE, SERVER, REMOTE = (size.PACKAGES[name][0] for name in ("core", "server", "remote"))


@dataclass(frozen=True)
class Checkout:
    """A repository with the script in it."""

    folder: Path

    def run(self, *arguments: str) -> tuple[int, str]:
        """Run the script; return its exit code and its output."""
        argv = [sys.executable, "scripts/size.py", *arguments]
        done = subprocess.run(argv, cwd=self.folder, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def write(self, file: str, text: str) -> None:
        path = self.folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        git(self.folder, "add", "-A")

    @property
    def table(self) -> dict[str, Any]:
        return tomllib.loads((self.folder / "size.toml").read_text())


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    new_checkout = Checkout(tmp_path)
    (tmp_path / "scripts").mkdir()
    shutil.copy(size.__file__, tmp_path / "scripts" / "size.py")
    git(tmp_path, "init", "-q")
    new_checkout.write(f"{CORE}a.py", "A = 1\nB = 2\n")
    new_checkout.write(f"{SERVER}static/app/a.js", "let a;\n\nlet b;\n")
    new_checkout.write(f"{REMOTE}migrations/1.sql", "SELECT 1;\n")
    assert new_checkout.run("--write") == (0, "")
    return new_checkout


def test_a_rise_is_written_only_if_it_is_named_with_its_reason(checkout: Checkout) -> None:
    before = checkout.table
    checkout.write(f"{CORE}a.py", "A = 1\nB = 2\nC = 3\n")
    assert checkout.run("--write")[0] == 1
    assert checkout.run("--write", "--raise", "core.code", "--because", "x")[0] == 1, "the statements rose as well"
    assert checkout.table == before
    for wrong in (["--raise", "core"], ["--because", "x"], ["--raise", "core", "--because", " "]):
        assert checkout.run("--write", *wrong)[0] == 2
    assert checkout.run("--write", "--raise", "agent.code", "--because", "x")[0] == 2, "it did not rise"
    reason = 'C is "new"'
    arguments = ("--raise", "core.code", "--raise", "core.statements", "--because", reason)
    assert checkout.run("--write", *arguments) == (0, "")
    assert checkout.table["raised"] == [
        {"what": f"core.{column}", "before": 2, "after": 3, "because": reason} for column in ("code", "statements")
    ]
    assert checkout.run("--check") == (0, "")
