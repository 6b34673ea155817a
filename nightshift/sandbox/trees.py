"""Writes each commit's tree to a folder that all runs of this tree share.

The folder is one layer of a run's working folder. A tree is written once. If a tree differs little from one that is
already written, only the difference is written. A file that a run may write is never a hard link to a file in these
folders: the files belong to the jobs' user, so a job could change a file's mode and write through the link. Therefore
isolations mount a private file system over the folders, or copy them.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from nightshift.core.code.tree import Tree, save
from nightshift.core.errors import SandboxError
from nightshift.core.isolation import Layer
from nightshift.sandbox import job_folders, launcher
from nightshift.sandbox.packing import NOTHING, Packed, list_hidden, pack, tree_fault

UNUSED_S, IDLE_S = 86_400.0, 7_200.0
"""Seconds without use after which a tree is removed. The first value applies to every tree; the second applies if there
are more trees than the number to keep. No run takes that long.
"""
LOOKS, MOST_APART = 3, 500
"""Number of recently used trees with which a new tree is compared, and maximum number of files in which they may
differ.
"""
SENT_FILES, SENT_BYTES = 300, 4 << 20
"""Maximum size of a tree that is sent to each run at its start, so that any waiting sandbox can be used for the run."""
PAGE = 4096
_INDEX = ".json"


class File(NamedTuple):
    """A file of a tree: the git id of its content, its size in bytes, and the SHA-256 of its content."""

    id: str
    size: int
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Below:
    """The part of a tree that a run sees, below the run's own files.

    Attributes:
        layers: folders that the isolation shows in the working folder.
        gone: paths in the layers that are removed before the run's own files are written.
        packed: files that are sent instead of layers.
        digests: maps paths to SHA-256, for the files of the tree that the run sees.
    """

    layers: tuple[Layer, ...] = ()
    gone: tuple[str, ...] = ()
    packed: Packed = NOTHING
    digests: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Laid:
    """A tree that is written to folders.

    Attributes:
        layers: the folders. Files in later folders replace those in earlier ones.
        files: maps the path of each file of the tree to its data.
        gone: paths that are in the layers but not in the tree.
    """

    layers: tuple[Layer, ...]
    files: Mapping[str, File]
    gone: frozenset[str] = frozenset()

    def below(self, over: Collection[str], removed: Collection[str] = ()) -> Below:
        """Return the part of the tree that a run sees.

        `over` are the paths of the run's own files, which hide files of the tree. `removed` are paths of the tree that
        the run must not see.

        Raises:
            SandboxError: the tree has been removed in the meantime.
        """
        left_out = list_hidden(self.files, over) | (self.files.keys() & set(removed))
        digests = {path: file.digest for path, file in self.files.items() if path not in left_out}
        if len(self.files) > SENT_FILES or sum(file.size for file in self.files.values()) > SENT_BYTES:
            return Below(layers=self.layers, gone=tuple(sorted(left_out | self.gone)), digests=digests)
        return Below(packed=pack(((path, self._read(path)) for path in digests), from_tree=True), digests=digests)

    def _read(self, path: str) -> bytes:
        for layer in reversed(self.layers):
            with contextlib.suppress(FileNotFoundError):
                return (layer.host / path).read_bytes()
        raise SandboxError(f"{path!r} is missing from a stored tree")


class TreeStore:
    """Stores the most recently used trees. Several threads and processes may share its folder.

    Args:
        folder: a folder for this store alone, created if needed. If jobs cannot enter it, a substitute is used
            (`job_folders`).
        keep: number of trees that are kept whatever their size.
        idle_s: seconds without use after which other trees are removed.
    """

    def __init__(self, folder: Path, keep: int = 8, idle_s: float = IDLE_S) -> None:
        self._folder, self._keep, self._idle_s = job_folders.private(folder), keep, idle_s
        with self._lock():
            self._make_room()

    def get(self, tree: Tree) -> Laid:
        """Return a tree as layers. The tree is written first if needed.

        Raises:
            SandboxError: the tree has names that cannot be used, or the disk refused a write.
        """
        try:
            with self._lock():
                if not self._index(tree.commit).exists():
                    self._lay_out(tree)
                    self._make_room()
                return self._load(tree.commit)
        except OSError as error:
            raise SandboxError(
                f"the files of commit {tree.commit[:12]} could not be stored: {error.strerror}"
            ) from error

    @contextlib.contextmanager
    def _lock(self) -> Iterator[None]:
        """Serialise access to the store, because two jobs on the same commit need the same folder."""
        with (self._folder / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            os.utime(lock.fileno())
            yield

    def _index(self, name: str) -> Path:
        return self._folder / f"{name}{_INDEX}"

    def _load(self, name: str) -> Laid:
        """Read the index of a stored tree.

        Mark the tree as used now. If only its difference from another tree is stored, mark the other tree as well.
        """
        with self._index(name).open("rb") as index:
            header = json.loads(index.readline())
            files = {path: File(*each) for path, *each in map(json.loads, index)}
        self._index(name).touch()
        layer = Layer(host=self._folder / name, size_mb=_size_mb(files.values()))
        if not header["from"]:
            return Laid(layers=(layer,), files=files)
        base, gone = self._load(header["from"]), frozenset(header["gone"])
        files = {**{path: file for path, file in base.files.items() if path not in gone}, **files}
        return Laid(layers=(*base.layers, layer), files=dict(sorted(files.items())), gone=gone)

    def _lay_out(self, tree: Tree) -> None:
        entries = tree.entries()
        for name in self._list_bases():
            there = self._load(name).files
            apart = [path for path, id_ in entries.items() if path not in there or there[path].id != id_]
            gone = there.keys() - entries.keys()
            few = len(apart) + len(gone) <= min(MOST_APART, len(entries) // 4)
            if few and list_hidden(there, apart) <= set(apart):
                return self._write(tree, apart, {"from": name, "gone": sorted(gone)})
        return self._write(tree, entries, {"from": "", "gone": []})

    def _list_bases(self) -> Iterator[str]:
        """Yield the names of the most recently used trees that are stored as a whole, not as a difference."""
        for path in self._list_by_use()[:LOOKS]:
            with path.open("rb") as index:
                if not json.loads(index.readline())["from"]:
                    yield path.name.removesuffix(_INDEX)

    def _write(self, tree: Tree, paths: Collection[str], header: dict[str, Any]) -> None:
        folder = self._folder / tree.commit
        shutil.rmtree(folder, ignore_errors=True)  # the incomplete tree of a daemon that died
        folder.mkdir(0o755)
        _give(folder)
        folders = {folder}
        draft = folder.with_suffix(".draft")
        with draft.open("w") as index:
            index.write(f"{json.dumps(header)}\n")
            index.writelines(f"{json.dumps((path, *_save(tree, path, folder, folders)))}\n" for path in paths)
        draft.replace(self._index(tree.commit))

    def _list_by_use(self) -> list[Path]:
        """Return the indexes of the trees, the most recently used one first."""
        return sorted(self._folder.glob(f"*{_INDEX}"), key=lambda path: path.stat().st_mtime_ns, reverse=True)

    def _make_room(self) -> None:
        """Remove trees unused for a while, incomplete trees of dead processes, and files of older versions."""
        now = (self._folder / ".lock").stat().st_mtime  # by file times: the wall clock may be set, or may differ
        for rank, index in enumerate(self._list_by_use()):
            unused_s = now - index.stat().st_mtime
            if unused_s > UNUSED_S or (rank >= self._keep and unused_s >= self._idle_s):
                index.unlink()
        names = {path.name.removesuffix(_INDEX) for path in self._list_by_use()}
        for path in self._folder.iterdir():
            if path.name.removesuffix(_INDEX) not in names and path.name != ".lock":
                shutil.rmtree(path) if path.is_dir() else path.unlink()


def lay_out(tree: Tree, folder: Path) -> None:
    """Write all files of a tree to an existing folder, for the jobs' user.

    Raises:
        SandboxError: a name cannot be used.
    """
    folders = {folder}
    for path in tree.entries():
        _save(tree, path, folder, folders)


def _save(tree: Tree, path: str, folder: Path, folders: set[Path]) -> File:
    if why := tree_fault(path):
        raise SandboxError(f"{path!r} cannot be staged: {why}")
    target = folder / path
    for above in reversed(target.parents[: path.count("/")]):
        if above not in folders:
            above.mkdir(0o755)
            _give(above)
            folders.add(above)
    with target.open("x+b") as file:
        save(tree, path, file)
        size = file.tell()
        file.seek(0)
        os.fchmod(file.fileno(), 0o755 if file.read(2) == b"#!" else 0o644)
        file.seek(0)
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        _give(file.fileno())
    return File(tree.entries()[path], size, digest)


def _give(path: Path | int) -> None:
    """Give a path that the daemon created as root to the jobs' user, so that a run can change it in its view."""
    if os.geteuid() == 0:
        os.chown(path, launcher.JOB_UID, launcher.JOB_UID)


def _size_mb(files: Collection[File]) -> int:
    return (sum(file.size for file in files) + PAGE * len(files)) >> 20
