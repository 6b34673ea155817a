"""Real git repositories for tests, created with the git program as an owner would create them."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

OWNER = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
}
IDENTITY = ("-c", "user.name=Owner", "-c", "user.email=owner@example.org", "-c", "protocol.file.allow=always")


def git(folder: Path, *args: str, stdin: str | bytes = "", env: Mapping[str, str] | None = None) -> str:
    """Run git as the owner and return its output."""
    data = stdin if isinstance(stdin, bytes) else stdin.encode()
    command = ["git", *IDENTITY, *args]
    done = subprocess.run(
        command, cwd=folder, input=data, capture_output=True, check=False, env={**OWNER, **(env or {})}
    )
    assert done.returncode == 0, f"git {' '.join(args)}: {done.stderr.decode()}"
    return done.stdout.decode("utf-8", "surrogateescape").rstrip("\n")


def make_repo(folder: Path, files: Mapping[str, str | bytes] | None = None) -> Path:
    """Create a repository with one commit of these files on main."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q", "-b", "main")
    write(folder, files or {"README.md": "Hello\n"})
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--no-verify", "-m", "First")
    return folder


def write(folder: Path, files: Mapping[str, str | bytes]) -> None:
    """Write files into a folder."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def _files(folder: Path) -> Iterator[Path]:
    yield from (path for path in sorted(folder.rglob("*")) if path.is_symlink() or not path.is_dir())


def fingerprint(root: Path, *, except_: tuple[str, ...] = ()) -> dict[str, str]:
    """Return the mode, time and digest of every file below `root`.

    Files whose paths begin with an entry of `except_` are left out.
    """
    prints = {}
    for path in _files(root):
        name = path.relative_to(root).as_posix()
        if not name.startswith(except_):
            stat = path.lstat()
            content = os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes()
            prints[name] = f"{stat.st_mode:o} {stat.st_mtime_ns} {hashlib.sha256(content).hexdigest()}"
    return prints
