"""A Go toolchain for tests: the machine's own toolchain, or Debian's.

Debian's toolchain is not installed but unpacked beside the sandbox's libraries. The first Go test downloads some 80 MB.
If neither toolchain is available, a Go test fails and says why.
"""

from __future__ import annotations

import fcntl
import functools
import subprocess
import tempfile
from pathlib import Path

import pytest

from nightshift.sandbox import go_program, job_folders
from nightshift.sandbox.runtime import Runtime, list_installed_programs, open_runtime, prepare
from tests.support import sandboxes

PACKAGE = "golang-go"


@functools.cache
def runtime() -> Runtime:
    """Return the sandbox's runtime with a Go toolchain in it. Fail the test if there is no toolchain."""
    home = job_folders.public(sandboxes.RUNNER)
    with (home / ".golang.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several test processes may need the toolchain at once
        if go_program.find(home) is None:
            _unpack(home / go_program.UNPACKED)
        prepare(sandboxes.RUNNER, list_installed_programs())
    go_runtime = open_runtime(sandboxes.RUNNER, programs=list_installed_programs())
    if go_runtime.go is None:
        pytest.fail(f"{go_program.INSTALL}; Debian's packages could not be unpacked here either", pytrace=False)
    return go_runtime


def _unpack(target: Path) -> None:
    """Download Debian's packages and unpack them into a folder."""
    with tempfile.TemporaryDirectory() as folder:
        done = _run("apt-get", "download", *_packages(PACKAGE), cwd=folder)
        if done.returncode:
            _run("apt-get", "update", cwd=folder)
            _run("apt-get", "download", *_packages(PACKAGE), cwd=folder)
        target.mkdir(exist_ok=True)
        for package in sorted(Path(folder).glob("*.deb")):
            _run("dpkg", "-x", str(package), str(target), cwd=folder)


def _packages(name: str) -> list[str]:
    """List this Debian package and the Go packages that it depends on."""
    packages, waiting = list[str](), [name]
    while waiting:
        current = waiting.pop()
        if current not in packages:
            packages.append(current)
            lines = _run("apt-cache", "depends", current, cwd="/").stdout.splitlines()
            needed = (line.partition("Depends: ")[2] for line in lines if line.lstrip(" |").startswith("Depends: "))
            waiting += [package for package in needed if package.startswith("golang-")]
    return packages


def _run(*words: str, cwd: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(words, cwd=cwd, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    except FileNotFoundError as error:
        pytest.fail(f"{go_program.INSTALL} ({error})", pytrace=False)
