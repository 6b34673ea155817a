"""What runs inside the sandbox: an interpreter, the test libraries made for it, and our own code for the inside.

    python -m sandbox.runtime --prepare DIR

installs the libraries at set-up and finds nothing to do the next time. The libraries are wheels for the interpreter
inside, which need not be the one that runs the daemon. `open_runtime` hands them to the daemon at its start.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from core.errors import SandboxError
from core.isolation import Mount
from sandbox import interpreter, node_program, places
from sandbox.interpreter import Interpreter
from sandbox.node_program import Node

ROOT = Path(__file__).resolve().parent.parent
INSIDE = Path(__file__).resolve().parent / "inside"
CONSTRAINTS = ROOT / "constraints.txt"
LIBRARIES = ("pytest", "hypothesis")
# Part of the folders' names; a new number makes every set-up build them again.
_FORMAT = "1"
BUILDING_S = 3600.0
"""A folder that is being filled is let be for so long: another process may be at it."""
_LIB, _CODE, _ENVIRONMENT = "/opt/runner/lib", "/opt/runner/code", "/opt/environment"
SUITES, CALLS, TRIALS, SYNTHESIS = "supervisor", "caller", "trier", "synthesist"
"""The modules of the trusted parents."""

# Our code has a package name that no tested program will use, and its folder leaves the import path at once.
_PACKAGE = "nightshift_inside"
_ENTRY = f"import sys; sys.path.insert(0, sys.argv[1]); from {_PACKAGE} import NAME; NAME.main()"


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime:
    """What a suite needs inside. `libraries` and `code` are import paths inside, `argv` starts the trusted parent.

    `python` are the words that start the interpreter, `node` runs JavaScript, where there is one.
    """

    python: tuple[str, ...]
    version: str
    mounts: tuple[Mount, ...]
    libraries: tuple[str, ...]
    code: str = _CODE
    node: Node | None = None

    @property
    def has_environment(self) -> bool:
        """Tell whether libraries of the owner's are shown besides the test libraries."""
        return len(self.libraries) > 1

    def with_layer(self, mount: Mount) -> Runtime:
        """The same with packages, which come after all other libraries: none of their names can hide one of those."""
        return replace(self, mounts=(*self.mounts, mount), libraries=(*self.libraries, mount.inside))

    @property
    def argv(self) -> tuple[str, ...]:
        """The command of a suite's trusted parent; it reads its job from standard input."""
        return self._start(SUITES)

    @property
    def calls_argv(self) -> tuple[str, ...]:
        """The command of the trusted parent of a run of calls."""
        return self._start(CALLS)

    @property
    def trials_argv(self) -> tuple[str, ...]:
        """The command of the trusted parent of a run of trials."""
        return self._start(TRIALS)

    @property
    def synthesis_argv(self) -> tuple[str, ...]:
        """The command of the trusted parent of a run that looks for a function."""
        return self._start(SYNTHESIS)

    def role(self, argv: tuple[str, ...]) -> str:
        """Which trusted parent a command starts; empty for another command."""
        return next((role for role in (SUITES, CALLS, TRIALS, SYNTHESIS) if argv == self._start(role)), "")

    def zygote(self, descriptor: int, role: str) -> tuple[str, ...]:
        """The command of the process that trusted parents are forked from; it takes its orders from `descriptor`."""
        return self._start("zygote", str(descriptor), role)

    def _start(self, module: str, *words: str) -> tuple[str, ...]:
        entry = _ENTRY.replace("NAME", module)
        return (*self.python, "-I", "-S", "-B", "-c", entry, self.code, *words, *self.libraries)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stamp:
    """What `prepare` made: `home` holds the folders `libraries` and `code`, whose names tell what is in them."""

    home: str
    python: list[str]
    version: str
    prefix: str
    libraries: str
    code: str
    node: dict[str, str] | None = None

    def is_current(self) -> bool:
        """Tell whether all of it is there and is what this checkout wants."""
        series = ".".join(self.version.split(".")[:2])
        home = Path(self.home)
        return (
            (self.libraries, self.code) == _names(series)
            and places.enterable(Path(self.python[-1]).parent)
            and Path(self.python[-1]).exists()
            and all((home / name).is_dir() for name in _names(series))
            and places.enterable(home)
        )


def open_runtime(runner: Path, environment: Sequence[Path] = ()) -> Runtime:
    """The runtime that `prepare` made.

    Args:
        runner: the folder given to `prepare`.
        environment: site-packages folders of the owner's, shown read-only after the test libraries.

    Raises:
        SandboxError: it is missing or out of date.
    """
    stamp = _read(runner)
    if stamp is None or not stamp.is_current():
        raise SandboxError(f"the test libraries in {runner} are missing or out of date; type `make setup`")
    home = Path(stamp.home)
    mounts = [Mount(host=home / stamp.libraries, inside=_LIB), Mount(host=home / stamp.code, inside=_CODE)]
    python = Interpreter(argv=tuple(stamp.python), version=stamp.version, prefix=stamp.prefix)
    if python.mounted:
        mounts.append(Mount(host=python.mounted, inside=str(python.mounted)))
    node = node_program.load(stamp.node)
    if node and node.folder:
        mounts.append(Mount(host=Path(node.folder), inside=node.folder))
    extra = [Mount(host=path, inside=f"{_ENVIRONMENT}/{n}") for n, path in enumerate(environment)]
    return Runtime(
        python=python.argv,
        version=stamp.version,
        mounts=(*mounts, *extra),
        libraries=(_LIB, *(mount.inside for mount in extra)),
        node=node,
    )


def prepare(runner: Path) -> bool:
    """Choose the interpreter, install its libraries and our code, and compile them; False when that was done before.

    Raises:
        SandboxError: there is no interpreter, or pip could not install the libraries.
    """
    stamp = _read(runner)
    home = places.public(runner)
    node = node_program.find(home)
    if stamp and stamp.is_current():
        if stamp.node != (node.stored() if node else None):  # installed, removed or renewed since
            _write(runner, replace(stamp, node=node.stored() if node else None))
        return False
    python = interpreter.choose(home)
    libraries, code = _names(python.series)
    _build(home / libraries, python, _install)
    _build(home / code, python, _copy_code)
    new = _Stamp(
        home=str(home),
        python=list(python.argv),
        version=python.version,
        prefix=python.prefix,
        libraries=libraries,
        code=code,
        node=node.stored() if node else None,
    )
    _write(runner, new)
    # A daemon that is running goes on with what it started with.
    kept = {libraries, code, *((stamp.libraries, stamp.code) if stamp else ())}
    for folder in home.iterdir():
        used = any(Path(path).is_relative_to(folder) for path in (python.path, node.path if node else "/"))
        building = folder.name.startswith(".") and time.time() - folder.stat().st_mtime < BUILDING_S
        if folder.is_dir() and folder.name not in kept and not used and not building:
            shutil.rmtree(folder, ignore_errors=True)
    return True


def _names(series: str) -> tuple[str, str]:
    """The names of the two folders, which say for which Python and from what they were made."""
    wanted = hashlib.sha256("\0".join((_FORMAT, *LIBRARIES)).encode() + CONSTRAINTS.read_bytes())
    code = hashlib.sha256(_FORMAT.encode())
    for path in _sources():
        code.update(str(path.relative_to(INSIDE)).encode() + b"\0" + path.read_bytes() + b"\0")
    return f"lib-{series}-{wanted.hexdigest()[:12]}", f"inside-{series}-{code.hexdigest()[:12]}"


def _build(target: Path, python: Interpreter, fill: Callable[[Path, Interpreter], None]) -> None:
    """Fill a folder beside its place, compile it, open it to all, and move it there in one step."""
    if target.exists():
        return
    building = target.with_name(f".{target.name}-{os.getpid()}")
    shutil.rmtree(building, ignore_errors=True)
    building.mkdir()
    fill(building, python)
    # Unchecked: the folder never changes, so imports need not compare each file with its source.
    compiling = [*python.argv, "-I", "-S", "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash", "."]
    subprocess.run(compiling, cwd=building, check=True, stdin=subprocess.DEVNULL)
    interpreter.open_to_all(building)
    try:
        building.rename(target)
    except OSError:
        if not target.is_dir():
            raise
        shutil.rmtree(building)  # another process made the same at the same time, and was first


def _install(folder: Path, python: Interpreter) -> None:
    pip = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--target", str(folder)]
    wheels = ["--only-binary", ":all:", "--python-version", python.series, "-c", str(CONSTRAINTS)]
    done = subprocess.run([*pip, *wheels, *LIBRARIES], check=False, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise SandboxError(f"pip could not install {', '.join(LIBRARIES)} for Python {python.series}; see above")


def _sources() -> list[Path]:
    return sorted(path for path in INSIDE.rglob("*") if path.suffix in {".py", ".mjs", ".cjs"})


def _copy_code(folder: Path, _python: Interpreter) -> None:
    for path in _sources():
        target = folder / _PACKAGE / path.relative_to(INSIDE)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)


def _read(runner: Path) -> _Stamp | None:
    try:
        return _Stamp(**json.loads((runner / "stamp.json").read_text()))
    except (OSError, ValueError, TypeError):
        return None


def _write(runner: Path, stamp: _Stamp) -> None:
    temporary = runner / f".stamp-{os.getpid()}"
    temporary.write_text(json.dumps(asdict(stamp), indent=1))
    temporary.replace(runner / "stamp.json")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Prepares what is shown inside the sandbox.")
    parser.add_argument("--prepare", metavar="DIR", type=Path, required=True)
    runner = parser.parse_args().prepare.resolve()
    try:
        made = prepare(runner)
    except SandboxError as error:
        raise SystemExit(f"sandbox: {error}") from error
    if made:
        runtime = open_runtime(runner)
        node = f"Node.js {runtime.node.version}" if runtime.node else "no Node.js (JavaScript tasks need it)"
        libraries = ", ".join(LIBRARIES)
        print(f"sandbox: Python {runtime.version} ({runtime.python[-1]}) with {libraries}; {node}", file=sys.stderr)


if __name__ == "__main__":
    main()
