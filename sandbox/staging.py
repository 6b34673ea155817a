"""Writes files for a run into a fresh folder, safely: names checked, sizes capped, nothing followed or overwritten."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from core.errors import SandboxError
from core.submission import path_fault

MAX_FILE_BYTES = 64 << 20


@contextlib.contextmanager
def job_folder(parent: Path) -> Iterator[Path]:
    """A fresh folder for one run; it and all that is in it are gone afterwards."""
    folder = parent / f"{os.getpid()}-{os.urandom(6).hex()}"
    folder.mkdir()
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def sweep(parent: Path) -> None:
    """Remove folders whose daemon is gone."""
    for folder in parent.iterdir():
        owner = folder.name.partition("-")[0]
        if owner.isdigit() and not Path("/proc", owner).exists():
            shutil.rmtree(folder, ignore_errors=True)


def write(folder: Path, files: Iterable[tuple[str, bytes]], *, from_tree: bool = False) -> dict[str, str]:
    """Write files below an existing folder that holds none of them yet; returns path to SHA-256 of its bytes.

    Scripts (first bytes `#!`) are made executable, since a path and its text are all that is known of a file.

    Args:
        folder: where.
        files: pairs of path and bytes.
        from_tree: the paths are those of a commit, which may be stranger than what a model or task may name.

    Raises:
        SandboxError: a name is not allowed or taken, or a file is too large.
    """
    made, digests = {""}, dict[str, str]()
    for path, content in files:
        if why := _tree_fault(path) if from_tree else path_fault(path):
            raise SandboxError(f"{path!r} cannot be staged: {why}")
        if len(content) > MAX_FILE_BYTES:
            raise SandboxError(f"{path!r} cannot be staged: larger than {MAX_FILE_BYTES >> 20} MB")
        _make_folders(folder, path.rpartition("/")[0], made)
        _create(folder / path, content)
        digests[path] = sha256(content)
    return digests


def _tree_fault(path: str) -> str | None:
    strange = path.startswith("/") or "\0" in path or any(part in {"", ".", "..", ".git"} for part in path.split("/"))
    return "not a path within a repository" if strange else None


def _make_folders(root: Path, folder: str, made: set[str]) -> None:
    if folder not in made:
        _make_folders(root, folder.rpartition("/")[0], made)
        path = root / folder
        path.mkdir(exist_ok=True)
        path.chmod(0o755)  # whatever the umask: the jobs' user must be able to enter
        made.add(folder)


def _create(path: Path, content: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags, 0o600)
    except OSError as error:
        raise SandboxError(f"{path.name!r} cannot be staged: {error.strerror}") from error
    with os.fdopen(descriptor, "wb") as file:
        os.fchmod(descriptor, 0o755 if content.startswith(b"#!") else 0o644)
        file.write(content)


def sha256(content: bytes) -> str:
    """The digest of a file's bytes."""
    return hashlib.sha256(content).hexdigest()


def digest_of(digests: Mapping[str, str]) -> str:
    """One digest of a whole tree: SHA-256 over its sorted paths and the digests of their bytes."""
    total = hashlib.sha256()
    for path in sorted(digests):
        total.update(f"{path}\0{digests[path]}\n".encode("utf-8", "surrogatepass"))
    return total.hexdigest()


def encoded(text: str) -> bytes:
    """A text as a file's bytes; lone surrogates, which a model may write, survive as they are."""
    return text.encode("utf-8", "surrogatepass")
