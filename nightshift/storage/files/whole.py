"""Writes a file so that a crash or a power cut leaves either the old or the new file, never a part of one.

The method is a common one: write a draft beside the file, flush the draft, rename it, and flush the folder. Without the
first flush, the new name may refer to an empty file; without the second, the old file may come back. See Pillai et al.,
“All File Systems Are Not Created Equal”, OSDI 2014.
"""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path


def write_whole(path: Path, content: str | bytes, *, mode: int = 0o644) -> None:
    """Write a file, or replace it. The folder is created if it is missing.

    Args:
        path: the file.
        content: the whole content; text is stored as UTF-8.
        mode: the file's permissions, which it has from the beginning.

    Raises:
        OSError: the file could not be written; an existing file is left unchanged.
    """
    draft = _draft(path, content, mode)
    try:
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    flush(path.parent)


def write_once(path: Path, content: str | bytes, *, mode: int = 0o644) -> bool:
    """Write a file unless it exists; return True if it was written. If several processes try, only one succeeds.

    Raises:
        OSError: the file could not be written.
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
    """Make this process and its child processes create files and folders that no other user may write to.

    Without this, a umask of 000, which some services have, leaves a database that everybody may write to. A umask that
    lets a group write is left unchanged, as it is the owner's choice.
    """
    mask = os.umask(0o022)
    os.umask(mask if mask & 0o002 else mask | 0o022)


def publish(part: Path, path: Path) -> None:
    """Rename a complete file to its final name in the same folder, so that the file survives a power cut."""
    flush(part)
    part.replace(path)
    flush(path.parent)


def flush(path: Path) -> None:
    """Flush a file's content, or a folder's entries, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _draft(path: Path, content: str | bytes, mode: int) -> Path:
    """Write the content to a temporary file whose name no other thread or process uses; return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}")
    raw = content.encode() if isinstance(content, str) else content
    with contextlib.suppress(FileNotFoundError):  # left by a dead process with the same number
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
