"""The runtime, that is, what runs need inside the sandbox: an interpreter, its test libraries and our own code.

    python -m nightshift.sandbox.runtime --prepare DIR

installs the libraries at set-up, and does nothing if they are up to date. The libraries are wheels for the interpreter
inside, which may differ from the daemon's. The daemon opens the runtime at its start with `open_runtime`. Another
package may provide a `Program` of its own. It is prepared together with the libraries, and shown only to runs that
start it.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path

from nightshift.core.code.environments import Service
from nightshift.core.errors import SandboxError
from nightshift.core.isolation import Mount
from nightshift.sandbox import go_program, interpreter, job_folders, node_program
from nightshift.sandbox.go_program import Go
from nightshift.sandbox.interpreter import Interpreter
from nightshift.sandbox.node_program import Node

ROOT = Path(__file__).resolve().parents[2]
INSIDE = Path(__file__).resolve().parent / "inside"
CONSTRAINTS = ROOT / "nightshift" / "requirements" / "constraints.txt"
LIBRARIES = ("pytest", "hypothesis")
PROGRAMS = "nightshift.programs"
"""Group of entry points by which other packages register their `Program`."""
# Version of the folders' format, which is part of their names. A new number makes every set-up build them again.
_FORMAT = "1"
BUILDING_S = 3600.0
"""Seconds during which an unfinished folder is not removed, because another process may be filling it."""
_LIB, _CODE, _ENVIRONMENT = "/opt/runner/lib", "/opt/runner/code", "/opt/environment"
_PROGRAMS = "/opt/runner/programs"
_SERIES = "series-"
# Node.js searches this folder at the root for packages, for each file that imports one.
NODE_MODULES = "/node_modules"
# The package has a name that no tested program will use, and its folder is removed from the import path at once.
_PACKAGE = "nightshift_inside"
SUITES, CALLS, COMMANDS = (f"{_PACKAGE}.{name}" for name in ("supervisor", "caller", "shell"))
"""Modules of the trusted parents (the processes that start untrusted code and report its result): for tests, for calls,
and for a command of a model.
"""
_OURS = (SUITES, CALLS, COMMANDS)
_ALONE = ("-I", "-S", "-B")
"""Flags with which the interpreter ignores its environment."""
_ENTRY = "import sys; sys.path.insert(0, sys.argv[1]); from PACKAGE import MODULE; MODULE.main()"
_IDENTITY = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "Owner"), ("EMAIL", "owner@localhost"))
}
"""Git identity for tests that make commits, since their authors had one on their own machines."""
_PROGRAM_ENTRY = "import sys; sys.path[:0] = sys.argv[1:3]; from PACKAGE import MODULE; MODULE.main()"


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """Code of another package that runs inside the sandbox, with a trusted parent of its own.

    Attributes:
        name: name of its package inside the sandbox. It begins with `nightshift_`, so that no tested program uses it.
        folder: the folder of its code in this checkout.
        module: the module that starts a run. It has `main()`, `preload(libraries)` and `serve(libraries)`, like
            `sandbox/inside/supervisor.py`. The first two arguments in `sys.argv` of `main()` are the folder of our code
            and that of the package's own code.
    """

    name: str
    folder: Path
    module: str

    @property
    def entry(self) -> str:
        """Dotted name of the module that starts a run."""
        return f"{self.name}.{self.module}"


@cache
def list_installed_programs() -> tuple[Program, ...]:
    """List the programs that other packages have registered as entry points."""
    return tuple(point.load() for point in entry_points(group=PROGRAMS))


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime:
    """The needs of a suite inside the sandbox.

    Attributes:
        python: the command that starts the interpreter.
        libraries: import paths of libraries, inside the sandbox.
        code: import path of our own code, inside the sandbox.
        node: the Node.js for JavaScript; None if there is none.
        go: the toolchain that builds Go; None if there is none.
        programs: programs of other packages, each as its entry and the mount of its package's folder.
        path: folders of programs that are searched before the system's.
        variables: additional environment variables of a run.
        roots: additional folders of the workspace from which modules are imported.
        plugins: the pytest plugins that tests need.
        executable: path of the interpreter for tests. An interpreter that is started by this path finds all of these
            libraries and programs.
        services: services that are started before the tests of each run.
    """

    python: tuple[str, ...]
    version: str
    mounts: tuple[Mount, ...]
    libraries: tuple[str, ...]
    code: str = _CODE
    node: Node | None = None
    go: Go | None = None
    programs: tuple[tuple[str, Mount], ...] = ()
    path: tuple[str, ...] = ()
    variables: tuple[tuple[str, str], ...] = ()
    roots: tuple[str, ...] = ()
    plugins: tuple[str, ...] = ()
    executable: str = ""
    services: tuple[Service, ...] = ()

    @property
    def series(self) -> str:
        """The interpreter's major and minor version, such as `3.11`."""
        return ".".join(self.version.split(".")[:2])

    @property
    def has_environment(self) -> bool:
        """True if libraries of the owner are shown in addition to the test libraries."""
        return len(self.libraries) > 1

    def with_layer(self, mount: Mount) -> Runtime:
        """Return a copy with further packages, which come last so that they cannot hide other libraries."""
        return replace(self, mounts=(*self.mounts, mount), libraries=(*self.libraries, mount.inside))

    @property
    def inside(self) -> str:
        """Folder of our own code for the inside."""
        return f"{self.code}/{_PACKAGE}"

    def with_modules(self, folder: Path) -> Runtime:
        """Return a copy with JavaScript packages for all folders. Their programs precede the system's."""
        mount = Mount(host=folder, inside=NODE_MODULES)
        return replace(self, mounts=(*self.mounts, mount), path=(*self.path, f"{NODE_MODULES}/.bin"))

    @property
    def of_process(self) -> dict[str, str]:
        """Environment variables that a run has in addition to the default ones."""
        path = {"PATH": ":".join((*self.path, "/usr/bin:/bin"))} if self.path else {}
        return {**_IDENTITY, **dict(self.variables), **self.of_services, **path}

    @property
    def of_services(self) -> dict[str, str]:
        """Environment variables that tests get because of services."""
        return {name: value for service in self.services for name, value in service.exports.items()}

    @property
    def pth_lines(self) -> tuple[str, str]:
        """Lines for a `.pth` file that make a Python find and load our code for the inside when it starts."""
        return self.code, f"import {_PACKAGE}.start"

    def choose_parent(self, argv: tuple[str, ...], mounts: tuple[Mount, ...]) -> tuple[Runtime, str] | None:
        """Return the runtime and the trusted parent that a command starts; None if it starts no trusted parent.

        The runtime is this one, or one that was derived from it for an environment. A derived runtime has other
        libraries and mounts, or another Python.
        """
        at = argv.index("-c") if "-c" in argv else 0
        for entry in (*_OURS, *(name for name, _ in self.programs)) if argv[at - 3 : at] == _ALONE else ():
            start, code = self._start(entry), (self.code, *self._own(entry))
            if argv[at + 1 : at + 2 + len(code)] == (start, *code):
                shown = tuple(mount for name, mount in self.programs if name == entry)
                runtime = replace(
                    self,
                    python=argv[: at - 3],
                    libraries=argv[at + 2 + len(code) :],
                    mounts=tuple(mount for mount in mounts if mount not in shown),
                )
                return runtime, entry
        return None

    def argv(self, entry: str = SUITES) -> tuple[str, ...]:
        """Return the command of a trusted parent, whose module is `entry`. It reads its job from standard input.

        Raises:
            SandboxError: the module belongs to a program with which this runtime was not opened.
        """
        return (*self.python, *_ALONE, "-c", self._start(entry), self.code, *self._own(entry), *self.libraries)

    def _start(self, entry: str) -> str:
        package, _, module = entry.rpartition(".")
        start = _PROGRAM_ENTRY if self._own(entry) else _ENTRY
        return start.replace("PACKAGE", package).replace("MODULE", module)

    def mounts_for(self, entry: str) -> tuple[Mount, ...]:
        """List the mounts of a run with this trusted parent."""
        return (*self.mounts, *(mount for name, mount in self.programs if name == entry))

    def fork_server(self, descriptor: int, entry: str) -> tuple[str, ...]:
        """Return the command of the process that forks trusted parents. It reads its orders from `descriptor`."""
        start = _ENTRY.replace("PACKAGE", _PACKAGE).replace("MODULE", "fork_server")
        own = (self._own(entry) or (self.code,))[0]
        return (*self.python, *_ALONE, "-c", start, self.code, str(descriptor), entry, own, *self.libraries)

    def _own(self, entry: str) -> tuple[str, ...]:
        """Return the import path of another package's program; empty for our own trusted parents."""
        paths = tuple(mount.inside for name, mount in self.programs if name == entry)
        if not paths and entry not in _OURS:
            raise SandboxError(f"the sandbox does not show the program {entry}")
        return paths


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stamp:
    """The stored result of `prepare`.

    Attributes:
        home: the folder that contains the other folders. Their names depend on their content.
        python: the command that starts the interpreter.
        libraries: name of the folder with the test libraries.
        code: name of the folder with our own code for the inside.
        programs: maps the name of each program of another package to the name of the program's folder.
    """

    home: str
    python: list[str]
    version: str
    prefix: str
    libraries: str
    code: str
    node: dict[str, str] | None = None
    go: dict[str, str] | None = None
    programs: dict[str, str] = field(default_factory=dict)

    @property
    def series(self) -> str:
        """The interpreter's major and minor version."""
        return ".".join(self.version.split(".")[:2])

    def is_current(self, programs: Sequence[Program]) -> bool:
        """Check whether all folders exist and match the sources in this checkout."""
        home = Path(self.home)
        wanted = {program.name: _program_name(program, self.series) for program in programs}
        return (
            (self.libraries, self.code) == _names(self.series)
            and wanted.items() <= self.programs.items()
            and job_folders.enterable(Path(self.python[-1]).parent)
            and Path(self.python[-1]).exists()
            and all((home / name).is_dir() for name in (self.libraries, self.code, *wanted.values()))
            and job_folders.enterable(home)
        )


def open_runtime(runner: Path, environment: Sequence[Path] = (), programs: Sequence[Program] = ()) -> Runtime:
    """Return the runtime that `prepare` has made.

    Args:
        runner: the folder that was given to `prepare`.
        environment: site-packages folders of the owner, shown read-only and searched after the test libraries.
        programs: other packages' programs, which were given to `prepare` as well.

    Raises:
        SandboxError: the runtime is missing or out of date.
    """
    stamp = _read(runner)
    if stamp is None or not stamp.is_current(programs):
        raise SandboxError(f"the test libraries in {runner} are missing or out of date; type `make setup`")
    home = Path(stamp.home)
    mounts = [Mount(host=home / stamp.libraries, inside=_LIB), Mount(host=home / stamp.code, inside=_CODE)]
    python = Interpreter(argv=tuple(stamp.python), version=stamp.version, prefix=stamp.prefix)
    if python.mounted:
        mounts.append(Mount(host=python.mounted, inside=str(python.mounted)))
    node = node_program.load(stamp.node)
    if node and node.folder:
        mounts.append(Mount(host=Path(node.folder), inside=node.folder))
    go = go_program.load(stamp.go)
    mounts += go.mounts() if go else ()
    extra = [Mount(host=path, inside=f"{_ENVIRONMENT}/{n}") for n, path in enumerate(environment)]
    return Runtime(
        python=python.argv,
        version=stamp.version,
        mounts=(*mounts, *extra),
        libraries=(_LIB, *(mount.inside for mount in extra)),
        node=node,
        go=go,
        programs=tuple(
            (program.entry, Mount(host=home / stamp.programs[program.name], inside=f"{_PROGRAMS}/{program.name}"))
            for program in programs
        ),
    )


def open_series(runner: Path, path: Path, programs: Sequence[Program] = ()) -> Runtime:
    """Return the runtime of another Python, which is prepared in a separate folder on first use.

    Args:
        runner: the folder that was given to `prepare`.
        path: the interpreter.
        programs: other packages' programs.

    Raises:
        SandboxError: jobs cannot run the interpreter, or its libraries cannot be installed.
    """
    folder = job_folders.choose_shown_folder(runner / f"{_SERIES}{path.name.removeprefix('python')}")
    try:
        return open_runtime(folder, programs=programs)
    except SandboxError:
        prepare(folder, programs, interpreter.of_path(path, job_folders.public(folder)))
        return open_runtime(folder, programs=programs)


def prepare(runner: Path, programs: Sequence[Program] = (), chosen: Interpreter | None = None) -> bool:
    """Choose the interpreter, and install and compile its libraries and our code.

    Returns False if everything was up to date.

    Args:
        runner: the folder to fill.
        programs: other packages' programs. Programs that were prepared before are kept.
        chosen: the interpreter; None chooses the first one that jobs can run.

    Raises:
        SandboxError: there is no interpreter, or pip could not install the libraries.
    """
    stamp = _read(runner)
    home = job_folders.public(runner)
    node, go = node_program.find(home), _go(home)
    toolchains = (node.stored() if node else None, go.stored() if go else None)
    if stamp and stamp.is_current(programs):
        if (stamp.node, stamp.go) != toolchains:  # installed, removed or upgraded since
            _write(runner, replace(stamp, node=toolchains[0], go=toolchains[1]))
        return False
    python = chosen or interpreter.choose(home)
    libraries, code = _names(python.series)
    _build(home / libraries, python, _install)
    _build(home / code, python, lambda folder, _: _copy_code(INSIDE, folder / _PACKAGE))
    before = {} if stamp is None or stamp.series != python.series else stamp.programs
    program_names = {program.name: _program_name(program, python.series) for program in programs}
    for program in programs:
        _build(home / program_names[program.name], python, _copying(program))
    new = _Stamp(
        home=str(home),
        python=list(python.argv),
        version=python.version,
        prefix=python.prefix,
        libraries=libraries,
        code=code,
        node=toolchains[0],
        go=toolchains[1],
        programs={**before, **program_names},
    )
    _write(runner, new)
    # A running daemon continues to use the folders with which it started.
    in_use = {
        name
        for generation in (stamp, new)
        if generation
        for name in (generation.libraries, generation.code, *generation.programs.values())
    }
    for folder in home.iterdir():
        others = (node.path if node else "/", *((go.path, go.cache) if go else ()))
        used = any(Path(path).is_relative_to(folder) for path in (python.path, *others))
        is_needed = used or _is_being_built(folder) or folder.name.startswith(_SERIES)
        if folder.is_dir() and folder.name not in in_use and not is_needed:
            shutil.rmtree(folder, ignore_errors=True)
    return True


def _is_being_built(folder: Path) -> bool:
    """Check whether another process may still be filling this folder, or has just renamed it."""
    try:
        return folder.name.startswith(".") and time.time() - folder.stat().st_mtime < BUILDING_S
    except FileNotFoundError:
        return True


def _go(home: Path) -> Go | None:
    """Return the Go toolchain with its built standard library, which is built if it is missing."""
    go = go_program.find(home)
    if go and not go_program.is_built(go):
        with (home / ".go.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # several processes may want to build it at the same time
            return _build_go(go)
    return go


def _build_go(go: Go) -> Go | None:
    if not go_program.is_built(go):
        print(f"sandbox: building the standard library of Go {go.version} (about a minute, once)", file=sys.stderr)
        return go if go_program.build(go) else None
    return go


def _names(series: str) -> tuple[str, str]:
    """Return the names of the folders for libraries and code, which contain a digest of their sources."""
    wanted = hashlib.sha256("\0".join((_FORMAT, *LIBRARIES)).encode() + CONSTRAINTS.read_bytes())
    return f"lib-{series}-{wanted.hexdigest()[:12]}", f"inside-{series}-{_digest(INSIDE)}"


def _program_name(program: Program, series: str) -> str:
    """Return the name of the folder of another package's program."""
    return f"{program.name}-{series}-{_digest(program.folder)}"


def _digest(code: Path) -> str:
    digest = hashlib.sha256(_FORMAT.encode())
    for path in _sources(code):
        digest.update(str(path.relative_to(code)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:12]


def _build(target: Path, python: Interpreter, fill: Callable[[Path, Interpreter], None]) -> None:
    """Fill a temporary folder, compile its modules, make it readable for all, and rename it to `target`."""
    if target.exists():
        return
    building = target.with_name(f".{target.name}-{os.getpid()}")
    shutil.rmtree(building, ignore_errors=True)
    building.mkdir()
    fill(building, python)
    # Without checks of the sources: the folder never changes, so imports need not compare each module with its source.
    compiling = [*python.argv, "-I", "-S", "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash", "."]
    subprocess.run(compiling, cwd=building, check=True, stdin=subprocess.DEVNULL)
    interpreter.open_to_all(building)
    try:
        building.rename(target)
    except OSError:
        if not target.is_dir():
            raise
        shutil.rmtree(building)  # another process filled the same folder first


def _install(folder: Path, python: Interpreter) -> None:
    pip = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--target", str(folder)]
    wheels = ["--only-binary", ":all:", "--python-version", python.series, "-c", str(CONSTRAINTS)]
    done = subprocess.run([*pip, *wheels, *LIBRARIES], check=False, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise SandboxError(f"pip could not install {', '.join(LIBRARIES)} for Python {python.series}; see above")


def _sources(code: Path) -> list[Path]:
    return sorted(path for path in code.rglob("*") if path.suffix in {".py", ".mjs", ".cjs"})


def _copying(program: Program) -> Callable[[Path, Interpreter], None]:
    return lambda folder, _: _copy_code(program.folder, folder / program.name)


def _copy_code(code: Path, package: Path) -> None:
    for path in _sources(code):
        target = package / path.relative_to(code)
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


def main(programs: Sequence[Program] = ()) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Prepares the files that the sandbox shows.")
    parser.add_argument("--prepare", metavar="DIR", type=Path, required=True)
    runner = parser.parse_args().prepare.resolve()
    try:
        is_new = prepare(runner, programs)
    except SandboxError as error:
        raise SystemExit(f"sandbox: {error}") from error
    if is_new:
        runtime = open_runtime(runner)
        node = f"Node.js {runtime.node.version}" if runtime.node else "no Node.js (JavaScript tasks need it)"
        go = f"Go {runtime.go.version}" if runtime.go else "no Go (Go tasks need it)"
        libraries = ", ".join(LIBRARIES)
        shown = f"Python {runtime.version} ({runtime.python[-1]}) with {libraries}; {node}; {go}"
        print(f"sandbox: {shown}", file=sys.stderr)


if __name__ == "__main__":
    main()
