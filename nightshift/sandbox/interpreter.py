"""Chooses the Python interpreter that jobs run inside the sandbox. The jobs' user must be able to run it.

The daemon's own base interpreter is tried first, then the system's. The jobs' user can run neither if, for example, the
daemon is root and its interpreter is below a closed home. In that case the base interpreter is copied, without its test
suites and graphics.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from nightshift.core.errors import SandboxError
from nightshift.sandbox import launcher

OLDEST = (3, 10)
_CHECK = """
import asyncio, ctypes, hashlib, json, multiprocessing, select, sys, unittest, zlib
print(json.dumps([sys.version.split()[0], sys.base_prefix]))
"""
LEFT_OUT = ("test", "tests", "idlelib", "tkinter", "turtledemo", "ensurepip", "site-packages", "config-*", "*.a")


@dataclass(frozen=True, slots=True, kw_only=True)
class Interpreter:
    """A Python interpreter that jobs can run. Its path is the same inside and outside the sandbox.

    `argv` is the command that starts it.
    """

    argv: tuple[str, ...]
    version: str
    prefix: str

    @property
    def series(self) -> str:
        """Major and minor version, such as `3.11`."""
        return ".".join(self.version.split(".")[:2])

    @property
    def path(self) -> str:
        """Path of the program itself."""
        return self.argv[-1]

    @property
    def mounted(self) -> Path | None:
        """The folder that must be mounted for the interpreter; None if it comes with the system's programs."""
        prefix = Path(self.prefix)
        in_system = prefix.is_relative_to("/usr") and not prefix.is_relative_to("/usr/local")
        return None if in_system else prefix


def choose(copies: Path) -> Interpreter:
    """Return the first interpreter that jobs can run. If there is none, copy the base interpreter and return the copy.

    Args:
        copies: a folder that jobs can enter, for the copy.

    Raises:
        SandboxError: jobs cannot run the copy either.
    """
    for path in _candidates():
        if interpreter := check((str(path),)):
            return interpreter
    if interpreter := check(copy(copies)):
        return interpreter
    raise SandboxError(f"Nightshift found no Python {'.'.join(map(str, OLDEST))} or newer that jobs can run")


def check(words: tuple[str, ...]) -> Interpreter | None:
    """Run an interpreter as the jobs' user and return its data; None if that fails or the interpreter is too old."""
    # The shell is needed because a program that drops root can still open any file until its first exec.
    argv = [*launcher.drop_root(), "/bin/sh", "-c", 'exec "$@"', "sh", *words, "-I", "-S", "-B", "-c", _CHECK]
    try:
        done = subprocess.run(argv, env=launcher.ENV, cwd="/", capture_output=True, timeout=30, check=True)
        version, prefix = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    if tuple(map(int, version.split(".")[:2])) < OLDEST:
        return None
    return Interpreter(argv=words, version=version, prefix=prefix)


def _candidates() -> Iterator[Path]:
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    seen = set()
    for folder in (Path(sys.base_prefix, "bin"), Path("/usr/bin"), Path("/usr/local/bin")):
        for path in (folder / name, folder / "python3"):
            real = path.resolve()
            if path.exists() and real not in seen:
                seen.add(real)
                yield real


def copy(copies: Path) -> tuple[str, ...]:
    """Copy the base interpreter, unless a complete copy exists; return the command that starts the copy."""
    series = f"{sys.version_info.major}.{sys.version_info.minor}"
    return _copy_base(Path(sys.base_prefix), Path(sysconfig.get_path("stdlib")), series, copies)


def _copy_base(base: Path, library: Path, series: str, copies: Path) -> tuple[str, ...]:
    version = ".".join(map(str, sys.version_info[:3])) if base == Path(sys.base_prefix) else base.name
    target = copies / f"python-{version}"
    if not target.exists():
        building = copies / f".{target.name}-{os.getpid()}"
        shutil.rmtree(building, ignore_errors=True)
        _copy(base, library, building, f"python{series}")
        open_to_all(building)
        building.rename(target)
    # A build with a shared library searches for the library where it was built, and jobs cannot read that place.
    return "/usr/bin/env", f"LD_LIBRARY_PATH={target}/lib", f"{target}/bin/python{series}"


def _copy(base: Path, standard: Path, target: Path, name: str) -> None:
    (target / "bin").mkdir(parents=True)
    shutil.copy2((base / "bin" / name).resolve(), target / "bin" / name)
    shutil.copytree(standard, target / "lib" / name, ignore=shutil.ignore_patterns(*LEFT_OUT), symlinks=True)
    for library in (base / "lib").glob("libpython3*.so*"):
        shutil.copy2(library, target / "lib" / library.name, follow_symlinks=False)


def others(home: Path) -> dict[str, Path]:
    """Find the interpreters of other minor versions: those of the system, and those of pyenv or uv below a home.

    Args:
        home: the owner's home.
    """
    by_version: dict[tuple[int, ...], Path] = {}
    places = [Path("/usr/bin"), Path("/usr/local/bin")]
    for versions in (home / ".pyenv" / "versions", home / ".local" / "share" / "uv" / "python"):
        places += sorted((prefix / "bin" for prefix in versions.glob("*3.*") if not prefix.is_symlink()), reverse=True)
    for folder in places:
        for path in folder.glob("python3.*"):
            numbers = path.name.removeprefix("python").split(".")
            if len(numbers) == 2 and numbers[1].isdigit():
                by_version.setdefault((int(numbers[0]), int(numbers[1])), path)
    own = sys.version_info[:2]
    return {
        ".".join(map(str, version)): by_version[version]
        for version in sorted(by_version, reverse=True)
        if OLDEST <= version != own
    }


def of_path(path: Path, copies: Path) -> Interpreter:
    """Return the interpreter at a path. If jobs cannot run it, copy it and return the copy.

    Raises:
        SandboxError: jobs cannot run the copy either.
    """
    if interpreter := check((str(path),)):
        return interpreter
    prefix, series = path.resolve().parent.parent, path.name.removeprefix("python")
    if (prefix / "lib" / path.name).is_dir() and (
        interpreter := check(_copy_base(prefix, prefix / "lib" / path.name, series, copies))
    ):
        return interpreter
    raise SandboxError(f"jobs cannot run {path}")


def open_to_all(folder: Path) -> None:
    """Make a tree readable for everyone, and writable only for its owner."""
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            mode = path.stat().st_mode
            path.chmod((mode | 0o555 if path.is_dir() or mode & 0o100 else mode | 0o444) & 0o755)
