"""Notices that the program's files were replaced while the daemon runs, by an upgrade, a clean-up or a renamed folder.

Many modules and prompts are loaded only when they are needed. After a replacement they would be of another version than
the loaded ones, and each task would fail. Therefore no task is started until the daemon is restarted.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
# Minimum seconds between two checks of the files. A check of a thousand files takes some milliseconds.
LOOK_S = 5.0
# Timeout in seconds for loading the new version as a test.
TRY_S = 120.0
_Stamp = tuple[int, int, int]


class ProgramFiles:
    """Compares the program's files with their state at construction time. Must be used on the loop's thread.

    Args:
        folder: the package of the program.
        needed: files and folders outside the package that every start needs.
    """

    def __init__(self, folder: Path = PACKAGE, needed: Sequence[Path] = ()) -> None:
        self._folder = folder
        self._needed = [path for path in (folder, Path(sys.executable), Path(os.__file__), *needed) if path.exists()]
        self._stamps = self._read_stamps()
        self._digests = {path: _digest(path) for path in self._stamps}
        self._looked_at, self._change = time.monotonic(), ""

    def find_change(self) -> str:
        """Return a sentence about replaced files, as a reason to pause; empty if nothing has changed."""
        if time.monotonic() - self._looked_at >= LOOK_S:
            self._change = self._find()
            self._looked_at = time.monotonic()
        return self._change

    def _find(self) -> str:
        if gone := next((path for path in self._needed if not path.exists()), None):
            return f"{gone} is gone; set the program up again (`make setup`) and restart the daemon"
        stamps = self._read_stamps()
        changed = [path for path in {*stamps, *self._stamps} if stamps.get(path) != self._stamps.get(path)]
        different = [path for path in changed if _digest(path) != self._digests.get(path)]
        if not different:  # the content is the same, although the file was rewritten
            self._stamps |= {path: stamps[path] for path in changed if path in stamps}
            return ""
        return f"{len(different)} files of the program were replaced; restart the daemon to use the new version"

    def _read_stamps(self) -> dict[Path, _Stamp]:
        return dict(_walk(self._folder)) | dict(_stamp(Path(os.__file__)))


def can_start() -> bool:
    """Check whether a daemon could start with the current files, by loading them in a new process.

    Blocks for some seconds.
    """
    command = [sys.executable, "-c", "import nightshift.app.daemon"]
    try:
        done = subprocess.run(command, cwd=PACKAGE.parent, capture_output=True, timeout=TRY_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _walk(folder: Path) -> Iterator[tuple[Path, _Stamp]]:
    try:
        entries = list(os.scandir(folder))
    except OSError:  # If the folder was removed meanwhile, its files count as gone.
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            if entry.name != "__pycache__":
                yield from _walk(Path(entry.path))
        elif not entry.name.endswith((".pyc", "~", ".swp")):
            yield from _stamp(Path(entry.path))


def _stamp(path: Path) -> Iterator[tuple[Path, _Stamp]]:
    try:
        status = path.stat()
    except OSError:
        return
    yield path, (status.st_mtime_ns, status.st_size, status.st_ino)


def _digest(path: Path) -> bytes:
    try:
        return hashlib.sha256(path.read_bytes()).digest()
    except OSError:
        return b""
