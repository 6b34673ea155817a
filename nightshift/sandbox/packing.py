"""Packs the files of a run into one block of bytes, which the trusted parent inside reads from its standard input.

All files of a small tree enter a run that way, so a sandbox can be started before it is known what it will run. A large
tree is mounted from the start (`sandbox.trees`). This module checks names and limits sizes outside the sandbox.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from nightshift.core.code.paths import git_folder, path_fault
from nightshift.core.errors import SandboxError

MAX_BYTES = 512 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """Files as one block of bytes.

    Attributes:
        index: the path, size in bytes and SHA-256 of each file, in the order of the files in `blob`.
        blob: the bytes of all files.
    """

    index: tuple[tuple[str, int, str], ...]
    blob: bytes

    @property
    def digests(self) -> dict[str, str]:
        """Map each path to the SHA-256 of its bytes."""
        return {path: digest for path, _, digest in self.index}


NOTHING = Packed(index=(), blob=b"")


def pack(files: Iterable[tuple[str, bytes]], *, from_tree: bool = False, most: int = MAX_BYTES) -> Packed:
    """Pack files.

    Args:
        files: pairs of path and bytes.
        from_tree: the paths come from a commit, where more names are allowed than for a model or task.
        most: maximum total number of bytes.

    Raises:
        SandboxError: a name is not allowed, or the files are too large.
    """
    index, parts, total = list[tuple[str, int, str]](), list[bytes](), 0
    for path, content in files:
        if why := tree_fault(path) if from_tree else path_fault(path):
            raise SandboxError(f"{path!r} cannot be staged: {why}")
        total += len(content)
        if total > most:
            raise SandboxError(f"the files of a run cannot be staged: more than {most >> 20} MB")
        index.append((path, len(content), sha256(content)))
        parts.append(content)
    paths = [path for path, _, _ in index]
    if not from_tree and (folder := git_folder(paths, paths)) is not None:
        raise SandboxError(f"the folder {folder or '.'!r} cannot be staged: git would take it for a repository")
    return Packed(index=tuple(index), blob=b"".join(parts))


def list_hidden(base: Collection[str], over: Collection[str]) -> set[str]:
    """List the paths of a tree that other files replace.

    A path of the tree is replaced by another file at the same path, at the path of a folder above it, or below it.
    """
    paths = sorted(base)
    hidden = {path for each in over for path in (each, *folders_of(each)) if path in base}
    for folder in (f"{path}/" for path in over):
        at = bisect_left(paths, folder)
        while at < len(paths) and paths[at].startswith(folder):
            hidden.add(paths[at])
            at += 1
    return hidden


def folders_of(path: str) -> list[str]:
    """Return the folders above a path, without the root."""
    return [path[:index] for index, char in enumerate(path) if char == "/"]


def tree_fault(path: str) -> str | None:
    """Return why a path from a commit cannot be packed; None if it can."""
    strange = path.startswith("/") or "\0" in path or any(part in {"", ".", "..", ".git"} for part in path.split("/"))
    return "not a path within a repository" if strange else None


def sha256(content: bytes) -> str:
    """Return the SHA-256 of a file's bytes."""
    return hashlib.sha256(content).hexdigest()


def digest_of(digests: Mapping[str, str]) -> str:
    """Return the digest of a whole tree: the SHA-256 of its sorted paths, each with the digest of its content."""
    total = hashlib.sha256()
    for path in sorted(digests):
        total.update(f"{path}\0{digests[path]}\n".encode("utf-8", "surrogatepass"))
    return total.hexdigest()
