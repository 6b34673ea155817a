"""Packages for runs, as read-only folders that are shown inside the sandbox: made once, kept, and swept when unused.

A folder holds exactly the wheels its name was made of, and is built beside its place and moved there in one step, so
what is there is whole, and several processes may work on the same store. Nothing in it runs by itself: no `.pth` file,
no `sitecustomize`, no module under the name of one of the standard library is kept, and it comes last on the import
path.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from weakref import WeakValueDictionary

from core.clock import Clock, utc_now
from core.errors import SandboxError
from core.isolation import Mount
from environments.wheels import Wheel, Wheels, call
from sandbox import interpreter, job_folders, launcher
from sandbox.runtime import Runtime

INSIDE = "/opt/packages"
KEEP, BUILT_WITHIN, IN_USE = timedelta(days=30), timedelta(days=1), timedelta(hours=2)
KEEP_MB = 2048
"""How large all layers together may be; those that were used longest ago go first."""
COMPILE_S = 300.0
_FORMAT = "1"
_RUNS_BY_ITSELF = ("sitecustomize", "usercustomize")


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """A folder of packages; `new` tells that it was made just now."""

    folder: Path
    wheels: tuple[Wheel, ...]
    new: bool = False

    @property
    def mount(self) -> Mount:
        """How it is shown inside."""
        return Mount(host=self.folder, inside=INSIDE)

    @property
    def packages(self) -> dict[str, str]:
        """Name to version."""
        return {wheel.name: wheel.version for wheel in self.wheels}


class LayerStore:
    """Makes and keeps layers for one runtime.

    Args:
        folder: where they are kept; made if need be, or another one in its place where jobs cannot enter it.
        runtime: the interpreter that will import them, and the libraries that are there anyway.
        environ: where the package index is found; see `Wheels`.
        clock: the time, for the sweeping.

    Raises:
        SandboxError: the folder cannot be made.
    """

    def __init__(self, folder: Path, runtime: Runtime, *, environ: Mapping[str, str], clock: Clock = utc_now) -> None:
        self._folder, self._runtime, self._clock = job_folders.public(folder), runtime, clock
        series = ".".join(runtime.version.split(".")[:2])
        self.wheels = Wheels(series, environ=environ, pins=_pins(runtime))
        self._locks = WeakValueDictionary[str, asyncio.Lock]()
        self.sweep()

    async def satisfy(self, requirements: Sequence[str]) -> Layer:
        """The layer of these packages and all that they depend on.

        The same question gets the same answer as long as its answer is in use, so that a task is not judged by other
        versions than it was written with, and goes on when the index is away.

        Raises:
            Unobtainable: a package has no fitting wheel.
            Unreachable: the index does not answer.
            SandboxError: the layer cannot be made.
        """
        asked = self._folder / f"asked-{_digest(self.wheels.series, *sorted(requirements))}.json"
        async with self._lock(asked.name):
            wheels = self._read(asked)
            if wheels is None:
                wheels = await self.wheels.resolve(requirements)
                self._write(asked, wheels)
        return await self._layer({wheel.name: wheel.version for wheel in wheels}, wheels)

    async def exactly(self, packages: Mapping[str, str]) -> Layer:
        """The layer of just these packages, name to version; raises as `satisfy`."""
        return await self._layer(packages, None)

    async def _layer(self, packages: Mapping[str, str], wheels: tuple[Wheel, ...] | None) -> Layer:
        key = _digest(self.wheels.series, *sorted(f"{name}=={version}" for name, version in packages.items()))
        folder, note = self._folder / key, self._folder / f"{key}.json"
        async with self._lock(key):
            known, is_there = self._read(note), _is_there(folder)
            if known is not None and is_there:
                return Layer(folder=folder, wheels=known)
            wheels = wheels or await self.wheels.pinned(packages)
            if not is_there:
                await self._build(folder, wheels)
            self._write(note, wheels)
        return Layer(folder=folder, wheels=wheels, new=True)

    async def _build(self, folder: Path, wheels: Sequence[Wheel]) -> None:
        """Unpack, compile and open a layer beside its place, and move it there."""
        building = folder.with_name(f".{folder.name}-{os.getpid()}")
        _remove(building)
        try:
            building.mkdir()
            await self.wheels.install(wheels, building)
            await asyncio.to_thread(_tame, building)
            await self._compile(building)
            await asyncio.to_thread(interpreter.open_to_all, building)
            building.rename(folder)
        except OSError as error:
            if not _is_there(folder):  # where it is now, another process was quicker, with the same bytes
                raise SandboxError(f"the packages cannot be kept: {error}") from error
        finally:
            await asyncio.to_thread(_remove, building)

    async def _compile(self, folder: Path) -> None:
        """Compile with the interpreter inside; a file that does not compile is its package's business."""
        # Unchecked: the folder never changes, so imports need not compare each file with its source.
        words = ["-I", "-S", "-m", "compileall", "-qq", "--invalidation-mode", "unchecked-hash", "."]
        with contextlib.suppress(TimeoutError):
            await call([*self._runtime.python, *words], launcher.ENV, COMPILE_S, folder)

    def _lock(self, name: str) -> asyncio.Lock:
        """The lock of that name, which is there as long as somebody uses it."""
        return self._locks.setdefault(name, asyncio.Lock())

    def sweep(self, keep_mb: float = KEEP_MB) -> None:
        """Remove what was not used for long, what is too much, and what an interrupted build left.

        Other processes may be building, and what was used lately may still be shown to a job: that stays.
        """
        oldest, begun = ((self._clock() - age).timestamp() for age in (KEEP, BUILT_WITHIN))
        for note in self._folder.glob("*.json"):
            if note.stat().st_mtime < oldest:
                note.unlink()
                _remove(note.with_suffix(""))
        for folder in self._folder.iterdir():
            noted = folder.with_name(f"{folder.name}.json").exists()
            if folder.is_dir() and not noted and folder.stat().st_mtime < begun:
                _remove(folder)

        self._free_space(keep_mb)

    def _free_space(self, keep_mb: float) -> None:
        """Remove whole layers, used longest ago first, until the others are small enough together."""
        in_use = (self._clock() - IN_USE).timestamp()
        notes = [note for note in self._folder.glob("*.json") if note.with_suffix("").is_dir()]
        used = {note: note.stat().st_mtime for note in notes}
        sizes = {note: _size(note.with_suffix("")) for note in notes}
        too_much = sum(sizes.values()) - keep_mb * 2**20
        for note in sorted(notes, key=lambda note: used[note]):
            if too_much > 0 and used[note] < in_use:
                too_much -= sizes[note]
                note.unlink()  # first: a folder without a note is none
                _remove(note.with_suffix(""))

    def _read(self, note: Path) -> tuple[Wheel, ...] | None:
        """The wheels of a note, which counts as used from now on; None where there is no sound one."""
        try:
            wheels = tuple(Wheel(**item) for item in json.loads(note.read_text()))
            self._used(note)
        except (OSError, ValueError, TypeError):
            return None
        return wheels

    def _write(self, note: Path, wheels: Sequence[Wheel]) -> None:
        temporary = note.with_name(f".{note.name}-{os.getpid()}")
        temporary.write_text(json.dumps([asdict(wheel) for wheel in wheels], indent=1))
        self._used(temporary)
        temporary.replace(note)

    def _used(self, note: Path) -> None:
        now = self._clock().timestamp()
        os.utime(note, (now, now))


def _tame(folder: Path) -> None:
    """Take out what would run by itself or hide the standard library, in a run or in a process that a run starts."""
    for path in folder.iterdir():
        name = path.name.partition(".")[0]
        if path.suffix == ".pth" or name in _RUNS_BY_ITSELF or name in sys.stdlib_module_names or path.name == "bin":
            _remove(path)


async def with_packages(runtime: Runtime, layers: LayerStore | None, packages: Mapping[str, str]) -> Runtime:
    """A runtime with the packages of a job, name to version.

    Raises:
        SandboxError: there is no place for packages, or `LayerStore.exactly` raises it.
    """
    if not packages:
        return runtime
    if layers is None:
        raise SandboxError("the run needs packages, and there is no place to keep any")
    return runtime.with_layer((await layers.exactly(packages)).mount)


def _is_there(folder: Path) -> bool:
    return folder.is_dir()


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _pins(runtime: Runtime) -> list[str]:
    """The test libraries as they are: packages must go together with them, since they come first."""
    found = []
    for mount in runtime.mounts:
        if mount.inside in runtime.libraries:
            for info in sorted(mount.host.glob("*.dist-info")):
                name, _, version = info.name.removesuffix(".dist-info").partition("-")
                found.append(f"{name}=={version}")
    return found


def _size(folder: Path) -> int:
    """What the files below a folder take on the disk, in bytes."""
    return sum(os.lstat(Path(root, name)).st_blocks * 512 for root, _, files in os.walk(folder) for name in files)


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join((_FORMAT, *parts)).encode()).hexdigest()[:20]
