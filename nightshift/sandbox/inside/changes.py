"""Detects which files below the working folder have changed since they were unpacked.

A file is read again only if its inode, size or change time differs. No program can set the change time. So a large tree
costs only one `stat` for each file. No other process may change files during the detection.
"""
# Importing pathlib would cost every start of the sandbox some milliseconds.
# ruff: noqa: PTH101, PTH123

from __future__ import annotations

import hashlib
import os
import re
import stat
from typing import Any

IGNORED = frozenset({
    "__pycache__", ".pytest_cache", ".hypothesis", "node_modules", ".mypy_cache", ".ruff_cache",
})  # fmt: skip
IGNORED_ENDS = (".pyc", ".egg-info")
MOST_FILES, MOST_FILE, MOST_BYTES = 40, 1 << 20, 4 << 20
"""Limits of a report: the number of files, the bytes of one file, and the bytes of all files."""
MOST_NAMED, MOST_NEW = 40, 20_000
"""Number of ignored paths that are named, and number of new entries that are examined."""
_NUL, _CONTROLS = re.compile(r"\0"), re.compile(r"[\0-\x08\x0e-\x1a\x1c-\x1f]")
"""Characters that do not occur in text files. The second set applies if the file is not valid UTF-8."""


class Before:
    """The tree as it was unpacked: the digest of each path, and a stamp that shows whether a file was touched."""

    def __init__(self, job: dict[str, Any]) -> None:
        self.digests: dict[str, str] = job["digests"]
        self.stamps = {path: stamp(os.lstat(path)) for path in self.digests}
        # File times have a resolution of some milliseconds. A file with the newest of these times may have been changed
        # again without a new time, so it is read as well.
        self.newest = max((changed for _, _, changed in self.stamps.values()), default=0)

    def has(self, path: str, status: os.stat_result) -> bool:
        """Return True if a file is certainly unchanged."""
        current = stamp(status)
        return self.stamps.get(path) == current and current[2] < self.newest


def stamp(status: os.stat_result) -> tuple[int, int, int]:
    """Return a value that differs after any change to the content of a file."""
    return status.st_ino, status.st_size, status.st_ctime_ns


def list_changes(before: Before) -> tuple[dict[str, str | None], dict[str, str]]:
    """Return the changed files and the ignored changes.

    Changed files are a mapping from the path to the new text, or to None for a removed file. Ignored changes are a
    mapping from the path to the reason.
    """
    try:
        touched, dropped = walk(before)
    except OverflowError as error:
        return {}, {".": str(error)}
    gone = {path for path in before.digests if path not in touched and not is_ignored(path) and is_gone(path)}
    changed, left = dict[str, "str | None"](), MOST_BYTES
    for path in sorted({*gone, *(path for path, status in touched.items() if status)}):
        try:
            raw = b"" if path in gone else content(path, before.digests.get(path))
        except OSError as error:
            dropped[path] = str(error.strerror)
            continue
        if raw is None:
            continue
        text, why = (None, "") if path in gone else readable(raw)
        if not why and len(changed) == MOST_FILES:
            why = f"more than {MOST_FILES} files were changed"
        if not why and len(raw) > left:
            why = f"the changed files have more than {MOST_BYTES >> 20} MB"
        if why:
            dropped[path] = why
            continue
        changed[path] = text
        left -= len(raw)
    return changed, name_dropped(dropped)


def walk(before: Before) -> tuple[dict[str, os.stat_result | None], dict[str, str]]:
    """Find the files that may have changed.

    Returns two mappings. The first maps the path of each file to its stat result, or to None if the file has not
    changed. The second maps the paths of ignored entries to the reasons.

    Raises:
        OverflowError: there are too many entries.
    """
    touched, dropped = dict[str, "os.stat_result | None"](), dict[str, str]()
    left = len(before.digests) + MOST_NEW
    folders = [""]
    while folders:
        folder = folders.pop()
        try:
            entries = list_entries(folder or ".")
        except OSError as error:
            dropped[folder] = str(error.strerror)
            continue
        left -= len(entries)
        if left < 0:
            raise OverflowError(f"more than {MOST_NEW} new files: nothing that the command did to files counts")
        for entry in entries:
            path = f"{folder}{entry.name}"
            if is_ignored(entry.name):
                continue
            if entry.is_symlink():
                dropped[path], touched[path] = "is a symbolic link", None
            elif entry.is_dir(follow_symlinks=False):
                if entry.name.lower() == ".git":
                    dropped[path] = "belongs to git"
                else:
                    folders.append(f"{path}/")
            elif not entry.is_file(follow_symlinks=False):
                dropped[path], touched[path] = "is no regular file", None
            else:
                status = entry.stat(follow_symlinks=False)
                touched[path] = None if before.has(path, status) else status
    return touched, dropped


def list_entries(folder: str) -> list[os.DirEntry[str]]:
    """List the entries of a folder. If its permissions forbid that, they are changed first."""
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except PermissionError:
        os.chmod(folder, 0o700)
        with os.scandir(folder) as entries:
            return list(entries)


def is_ignored(path: str) -> bool:
    """Check whether a path is, or is inside, a by-product of tools."""
    return any(part in IGNORED or part.endswith(IGNORED_ENDS) for part in path.split("/"))


def is_gone(path: str) -> bool:
    """Check whether there is no file at a path any more."""
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return True


def content(path: str, digest: str | None) -> bytes | None:
    """Return a file's bytes, at most one byte more than the limit; None if they match the digest."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except PermissionError:
        os.chmod(path, 0o600)
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with open(descriptor, "rb") as file:
        raw = file.read(MOST_FILE + 1)
        if digest:
            total = hashlib.sha256(raw)
            while part := file.read(MOST_FILE):
                total.update(part)
            if total.hexdigest() == digest:
                return None
    return raw


def readable(raw: bytes) -> tuple[str | None, str]:
    """Return a file's text, or None and the reason why it is not text."""
    if len(raw) > MOST_FILE:
        return None, f"is larger than {MOST_FILE >> 20} MB"
    text = raw.decode("utf-8", "surrogateescape")  # like core.text.encoding, which cannot be imported inside
    foreign = any("\udc80" <= char <= "\udcff" for char in text)
    return text, "is no text" if (_CONTROLS if foreign else _NUL).search(text) else ""


def name_dropped(dropped: dict[str, str]) -> dict[str, str]:
    """Return the first of these ignored paths with their reasons. The last entry states how many more there are."""
    names = sorted(dropped)
    shown = {name: dropped[name] for name in names[:MOST_NAMED]}
    more = len(names) - len(shown)
    return {**shown, f"… and {more} more": "not listed"} if more else shown
