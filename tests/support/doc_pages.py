"""The files that a page of docs/reference shows, and a copy of our package that uses them as the page says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_FENCE = re.compile(r"^```\w+ path=(\S+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def list_shown_files(page: str) -> dict[str, str]:
    """Return the files in a page of docs/reference as a mapping of path to text."""
    return dict(_FENCE.findall((ROOT / "docs" / "reference" / page).read_text()))


def follow(page: str, folder: Path) -> Path:
    """Copy `nightshift/` into a folder, write the page's modules and apply its diffs as a reader would."""
    shutil.copytree(ROOT / "nightshift", folder / "nightshift", ignore=shutil.ignore_patterns("__pycache__"))
    for path, text in list_shown_files(page).items():
        target = folder / path
        target.parent.mkdir(exist_ok=True)
        target.write_text(text)
        if path.endswith(".diff"):
            # Git would search the parent folders for a repository. If it found one, it would skip files outside of the
            # current folder.
            env = {**os.environ, "GIT_CEILING_DIRECTORIES": str(folder.parent)}
            subprocess.run(["git", "apply", str(target)], cwd=folder, env=env, check=True)
    return folder


def run_in(folder: Path, code: str, *words: str) -> str:
    """Run code with the copied package and our tests' support on the import path; return what it printed."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join((str(folder), str(ROOT)))}
    argv = [sys.executable, "-P", "-c", code, *words]
    done = subprocess.run(argv, cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
