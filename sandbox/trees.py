"""Whole trees on disk, one folder a commit, made once and mounted read-only into every run that needs them."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from core.errors import SandboxError
from core.tree import Tree
from sandbox import staging

MAX_TREE_BYTES = 512 << 20
UNUSED_S = 86_400.0
_NOTE = "digests.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A tree on disk. `digests` is path to SHA-256 of each file, `size_bytes` that of all together."""

    folder: Path
    digests: Mapping[str, str]
    size_bytes: int


class TreeStore:
    """Keeps the trees that were used last; may be shared between threads.

    Args:
        folder: an existing folder of its own.
        keep: how many trees stay when nobody uses them.
    """

    def __init__(self, folder: Path, keep: int = 8) -> None:
        self._folder, self._keep = folder, keep
        self._stored: OrderedDict[str, Stored] = OrderedDict()
        self._users: dict[str, int] = {}
        self._lock, self._building = threading.Lock(), threading.Lock()
        self._remove_old()

    @contextlib.contextmanager
    def lease(self, tree: Tree) -> Iterator[Stored]:
        """The tree on disk; it stays there for as long as it is leased."""
        with self._lock:
            self._users[tree.commit] = self._users.get(tree.commit, 0) + 1
        try:
            yield self._get(tree)
        finally:
            with self._lock:
                self._users[tree.commit] -= 1
                unused = self._unused()
            for stored in unused:
                shutil.rmtree(stored.folder.parent, ignore_errors=True)

    def _remove_old(self) -> None:
        """Remove what earlier daemons left and nobody used for a while; another process may still use the rest."""
        oldest = time.time() - UNUSED_S
        for note in self._folder.glob(f"*/{_NOTE}"):
            if note.stat().st_mtime < oldest:
                shutil.rmtree(note.parent, ignore_errors=True)

    def _get(self, tree: Tree) -> Stored:
        with self._building:  # one at a time: two jobs on the same commit wait for the same folder
            with self._lock:
                known = self._stored.get(tree.commit)
            stored = known or self._load(tree)
            with self._lock:
                self._stored[tree.commit] = stored
                self._stored.move_to_end(tree.commit)
        return stored

    def _unused(self) -> list[Stored]:
        self._users = {commit: count for commit, count in self._users.items() if count}
        idle = [commit for commit in self._stored if commit not in self._users]
        return [self._stored.pop(commit) for commit in idle[: max(0, len(self._stored) - self._keep)]]

    def _load(self, tree: Tree) -> Stored:
        """Take what an earlier daemon made, or make it: beside its place, moved there in one step."""
        target = self._folder / tree.commit
        files, note = target / "files", target / _NOTE
        if not note.exists():
            building = self._folder / f"{os.getpid()}-{tree.commit}"
            shutil.rmtree(building, ignore_errors=True)
            shutil.rmtree(target, ignore_errors=True)
            _open_folder(building)
            _open_folder(building / "files")
            digests = staging.write(building / "files", _contents(tree), from_tree=True)
            (building / _NOTE).write_text(json.dumps(digests))
            building.rename(target)
        note.touch()
        found: dict[str, str] = json.loads(note.read_text())
        return Stored(folder=files, digests=found, size_bytes=sum((files / path).stat().st_size for path in found))


def _open_folder(folder: Path) -> None:
    folder.mkdir()
    folder.chmod(0o755)


def _contents(tree: Tree) -> Iterator[tuple[str, bytes]]:
    left = MAX_TREE_BYTES
    for path in tree.entries():
        content = tree.read(path)
        left -= len(content)
        if left < 0:
            raise SandboxError(f"{tree.commit[:10]} cannot be staged: more than {MAX_TREE_BYTES >> 20} MB")
        yield path, content
