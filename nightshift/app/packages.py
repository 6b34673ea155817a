"""Installs Python packages into an environment: with uv, which takes seconds, or with pip if uv is not available.

Uses only the standard library, because the set-up calls this module before anything is installed. pip's configuration
(a private index, a folder of wheels or a certificate) also applies to uv.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

UV = "uv==0.13.9"
# pip's options, and the equivalent variables of uv.
_PIP_OPTIONS = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "cert": "SSL_CERT_FILE",
}


def uv_program(python: Path) -> Path:
    """Return the path of uv in the environment of this interpreter, whether it exists or not."""
    return python.parent / "uv"


def get_uv(python: Path, environ: Mapping[str, str]) -> bool:
    """Install uv in the interpreter's environment if it is missing; return True if it is available."""
    if not uv_program(python).exists():
        subprocess.run(
            [*_pip(python), "-q", UV], env=dict(environ), check=False, stdin=subprocess.DEVNULL, capture_output=True
        )
    return uv_program(python).exists()


def install(python: Path, wanted: Sequence[str], environ: Mapping[str, str]) -> int:
    """Install the packages given as pip arguments (`-r`, `-c` or package names), and return the exit code.

    Progress and errors are written to stderr: as uv draws them on a terminal, otherwise line by line.
    """
    if get_uv(python, environ) and _uv([*uv_install(python), *wanted], uv_environ(python, environ)) == 0:
        return 0
    pip = [*_pip(python), *([] if sys.stderr.isatty() else ["-q"]), *wanted]
    return subprocess.run(pip, env=dict(environ), check=False, stdin=subprocess.DEVNULL).returncode


def _uv(argv: Sequence[str], environ: Mapping[str, str]) -> int:
    if sys.stderr.isatty():
        return subprocess.run(argv, env=environ, check=False, stdin=subprocess.DEVNULL).returncode
    with subprocess.Popen(argv, env=environ, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        for line in process.stderr:
            if not line.startswith((" + ", " - ", " ~ ")):  # lines with these prefixes list each package
                print(line, end="", file=sys.stderr, flush=True)
    return process.returncode


def uv_install(python: Path) -> list[str]:
    """Return the uv command that installs into the environment of this interpreter."""
    return [str(uv_program(python)), "pip", "install", "--python", str(python)]


def uv_environ(python: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment variables for uv, with pip's configuration wherever `environ` sets nothing for uv."""
    asking = [str(python), "-m", "pip", "config", "list"]
    configuration = subprocess.run(asking, env=dict(environ), capture_output=True, text=True, check=False).stdout
    configured = dict[str, str]()
    for line in configuration.splitlines():  # lines like `global.index-url='…'`; the environment's variables come last
        name, _, value = line.partition("=")
        option = name.rpartition(".")[2]
        if option in _PIP_OPTIONS:
            configured[_PIP_OPTIONS[option]] = " ".join(value.strip("'\"").split("\\n"))
    if "UV_INDEX" in configured:
        configured["UV_INDEX_STRATEGY"] = "unsafe-best-match"  # pip uses the best match of several indexes
    return {**configured, **environ}


def _pip(python: Path) -> list[str]:
    return [str(python), "-m", "pip", "install", "--disable-pip-version-check"]
