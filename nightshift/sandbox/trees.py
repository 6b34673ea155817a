"""Whole trees, packed once for each commit and kept on disk for the runs to come."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from nightshift.core.code.tree import Tree
from nightshift.sandbox.packing import Packed, pack

UNUSED_S = 86_400.0
_SUFFIX = ".tree"


class TreeStore:
    """Keeps the trees that were used last; may be shared between threads and processes.

    Args:
        folder: an existing folder of its own.
        keep: how many trees stay.
    """

    def __init__(self, folder: Path, keep: int = 8) -> None:
        self._folder, self._keep = folder, keep
        self._building = threading.Lock()
        self._sweep(time.time() - UNUSED_S)

    def get(self, tree: Tree) -> Packed:
        """The packed tree.

        Raises:
            SandboxError: it is too large, or has names that cannot be staged.
        """
        path = self._folder / f"{tree.commit}{_SUFFIX}"
        with self._building:  # one at a time: two jobs on the same commit wait for the same file
            found = _read(path)
            if found is None:
                found = pack(_contents(tree), from_tree=True)
                _write(path, found)
                self._make_room()
            else:
                path.touch()
        return found

    def _sweep(self, oldest: float) -> None:
        """Remove what nobody used for a while, and drafts of the dead; what is being read stays readable."""
        for path in self._folder.iterdir():
            if path.stat().st_mtime < oldest or _abandoned(path):
                path.unlink(missing_ok=True)

    def _make_room(self) -> None:
        kept = sorted(self._folder.glob(f"*{_SUFFIX}"), key=lambda path: path.stat().st_mtime_ns, reverse=True)
        for path in kept[self._keep :]:
            path.unlink(missing_ok=True)


def _abandoned(path: Path) -> bool:
    """Tell whether it is the draft of a process that is gone."""
    number = path.suffix.removeprefix(".")
    return number.isdecimal() and not Path("/proc", number).exists()


def _contents(tree: Tree) -> Iterator[tuple[str, bytes]]:
    return ((path, tree.read(path)) for path in tree.entries())


def _read(path: Path) -> Packed | None:
    try:
        first, _, blob = path.read_bytes().partition(b"\n")
    except FileNotFoundError:
        return None
    return Packed(index=tuple((name, size, digest) for name, size, digest in json.loads(first)), blob=blob)


def _write(path: Path, packed: Packed) -> None:
    beside = path.with_suffix(f".{os.getpid()}")
    beside.write_bytes(json.dumps(packed.index).encode() + b"\n" + packed.blob)
    beside.replace(path)
