"""Installs packages into layers: read-only folders that are mounted in the sandbox, made once and cached.

A layer contains exactly the wheels that its name is derived from. `verdict.environments.store` stores it, and removes
it when it has been unused for long. Nothing in a layer runs automatically or hides the standard library: `.pth` files,
`sitecustomize` and modules with names of the standard library are removed, and the layer comes last on the import path.
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
"""Megabytes that all layers together may use; the least recently used layers are removed first."""
COMPILE_S = 300.0
_FORMAT = "2"
_PROGRAM = b"\x7fELF"
_RUNS_BY_ITSELF = ("sitecustomize", "usercustomize")


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """A read-only folder of packages.

    Attributes:
        folder: the folder on this machine.
        wheels: the wheels that the folder contains.
        new: true if the folder was just made.
    """

    folder: Path
    wheels: tuple[Wheel, ...]
    new: bool = False

    @property
    def mount(self) -> Mount:
        """The mount of the folder inside the sandbox."""
        return Mount(host=self.folder, inside=INSIDE)

    @property
    def packages(self) -> dict[str, str]:
        """The packages in the folder, name to version."""
        return {wheel.name: wheel.version for wheel in self.wheels}


class LayerStore:
    """Makes and stores layers for one runtime.

    Args:
        folder: the storage folder; see `FolderStore`.
        runtime: the interpreter that will import the packages, and the libraries that are always there.
        environ: the variables with the package index; see `Wheels`.
        clock: the time, for sweeping.

    Raises:
        SandboxError: the folder cannot be made.
    """

    def __init__(self, folder: Path, runtime: Runtime, *, environ: Mapping[str, str], clock: Clock = utc_now) -> None:
        self._store, self._runtime = FolderStore(folder, keep_mb=KEEP_MB, clock=clock), runtime
        self.wheels = Wheels(runtime.series, environ=environ, pins=pins(runtime))

    async def satisfy(self, requirements: Sequence[str]) -> Layer:
        """Return the layer of these packages and all their dependencies.

        The versions that were chosen for these requirements are stored until they have been unused for long. So a
        task's code is judged with the versions that it was written with, and the task can continue while the index does
        not answer.

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
        """Return the layer of exactly these packages, name to version; raises the errors of `satisfy`."""
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
        """Remove layers unused for long, and the least recently used layers above the size limit."""
        self._store.sweep(keep_mb)

    def _read(self, name: str) -> tuple[Wheel, ...] | None:
        try:
            return tuple(Wheel(**item) for item in self._store.read(name) or ()) or None
        except TypeError:
            return None

    async def _write(self, name: str, wheels: Sequence[Wheel]) -> None:
        await self._store.write(name, [asdict(wheel) for wheel in wheels])


async def compile_all(runtime: Runtime, folder: Path) -> None:
    """Compile all modules with the sandbox's interpreter; files that do not compile are ignored."""
    # Unchecked: the folder never changes, so imports need not compare each file with its source.
    words = ["-I", "-S", "-m", "compileall", "-qq", "--invalidation-mode", "unchecked-hash", "."]
    with contextlib.suppress(TimeoutError):
        await call([*runtime.python, *words], launcher.ENV, COMPILE_S, folder)


def tame(folder: Path) -> None:
    """Remove files that would run automatically, and modules that would hide the standard library.

    Files in `bin` are removed as well, except binaries.
    """
    for path in folder.iterdir():
        name = path.name.partition(".")[0]
        if path.suffix == ".pth" or not name or name in _RUNS_BY_ITSELF or name in sys.stdlib_module_names:
            remove(path)
        elif path.name == "bin":
            _keep_programs(path)


def _keep_programs(folder: Path) -> None:
    """Remove everything but binaries from a `bin` folder.

    The first line of a script names an interpreter of the host. Binaries stay, because a linter may be a binary.
    """
    for path in folder.iterdir():
        if path.is_symlink() or not path.is_file() or not _is_program(path):
            remove(path)
    if not any(folder.iterdir()):
        remove(folder)


def _is_program(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_PROGRAM)) == _PROGRAM


async def with_packages(runtime: Runtime, layers: LayerStore | None, packages: Mapping[str, str]) -> Runtime:
    """Return a runtime with the packages of a job, name to version.

    Raises:
        SandboxError: there is no store for packages, or `LayerStore.exactly` raises it.
    """
    if not packages:
        return runtime
    if layers is None:
        raise SandboxError("the run needs packages, but this run has no package store")
    return runtime.with_layer((await layers.exactly(packages)).mount)


def pins(runtime: Runtime) -> list[str]:
    """Return the test libraries as `name==version`.

    Other packages must be compatible with these versions, because the test libraries come first on the import path.
    """
    lines = []
    for mount in runtime.mounts:
        if mount.inside in runtime.libraries:
            for info in sorted(mount.host.glob("*.dist-info")):
                name, _, version = info.name.removesuffix(".dist-info").partition("-")
                lines.append(f"{name}=={version}")
    return lines


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join((_FORMAT, *parts)).encode()).hexdigest()[:20]
