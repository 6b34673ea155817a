"""Installs Python packages into an environment: with uv, which takes seconds, or with pip where uv cannot be had.

Standard library only: the set-up uses it before anything is installed. What pip is configured to (an index of one's
own, a folder of wheels, a certificate) holds for uv as well.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

UV = "uv==0.13.9"
# pip's options, and the variables of uv that mean the same.
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
    """Install uv beside the interpreter, unless it is there; tell whether it is."""
    if not uv_program(python).exists():
        subprocess.run(
            [*_pip(python), "-q", UV], env=dict(environ), check=False, stdin=subprocess.DEVNULL, capture_output=True
        )
    return uv_program(python).exists()


def install(python: Path, wanted: Sequence[str], environ: Mapping[str, str]) -> int:
    """Install what pip's words ask for (`-r`, `-c`, names); the exit code.

    Progress and what goes wrong are written to stderr: on a terminal as uv draws them, else as lines.
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
            if not line.startswith((" + ", " - ", " ~ ")):  # one for each package, when all are there
                print(line, end="", file=sys.stderr, flush=True)
    return process.returncode


def uv_install(python: Path) -> list[str]:
    """Return the command of uv that installs into the environment of this interpreter."""
    return [str(uv_program(python)), "pip", "install", "--python", str(python)]


def uv_environ(python: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """The environment for uv, with what pip is configured to where nothing is said for uv."""
    asking = [str(python), "-m", "pip", "config", "list"]
    configuration = subprocess.run(asking, env=dict(environ), capture_output=True, text=True, check=False).stdout
    configured = dict[str, str]()
    for line in configuration.splitlines():  # `global.index-url='…'`; what the environment says comes last
        name, _, value = line.partition("=")
        option = name.rpartition(".")[2]
        if option in _PIP_OPTIONS:
            configured[_PIP_OPTIONS[option]] = " ".join(value.strip("'\"").split("\\n"))
    if "UV_INDEX" in configured:
        configured["UV_INDEX_STRATEGY"] = "unsafe-best-match"  # of several indexes pip takes the best match
    return {**configured, **environ}


def _pip(python: Path) -> list[str]:
    return [str(python), "-m", "pip", "install", "--disable-pip-version-check"]
