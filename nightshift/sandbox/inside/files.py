"""Unpacks the files of a run into the workspace, and watches the files that must not change.

No permission can protect the tests, because the tested code runs as the same user and may write in their folder.
Instead, a process that the tested code cannot reach watches the tests by inotify. The kernel reports to it every write,
replacement or move, even if the change was undone. In addition, the files are read-only. Therefore a change through a
memory map, which inotify does not report, requires a change of the file's mode first, which inotify does report.
"""
# Importing pathlib would cost every start of the sandbox some milliseconds.
# ruff: noqa: PTH101, PTH103, PTH106, PTH108, PTH120, PTH208, PTH211

import json
import os
import struct
from collections.abc import Collection, Iterable, Iterator
from typing import IO, Any

SCRIPT, PLAIN, FIXED = 0o755, 0o644, 0o444
WRITTEN, ATTRIBUTES, CLOSED, MOVED, DELETED = 0x2, 0x4, 0x8, 0x800, 0x400
EVENT = struct.Struct("iIII")
OVERFLOW = 0x4000
Files = dict[str, bytes]


def receive(descriptor: int) -> tuple[dict[str, Any], IO[bytes]]:
    """Receive the instructions. Return them as a dictionary, with the stream from which the files' bytes follow."""
    source = open(descriptor, "rb", buffering=1 << 16, closefd=False)  # noqa: SIM115 (the caller reads on)
    return json.loads(source.read(int(source.readline()))), source


def contents(job: dict[str, Any], source: IO[bytes]) -> Iterator[tuple[str, bytes]]:
    """Yield the path and the bytes of each file that is sent, as the files arrive.

    Args:
        job: its field `files` has the path and the size in bytes of each file.
        source: the stream with the bytes of all files.
    """
    for path, size in job["files"]:
        content = source.read(size)
        if len(content) != size:
            raise SystemExit("the files were cut off")
        yield path, content


def unpack(job: dict[str, Any], source: IO[bytes]) -> None:
    """Write the files of a job to the working folder, with their modes, and create the links of its tree.

    Args:
        job: its field `files`, and optionally `fixed`, `gone`, `programs` (files that may be executed) and `links`.
        source: the stream with the bytes of all files.
    """
    write(contents(job, source), job.get("fixed", ()), job.get("gone", ()))
    for path in job.get("programs", ()):
        os.chmod(path, SCRIPT)
    folders = {""}
    for path, target in job.get("links", ()):
        if not os.path.lexists(path):
            folder = os.path.dirname(path)
            if folder not in folders:
                os.makedirs(folder, exist_ok=True)
                folders.add(folder)
            os.symlink(target, path)


def write(files: Iterable[tuple[str, bytes]], fixed: Collection[str], gone: Collection[str] = ()) -> None:
    """Write files to the working folder, replacing existing ones.

    Args:
        files: pairs of path and bytes.
        fixed: files that become read-only. They may be files that existed before.
        gone: files that are removed first, together with folders that become empty.
    """
    folders = {""}
    os.umask(0o022)
    for path in gone:
        os.unlink(path)
    for folder in sorted({folder for path in gone for folder in above(path)}, reverse=True):
        if not os.listdir(folder):
            os.rmdir(folder)
    for path, content in files:
        put(path, content, folders)
    for path in fixed:
        os.chmod(path, FIXED)


def put(path: str, content: bytes, folders: set[str]) -> None:
    """Write one new file. `folders` is the set of folders that exist, to which new ones are added."""
    folder = os.path.dirname(path)
    if folder not in folders:
        os.makedirs(folder, exist_ok=True)
        folders.add(folder)
    mode = SCRIPT if content[:2] == b"#!" else PLAIN
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
    while content:
        content = content[os.write(descriptor, content) :]
    os.close(descriptor)


class Watch:
    """Detects which of some files were touched since this object was created.

    The kernel allows only a few watches for each user, and other jobs of the same user may have used them all. In that
    case the change times are compared instead, because no program can set a change time. That is as reliable, but a new
    file beside a test counts as a change too.
    """

    def __init__(self, paths: list[str]) -> None:
        import ctypes  # noqa: PLC0415 (slow; by now the child imports pytest beside it)

        self._libc, self._errno = ctypes.CDLL(None, use_errno=True), ctypes.get_errno
        self._names: dict[int, str] = {}
        self._folders = {folder: file for file in paths for folder in above(file)}
        self._before: dict[str, tuple[int, ...]] | None = None
        try:
            self._descriptor = self._check_result(self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
            for path in paths:
                self._add(path, WRITTEN | ATTRIBUTES | CLOSED | MOVED | DELETED, path)
            for folder, path in self._folders.items():
                self._add(folder, MOVED | DELETED, path)
        except OSError:
            self._before = {path: stamp(path) for path in (*paths, *self._folders)}

    def _add(self, path: str, mask: int, name: str) -> None:
        self._names[self._check_result(self._libc.inotify_add_watch(self._descriptor, os.fsencode(path), mask))] = name

    def _check_result(self, number: int) -> int:
        if number < 0:
            raise OSError(self._errno(), os.strerror(self._errno()))
        return number

    def touched(self) -> list[str]:
        """Return the paths that were written, replaced, moved or otherwise changed. Nothing may be running any more."""
        if self._before is not None:  # empty if nothing is watched
            return sorted({self._folders.get(p, p) for p, before in self._before.items() if stamp(p) != before})
        paths = set[str]()
        while True:
            try:
                events = os.read(self._descriptor, 1 << 16)
            except BlockingIOError:
                return sorted(paths)
            while events:
                number, mask, _, length = EVENT.unpack_from(events)
                paths |= set(self._names.values()) if mask & OVERFLOW else {self._names[number]}
                events = events[EVENT.size + length :]


def stamp(path: str) -> tuple[int, ...]:
    """Return a value that differs after any change to a file or folder; empty if it does not exist."""
    try:
        status = os.lstat(path)
    except OSError:
        return ()
    return status.st_dev, status.st_ino, status.st_mode, status.st_ctime_ns


def above(path: str) -> list[str]:
    """Return the folders above a path, without the root."""
    return [path[:index] for index, char in enumerate(path) if char == "/"]
