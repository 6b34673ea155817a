"""Provides the image of the containers: the owner's own image, or one that is made from this machine.

Our own image is tagged with the digest of its content. If a file that it was made from changes (a newer interpreter, a
security update of a library), the next start finds no image with the new tag and makes one.

The image's root consists of an interpreter, a shell and small programs, with their libraries; no registry is used. The
interpreter is the one for which the test libraries were installed, under the same path, so that compiled files and
wheels fit. All packed files come with the system and contain no secrets. None of them are the owner's.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import shutil
import stat
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from nightshift.core.errors import SandboxError
from nightshift.sandbox import launcher, orphans
from nightshift.sandbox.docker_engine import Engine
from nightshift.sandbox.interpreter import LEFT_OUT
from nightshift.sandbox.runtime import Runtime

REPOSITORY = "nightshift-sandbox"
_PATH = "/usr/bin:/bin"
_PROGRAMS = (
    "sh", "bash", "env", "cat", "chmod", "cmp", "cp", "cut", "date", "dd", "diff", "dirname", "basename", "echo",
    "expr", "false", "find", "grep", "head", "id", "ln", "ls", "mkdir", "mktemp", "mv", "printf", "pwd",
    "readlink", "realpath", "rm", "rmdir", "sed", "seq", "setsid", "sleep", "sort", "stat", "tail", "tee", "test",
    "timeout", "touch", "tr", "true", "uname", "uniq", "wc", "which", "xargs", "yes", "awk",
)  # fmt: skip
_DATA = ("/usr/lib/locale/C.utf8", "/usr/share/zoneinfo")
_FOLDERS = {"tmp": 0o1777, "work": 0o755, "src": 0o755, "opt": 0o755, "proc": 0o555, "sys": 0o555, "dev": 0o755}
_LOADED = re.compile(r"(?:=> |^\s+)(/\S+) \(0x", re.MULTILINE)
_NOT_FOUND = re.compile(r"^\s*(\S+) => not found", re.MULTILINE)
_ASK = """
import json, sys, sysconfig
print(json.dumps([sys.executable, sysconfig.get_path('stdlib'), sysconfig.get_path('platstdlib')]))
"""


def from_machine(engine: Engine, runtime: Runtime) -> str:
    """Return the name of an image that contains what runs need. The image is made from this machine if it is missing.

    Raises:
        SandboxError: the image could not be made.
    """
    node = [Path(runtime.node.path)] if runtime.node else []
    is_shown = runtime.node is not None and bool(runtime.node.folder)
    programs, shown = ([], node) if is_shown else (node, [])
    return make_image(engine, collect(runtime.python, programs=programs, shown=shown))


def make_image(engine: Engine, root: Root, repository: str = REPOSITORY) -> str:
    """Return the name of an image with this root.

    If the image is missing, it is made, and the repository's other images are removed.

    Raises:
        SandboxError: the image could not be made.
    """
    try:
        tag = root.digest[:16]
        if not engine.has_image(f"{repository}:{tag}"):
            with tempfile.NamedTemporaryFile(prefix=orphans.prefix("image"), suffix=".tar") as file:
                root.write(file)
                file.flush()
                engine.take_image(Path(file.name), repository, tag)
    except OSError as error:
        raise SandboxError(f"the image cannot be made from this machine: {error}") from error
    return f"{repository}:{tag}"


def require_image(engine: Engine, name: str) -> str:
    """Check that the owner's own image exists, and return its name.

    Raises:
        SandboxError: the image does not exist.
    """
    if not engine.has_image(name):
        raise SandboxError(
            f"there is no image {name} (DOCKER_IMAGE); type `docker build -t {name} - < nightshift/sandbox/Dockerfile` "
            "or unset DOCKER_IMAGE, so that Nightshift makes an image from this machine"
        )
    return name


@dataclass(frozen=True, slots=True, kw_only=True)
class Root:
    """A root file system: files and links of this machine under their own paths, and files with generated `texts`."""

    files: tuple[Path, ...]
    texts: dict[str, str]

    @property
    def digest(self) -> str:
        """The SHA-256 of the output of `write`, in hexadecimal."""
        taken = _Digest()
        self.write(cast(IO[bytes], taken))
        return taken.hash.hexdigest()

    def write(self, target: IO[bytes]) -> None:
        """Write the root as a tar archive in which root owns everything.

        Raises:
            OSError: a file has disappeared, or there is no room.
        """
        with tarfile.open(fileobj=target, mode="w|", format=tarfile.PAX_FORMAT) as tar:
            for name, mode in self._folders().items():
                tar.addfile(_entry(name, tarfile.DIRTYPE, mode))
            for path in self.files:
                _pack(tar, path)
            for name, text in self.texts.items():
                entry = _entry(name, tarfile.REGTYPE, 0o444)
                entry.size = len(text.encode())
                tar.addfile(entry, io.BytesIO(text.encode()))

    def _folders(self) -> dict[str, int]:
        names = [str(path).lstrip("/") for path in self.files] + list(self.texts)
        parents = {str(parent): 0o755 for name in names for parent in Path(name).parents if parent.name}
        return dict(sorted({**parents, **_FOLDERS}.items()))


class _Digest:
    """A file object that computes the digest of the written data without storing them."""

    def __init__(self) -> None:
        self.hash = hashlib.sha256()

    def write(self, data: bytes) -> int:
        self.hash.update(data)
        return len(data)


def collect(python: Sequence[str], *, programs: Sequence[Path] = (), shown: Sequence[Path] = ()) -> Root:
    """Collect the files that an interpreter and the small programs need.

    Args:
        python: the command that starts the interpreter.
        programs: further programs.
        shown: programs that are mounted in runs anyway, so only their libraries are packed.

    Raises:
        SandboxError: a library, or a tool to find libraries, is missing.
    """
    entries: dict[str, Path] = {}
    executable, *libraries = json.loads(_run_program([*python, "-I", "-S", "-B", "-c", _ASK]))
    small = [Path(found_at) for name in _PROGRAMS if (found_at := shutil.which(name, path=_PATH))]
    packed = [*small, *programs, Path(executable), *_aliases(Path(executable))]
    modules = [path for folder in dict.fromkeys(libraries) for path in _below(Path(folder), LEFT_OUT)]
    loading = [*packed, *shown, *(path for path in modules if path.suffix == ".so")]
    for path in [*packed, *modules, *_find_needed(python, loading)]:
        _add(entries, path)
    for folder in _DATA:
        for path in _below(Path(folder), ("right", "posix")):
            _add(entries, path)
    for path in map(Path, ("/bin", "/sbin", "/lib", "/lib32", "/lib64")):
        if path.is_symlink():
            _add(entries, path)
    files = tuple(path for _, path in sorted(entries.items()))
    return Root(files=files, texts=_texts())


def _texts() -> dict[str, str]:
    user = launcher.job_uid()
    return {
        "etc/passwd": f"root:x:0:0::/:/bin/sh\nagent:x:{user}:{user}::/tmp:/bin/sh\n",
        "etc/group": f"root:x:0:\nagent:x:{user}:\n",
        "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",  # no other source of names exists inside
    }


def _aliases(executable: Path) -> Iterator[Path]:
    """Yield the other names of the interpreter in its folder, such as `python3`."""
    for path in executable.parent.glob("python*"):
        if path.is_symlink() and path.resolve() == executable.resolve():
            yield path


def _below(folder: Path, left_out: Sequence[str]) -> Iterator[Path]:
    skip = shutil.ignore_patterns(*left_out)
    for parent, folders, names in os.walk(folder):
        ignored = skip(parent, [*folders, *names])
        folders[:] = [name for name in folders if name not in ignored]
        yield from (Path(parent, name) for name in names if name not in ignored)


def _find_needed(python: Sequence[str], paths: Sequence[Path]) -> Iterator[Path]:
    """Yield the shared libraries that these programs and modules load, including the loader itself."""
    listed = _run_program(
        [*python[:-1], "ldd", *map(str, dict.fromkeys(path.resolve() for path in paths))], check=False
    )
    if missing := sorted(set(_NOT_FOUND.findall(listed))):
        raise SandboxError(f"the image cannot be made from this machine: {', '.join(missing)} not found")
    yield from {Path(match) for match in _LOADED.findall(listed)}
    for folder in {path.resolve().parent for path in map(Path, _LOADED.findall(listed))}:
        yield from folder.glob("libnss_files.so*")  # before glibc 2.34 it is loaded by name


def _add(entries: dict[str, Path], path: Path) -> None:
    """Add a file and, if it is a link, the file that it points to."""
    path = path.parent.resolve() / path.name
    while str(path) not in entries:
        entries[str(path)] = path
        if not path.is_symlink():
            return
        target = path.parent / path.readlink()
        if target.is_dir():
            return
        path = target.parent.resolve() / target.name


def _pack(tar: tarfile.TarFile, path: Path) -> None:
    facts = path.lstat()
    if stat.S_ISLNK(facts.st_mode):
        entry = _entry(str(path), tarfile.SYMTYPE, 0o777)
        entry.linkname = str(path.readlink())
        tar.addfile(entry)
    elif stat.S_ISREG(facts.st_mode):
        entry = _entry(str(path), tarfile.REGTYPE, facts.st_mode & 0o755 | 0o444)
        # The size and time must be kept: a compiled module is valid only if its source has the size and time that it
        # records.
        entry.size, entry.mtime = facts.st_size, int(facts.st_mtime)
        with path.open("rb") as file:
            tar.addfile(entry, file)


def _entry(name: str, kind: bytes, mode: int) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name.lstrip("/"))
    entry.type, entry.mode = kind, mode
    return entry


def _run_program(argv: Sequence[str], *, check: bool = True) -> str:
    try:
        done = subprocess.run(argv, env=launcher.ENV, cwd="/", capture_output=True, text=True, timeout=60, check=check)
    except (OSError, subprocess.SubprocessError) as error:
        raise SandboxError(f"the image cannot be made from this machine: {error}") from error
    return done.stdout
