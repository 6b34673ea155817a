"""Finds a Go toolchain that jobs can use, and builds the standard library once for all jobs.

The built standard library is in a folder that jobs see read-only and use through links. So a build in a job takes only
a second, and no job can leave anything there for another job.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from nightshift.core.isolation import Mount
from nightshift.sandbox import interpreter, launcher

OLDEST = (1, 18)
INSTALL = (
    "Go tasks need Go 1.18 or newer, in a folder that other users may read: install it (`sudo apt-get install "
    "golang-go`, or https://go.dev) and type `make setup`"
)
UNPACKED = "golang"
"""Folder beside the runner's libraries that may contain a toolchain unpacked from packages."""
ENV = {"CGO_ENABLED": "0", "GOENV": "off", "GOFLAGS": "", "GOPROXY": "off", "GOTOOLCHAIN": "local"}
"""Environment variables that affect builds of the standard library, or that keep a build from using the network."""
_INSIDE, _BUILDS = "/opt/go", "/opt/go-builds"
_SHELL = ("/bin/sh", "-c", 'exec "$@"', "sh")


@dataclass(frozen=True, slots=True, kw_only=True)
class Go:
    """A Go toolchain.

    Attributes:
        path: path of the program `go`.
        version: version of the toolchain.
        root: the toolchain's GOROOT.
        cache: the folder with the built standard library.
        folder: a folder that must be mounted for the toolchain; empty if the toolchain comes with the system's
            programs.
    """

    path: str
    version: str
    root: str
    cache: str = ""
    folder: str = ""

    @property
    def shown(self) -> Go:
        """The same toolchain with its paths inside the sandbox."""
        root = os.path.normpath(f"{_INSIDE}/{os.path.relpath(self.root, self.folder)}" if self.folder else self.root)
        return Go(path=f"{root}/bin/go", version=self.version, root=root, cache=_BUILDS, folder=self.folder)

    def mounts(self) -> tuple[Mount, ...]:
        """Return the mounts that the toolchain needs."""
        builds = Mount(host=Path(self.cache), inside=_BUILDS)
        return (builds, *([Mount(host=Path(self.folder), inside=_INSIDE)] if self.folder else []))

    def stored(self) -> dict[str, str]:
        """Return the fields as JSON values, for `load`."""
        return asdict(self)


def load(stored: object) -> Go | None:
    """Return the toolchain that a set-up found and stored; None if it no longer exists."""
    if not isinstance(stored, dict):
        return None
    go = Go(**stored)
    return go if Path(go.path).is_file() and Path(go.cache).is_dir() else None


def find(home: Path) -> Go | None:
    """Find the first toolchain that is new enough and that jobs can run; None if there is none.

    Args:
        home: a folder that jobs can enter. It may contain an unpacked toolchain, and the builds are stored in it.
    """
    for program in _candidates(home):
        go = _ask((*launcher.drop_root(), *_SHELL, program))
        if go and _numbers(go.version) >= OLDEST:
            return _show_inside(go, home)
    return None


def is_built(go: Go) -> bool:
    """Check whether the standard library was built for this toolchain."""
    return Path(go.cache).is_dir()


def build(go: Go) -> bool:
    """Build the standard library in a temporary folder, then rename the folder; return False if the build fails."""
    target = Path(go.cache)
    building = target.with_name(f".{target.name}-{os.getpid()}")
    shutil.rmtree(building, ignore_errors=True)
    building.mkdir()
    env = {**launcher.ENV, **ENV, "GOROOT": go.root, "GOCACHE": str(building), "HOME": str(building)}
    words = [go.path, "build", "std"]
    done = subprocess.run(words, env=env, cwd=building, capture_output=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode:
        shutil.rmtree(building, ignore_errors=True)
        return False
    interpreter.open_to_all(building)
    try:
        building.rename(target)
    except OSError:
        shutil.rmtree(building)  # another process finished the same build first
    return True


def _candidates(home: Path) -> Iterator[str]:
    if on_path := shutil.which("go"):
        yield on_path
    unpacked = sorted((home / UNPACKED).glob("usr/lib/go-*/bin/go"), reverse=True)
    installed = sorted(Path("/usr/lib").glob("go-*/bin/go"), reverse=True)
    yield from map(str, (*installed, Path("/usr/local/go/bin/go"), *unpacked))


def _ask(words: tuple[str, ...]) -> Go | None:
    env = {**launcher.ENV, **ENV, "HOME": "/nonexistent", "GOCACHE": "off"}
    try:
        asked = [*words, "env", "-json", "GOROOT", "GOVERSION"]
        done = subprocess.run(asked, env=env, cwd="/", capture_output=True, timeout=30, check=True)
        answer: Any = json.loads(done.stdout)
        root, version = str(answer["GOROOT"]), str(answer["GOVERSION"]).removeprefix("go")
    except (OSError, ValueError, KeyError, TypeError, subprocess.SubprocessError):
        return None
    program = Path(root, "bin", "go")
    return Go(path=str(program), version=version, root=root) if program.is_file() else None


def _show_inside(go: Go, home: Path) -> Go:
    parts = [os.path.realpath(Path(go.root, name)) for name in ("", "src", "pkg")]
    folder = os.path.commonpath(parts)
    in_system = Path(folder).is_relative_to("/usr") and not Path(folder).is_relative_to("/usr/local")
    key = hashlib.sha256("\0".join((go.root, go.version, *map("=".join, sorted(ENV.items())))).encode()).hexdigest()
    return Go(
        path=go.path, version=go.version, root=go.root, cache=str(home / f"go-{go.version}-{key[:12]}"),
        folder="" if in_system else folder,
    )  # fmt: skip


def _numbers(version: str) -> tuple[int, int]:
    major, _, rest = version.partition(".")
    minor = "".join(char for char in rest.partition(".")[0] if char.isdigit())
    return (int(major), int(minor)) if major.isdigit() and minor else (0, 0)
