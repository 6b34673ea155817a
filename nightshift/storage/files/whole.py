"""Writes a file so that a crash or a power cut leaves the old one or the new one, never a part of either.

The way is the usual one: write a draft beside it, flush the draft, rename it, flush the folder. Without the first flush
the new name may stand on an empty file, without the second the old name may come back. See Pillai et al., “All File
Systems Are Not Created Equal”, OSDI 2014.
"""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path


def write_whole(path: Path, content: str | bytes, *, mode: int = 0o644) -> None:
    """Write a file, or replace it; its folder is made where it is missing.

    Args:
        path: the file.
        content: all of it; text is stored as UTF-8.
        mode: its permissions, from the moment it is there.

    Raises:
        OSError: it could not be written; what stood there before is as it was.
    """
    draft = _draft(path, content, mode)
    try:
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    flush(path.parent)


def write_once(path: Path, content: str | bytes, *, mode: int = 0o644) -> bool:
    """Write a file unless it exists; of several who try at once, one does it. Tells whether it was this one.

    Raises:
        OSError: it could not be written.
    """
    if path.exists():
        return False
    draft = _draft(path, content, mode)
    try:
        os.link(draft, path)
    except FileExistsError:
        return False
    finally:
        draft.unlink(missing_ok=True)
    flush(path.parent)
    return True


def forbid_others_to_write() -> None:
    """Make this process, and what it starts, create all files and folders so that no other user may write to them.

    Without it a umask of 000, as some services have it, leaves a database that everybody may write to. One that lets a
    group write is its owner's choice.
    """
    mask = os.umask(0o022)
    os.umask(mask if mask & 0o002 else mask | 0o022)


def publish(part: Path, path: Path) -> None:
    """Give a complete file that stands in the same folder its name, so that it survives a power cut."""
    flush(part)
    part.replace(path)
    flush(path.parent)


def flush(path: Path) -> None:
    """Have a file's content, or a folder's entries, on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _draft(path: Path, content: str | bytes, mode: int) -> Path:
    """The content on the disk under a name of its own, which no other thread or process takes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}")
    raw = content.encode() if isinstance(content, str) else content
    with contextlib.suppress(FileNotFoundError):  # of a process of that number that died
        draft.unlink()
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(raw)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    return draft
