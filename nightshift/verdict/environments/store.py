"""Stores read-only folders by name; a folder is made once and can be mounted in any number of runs.

A folder is built beside its final path and then renamed, so an existing folder is complete. A note beside the folder,
`NAME.json`, describes its content and contains its size; the note's modification time is the time of the folder's last
use. A lock allows only one maker at a time to work on a name, across tasks and processes. An unfinished folder of a
killed maker is never used, and the next maker removes it.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import os
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from nightshift.core.clock import Clock, utc_now
from nightshift.core.errors import SandboxError
from nightshift.sandbox import interpreter, job_folders

KEEP, BUILT_WITHIN, IN_USE = timedelta(days=30), timedelta(days=1), timedelta(hours=2)
_LOOK_S, _LOOK_AT_SIZE_S = 0.1, 2.0
_LOCK = ".lock"
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """An entry of a store.

    Attributes:
        name: the name of the folder and of its note.
        note: the content of the note.
        used_at: the time of the last use.
        size_bytes: the size of the folder on disk.
    """

    name: str
    note: Any
    used_at: datetime
    size_bytes: int


class FolderStore:
    """Stores folders.

    Args:
        folder: the store's folder, created if it is missing. If jobs cannot enter it, a substitute is used.
        keep_mb: megabytes that all folders together may use; the least recently used folders are removed first.
        clock: the time, for sweeping.

    Raises:
        SandboxError: the folder cannot be made.
    """

    def __init__(self, folder: Path, *, keep_mb: float, clock: Clock = utc_now) -> None:
        self._wanted, self._keep_mb, self._clock = folder, keep_mb, clock
        self._folder = job_folders.public(folder)
        self._locks = WeakValueDictionary[str, asyncio.Lock]()
        self.sweep()

    def path(self, name: str) -> Path:
        """Return the path of the folder of this name, whether it exists or not."""
        return self._folder / name

    @contextlib.asynccontextmanager
    async def lock(self, name: str) -> AsyncIterator[None]:
        """Hold the lock of a name, in this process and others.

        If the store's folder or its substitute was deleted meanwhile, it is created again first.
        """
        if not (self._wanted.is_dir() and self._folder.is_dir()):
            self._folder = await asyncio.to_thread(job_folders.public, self._wanted)
        async with self._locks.setdefault(name, asyncio.Lock()):
            path = self._folder / f".{name}{_LOCK}"
            descriptor = await _hold_lock(path)
            try:
                yield
            finally:
                path.unlink(missing_ok=True)
                os.close(descriptor)

    async def build(self, name: str, fill: Callable[[Path], Awaitable[None]]) -> Path:
        """Fill a folder beside its final path, make it readable to all, and rename it.

        If the folder already exists, nothing is done. The caller must hold the lock of the name.

        Raises:
            SandboxError: it cannot be stored, or `fill` raised it.
        """
        target = self.path(name)
        if target.is_dir():
            return target
        building = self._folder / f".{name}-{os.getpid()}"
        for old in self._folder.glob(f".{name}-*"):
            await asyncio.to_thread(remove, old)
        try:
            building.mkdir()
            await fill(building)
            await asyncio.to_thread(interpreter.open_to_all, building)
            building.rename(target)
        except OSError as error:
            raise SandboxError(f"{name} cannot be stored: {error}") from error
        finally:
            await asyncio.to_thread(remove, building)
        return target

    def read(self, name: str) -> Any | None:
        """Return the content of a note and record its use; None if there is no valid note."""
        try:
            note = self._folder / f"{name}.json"
            content, _ = _read_note(note)
            self._note_use(note)
        except (OSError, ValueError):
            return None
        return content

    async def write(self, name: str, content: Any) -> None:
        """Write a note.

        If the note describes a folder, the folder must already exist, because the note contains its size.
        """
        note = self._folder / f"{name}.json"
        size_bytes = await asyncio.to_thread(size_of, self.path(name))
        temporary = note.with_name(f".{note.name}-{os.getpid()}")
        temporary.write_text(json.dumps({"size_bytes": size_bytes, "content": content}, indent=1))
        self._note_use(temporary)
        temporary.replace(note)

    def sweep(self, keep_mb: float | None = None) -> None:
        """Remove folders unused for long, and leftovers of interrupted builds; then enforce the size limit.

        If the folders together are too large, the least recently used ones are removed. Recent leftovers and recently
        used folders stay: other processes may be building, or a job may still use the folder.
        """
        oldest, begun = ((self._clock() - age).timestamp() for age in (KEEP, BUILT_WITHIN))
        for note in self._folder.glob("*.json"):
            if note.stat().st_mtime < oldest:
                note.unlink()
                remove(note.with_suffix(""))
        for path in self._folder.iterdir():
            noted = path.with_name(f"{path.name}.json").exists()
            left = path.is_dir() or path.name.endswith(_LOCK)
            if left and not noted and path.stat().st_mtime < begun:
                remove(path)
        self._free_space(self._keep_mb if keep_mb is None else keep_mb)

    def _free_space(self, keep_mb: float) -> None:
        """Remove whole folders, least recently used first, until the rest is below the limit."""
        in_use = (self._clock() - IN_USE).timestamp()
        folders = [folder for folder in reversed(notes_in(self._folder)) if self.path(folder.name).is_dir()]
        too_much = sum(folder.size_bytes for folder in folders) - keep_mb * 2**20
        for folder in folders:
            if too_much > 0 and folder.used_at.timestamp() < in_use:
                too_much -= folder.size_bytes
                (self._folder / f"{folder.name}.json").unlink()  # first, because a folder without a note does not count
                remove(self.path(folder.name))

    def _note_use(self, note: Path) -> None:
        now = self._clock().timestamp()
        os.utime(note, (now, now))


def notes_in(folder: Path) -> list[Kept]:
    """List the entries in a store's folder, most recently used first. This does not count as a use."""
    folders = []
    for note in folder.glob("*.json"):
        with contextlib.suppress(OSError, ValueError):
            content, size = _read_note(note)
            used = datetime.fromtimestamp(note.stat().st_mtime, UTC)
            folders.append(Kept(name=note.stem, note=content, used_at=used, size_bytes=size))
    return sorted(folders, key=lambda stored_folder: stored_folder.used_at, reverse=True)


def _read_note(note: Path) -> tuple[Any, int]:
    """Return the content of a note, and the size on disk, in bytes, of the folder that the note describes.

    Raises:
        OSError, ValueError: there is no valid note.
    """
    try:
        content = json.loads(note.read_text())
        return content["content"], int(content["size_bytes"])
    except (KeyError, TypeError) as error:
        raise ValueError(f"{note.name} is not a valid note") from error


async def _hold_lock(path: Path) -> int:
    """Acquire a lock file, and return its descriptor.

    The holder deletes the file when its work is done. If the holder is killed, the lock becomes free.
    """
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_still(path, descriptor):
                return descriptor
        except BlockingIOError:
            os.close(descriptor)
            await asyncio.sleep(_LOOK_S)
        except BaseException:
            os.close(descriptor)
            raise
        else:
            os.close(descriptor)  # its last holder removed it meanwhile


def _is_still(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


async def limit_size(work: Coroutine[Any, Any, T], folder: Path, most_mb: float) -> T:
    """Await work that fills a folder, and cancel the work if the folder exceeds a size limit.

    Raises:
        SandboxError: the folder is too large.
    """
    running = asyncio.create_task(work)
    try:
        while not running.done():
            await asyncio.wait([running], timeout=_LOOK_AT_SIZE_S)
            if await asyncio.to_thread(size_of, folder) > most_mb * 2**20:
                raise SandboxError(f"the packages use more than {most_mb:g} MB of disk space")
        return await running
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


def remove(path: Path) -> None:
    """Remove a file, a link, or a folder of any depth with its content, if it exists."""
    if path.is_dir() and not path.is_symlink():
        words = ["rm", "-rf", "--", str(path)]
        if subprocess.run(words, check=False, capture_output=True, stdin=subprocess.DEVNULL).returncode:
            subprocess.run(
                ["chmod", "-R", "u+rwX", "--", str(path)], check=False, capture_output=True
            )  # makes unreadable folders removable
            subprocess.run(words, check=False, capture_output=True)
    else:
        path.unlink(missing_ok=True)


def size_of(folder: Path) -> int:
    """Sum up the disk space of the files below a folder, in bytes; 0 if it does not exist."""
    return sum(_blocks(Path(root, name)) * 512 for root, _, files in os.walk(folder) for name in files)


def _blocks(path: Path) -> int:
    try:
        return os.lstat(path).st_blocks
    except FileNotFoundError:  # removed while the folder is being filled
        return 0
