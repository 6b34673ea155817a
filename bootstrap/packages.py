"""Installs Python packages into an environment: with uv, which takes seconds, or with pip where uv cannot be had.

Standard library only: the set-up uses it before anything is installed. What pip is configured to (an index of one's
own, a folder of wheels, a certificate) holds for uv as well.
"""

from __future__ import annotations

import subprocess
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
    """Where uv lies in the environment of this interpreter, whether it is there or not."""
    return python.parent / "uv"


def get_uv(python: Path, environ: Mapping[str, str]) -> bool:
    """Install uv beside the interpreter, unless it is there; tell whether it is."""
    if not uv_program(python).exists():
        subprocess.run(
            [*_pip(python), "-q", UV], env=dict(environ), check=False, stdin=subprocess.DEVNULL, capture_output=True
        )
    return uv_program(python).exists()


def install(python: Path, wanted: Sequence[str], environ: Mapping[str, str], *, quiet: bool = True) -> int:
    """Install what pip's words ask for (`-r`, `-c`, names); the exit code. What goes wrong is written to stderr."""
    words = ["-q", *wanted] if quiet else list(wanted)
    if get_uv(python, environ):
        uv = [*uv_install(python), *words]
        code = subprocess.run(uv, env=uv_environ(python, environ), check=False, stdin=subprocess.DEVNULL).returncode
        if code == 0:
            return code
    return subprocess.run([*_pip(python), *words], env=dict(environ), check=False, stdin=subprocess.DEVNULL).returncode


def uv_install(python: Path) -> list[str]:
    """How uv is called to install into the environment of this interpreter."""
    return [str(uv_program(python)), "pip", "install", "--python", str(python)]


def uv_environ(python: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """The environment for uv, with what pip is configured to where nothing is said for uv."""
    asking = [str(python), "-m", "pip", "config", "list"]
    found = subprocess.run(asking, env=dict(environ), capture_output=True, text=True, check=False).stdout
    configured = dict[str, str]()
    for line in found.splitlines():  # `global.index-url='…'`; what the environment says comes last
        name, _, value = line.partition("=")
        option = name.rpartition(".")[2]
        if option in _PIP_OPTIONS:
            configured[_PIP_OPTIONS[option]] = " ".join(value.strip("'\"").split("\\n"))
    if "UV_INDEX" in configured:
        configured["UV_INDEX_STRATEGY"] = "unsafe-best-match"  # of several indexes pip takes the best match
    return {**configured, **environ}


def _pip(python: Path) -> list[str]:
    return [str(python), "-m", "pip", "install", "--disable-pip-version-check"]
