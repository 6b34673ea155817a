"""Packages for runs, as read-only folders that are shown inside the sandbox: made once, kept, and swept when unused.

A folder holds exactly the wheels its name was made of (`verdict.environments.store` keeps it). Nothing in it runs by
itself: no `.pth` file, no `sitecustomize`, no module under the name of one of the standard library is kept, and it
comes last on the import path.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from nightshift.core.clock import Clock, utc_now
from nightshift.core.errors import SandboxError
from nightshift.core.isolation import Mount
from nightshift.sandbox import launcher
from nightshift.sandbox.runtime import Runtime
from nightshift.verdict.environments.store import FolderStore, remove
from nightshift.verdict.environments.wheels import Wheel, Wheels, call

INSIDE = "/opt/packages"
KEEP_MB = 2048
"""How large all layers together may be; those that were used longest ago go first."""
COMPILE_S = 300.0
_FORMAT = "2"
_PROGRAM = b"\x7fELF"
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
        folder: where they are kept; see `FolderStore`.
        runtime: the interpreter that will import them, and the libraries that are there anyway.
        environ: where the package index is found; see `Wheels`.
        clock: the time, for the sweeping.

    Raises:
        SandboxError: the folder cannot be made.
    """

    def __init__(self, folder: Path, runtime: Runtime, *, environ: Mapping[str, str], clock: Clock = utc_now) -> None:
        self._store, self._runtime = FolderStore(folder, keep_mb=KEEP_MB, clock=clock), runtime
        self.wheels = Wheels(runtime.series, environ=environ, pins=pins(runtime))

    async def satisfy(self, requirements: Sequence[str]) -> Layer:
        """The layer of these packages and all that they depend on.

        The same question gets the same answer as long as its answer is in use, so that a task is not judged by other
        versions than it was written with, and goes on when the index is away.

        Raises:
            Unobtainable: a package has no fitting wheel.
            Unreachable: the index does not answer.
            SandboxError: the layer cannot be made.
        """
        asked = f"asked-{_digest(self.wheels.series, *sorted(requirements))}"
        async with self._store.lock(asked):
            wheels = self._read(asked)
            if wheels is None:
                wheels = await self.wheels.resolve(requirements)
                await self._write(asked, wheels)
        return await self._layer({wheel.name: wheel.version for wheel in wheels}, wheels)

    async def exactly(self, packages: Mapping[str, str]) -> Layer:
        """The layer of just these packages, name to version; raises as `satisfy`."""
        return await self._layer(packages, None)

    async def _layer(self, packages: Mapping[str, str], wheels: tuple[Wheel, ...] | None) -> Layer:
        key = _digest(self.wheels.series, *sorted(f"{name}=={version}" for name, version in packages.items()))
        folder = self._store.path(key)
        async with self._store.lock(key):
            stored = self._read(key)
            if stored is not None and folder.is_dir():
                return Layer(folder=folder, wheels=stored)
            new_wheels = wheels or await self.wheels.pinned(packages)
            await self._store.build(key, lambda building: self._fill(building, new_wheels))
            await self._write(key, new_wheels)
        return Layer(folder=folder, wheels=new_wheels, new=True)

    async def _fill(self, folder: Path, wheels: Sequence[Wheel]) -> None:
        await self.wheels.install(wheels, folder)
        await asyncio.to_thread(tame, folder)
        await compile_all(self._runtime, folder)

    def sweep(self, keep_mb: float = KEEP_MB) -> None:
        """Remove what was not used for long, and what is too much."""
        self._store.sweep(keep_mb)

    def _read(self, name: str) -> tuple[Wheel, ...] | None:
        try:
            return tuple(Wheel(**item) for item in self._store.read(name) or ()) or None
        except TypeError:
            return None

    async def _write(self, name: str, wheels: Sequence[Wheel]) -> None:
        await self._store.write(name, [asdict(wheel) for wheel in wheels])


async def compile_all(runtime: Runtime, folder: Path) -> None:
    """Compile with the interpreter inside; a file that does not compile is its package's business."""
    # Unchecked: the folder never changes, so imports need not compare each file with its source.
    words = ["-I", "-S", "-m", "compileall", "-qq", "--invalidation-mode", "unchecked-hash", "."]
    with contextlib.suppress(TimeoutError):
        await call([*runtime.python, *words], launcher.ENV, COMPILE_S, folder)


def tame(folder: Path) -> None:
    """Take out what would run by itself or hide the standard library, in a run or in a process that a run starts."""
    for path in folder.iterdir():
        name = path.name.partition(".")[0]
        if path.suffix == ".pth" or not name or name in _RUNS_BY_ITSELF or name in sys.stdlib_module_names:
            remove(path)
        elif path.name == "bin":
            _keep_programs(path)


def _keep_programs(folder: Path) -> None:
    """Take out scripts, whose first lines name an interpreter of the host; a linter may be a program beside them."""
    for path in folder.iterdir():
        if path.is_symlink() or not path.is_file() or not _is_program(path):
            remove(path)
    if not any(folder.iterdir()):
        remove(folder)


def _is_program(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_PROGRAM)) == _PROGRAM


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


def pins(runtime: Runtime) -> list[str]:
    """The test libraries as they are: packages must go together with them, since they come first."""
    lines = []
    for mount in runtime.mounts:
        if mount.inside in runtime.libraries:
            for info in sorted(mount.host.glob("*.dist-info")):
                name, _, version = info.name.removesuffix(".dist-info").partition("-")
                lines.append(f"{name}=={version}")
    return lines


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join((_FORMAT, *parts)).encode()).hexdigest()[:20]
