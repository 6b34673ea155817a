"""Versions: Python, SQLite, git, Node.js, and our packages against requirements.txt."""

from __future__ import annotations

import importlib.metadata
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from bootstrap.doctor.context import Patient
from bootstrap.doctor.findings import Finding, fault, note, ok, warning
from config import VERSION
from db.inspection import library
from gitrepo.protocol import OLDEST, version_of
from settings.places import ROOT

if TYPE_CHECKING:
    from packaging.requirements import Requirement

OLDEST_PYTHON, OLDEST_SQLITE, OLDEST_NODE = (3, 11), (3, 38), (20, 0)


def versions(patient: Patient) -> Iterator[Finding]:
    """Look at the programs."""
    yield ok("nightshift", f"version {VERSION} in {ROOT}")
    yield _python()
    yield _sqlite()
    yield _git(patient)
    yield _node(patient)


def packages(_: Patient) -> Iterator[Finding]:
    """Hold what is installed against requirements.txt."""
    yield from against((ROOT / "requirements.txt").read_text(encoding="utf-8"))


def against(requirements: str) -> Iterator[Finding]:
    """Hold what is installed against the text of such a file."""
    from packaging.requirements import InvalidRequirement, Requirement  # noqa: PLC0415  pytest brings it

    wanted, found = 0, list[Finding]()
    for line in requirements.splitlines():
        try:
            asked = Requirement(line.partition("#")[0].strip())
        except InvalidRequirement:  # an empty line, a remark, an option
            continue
        if asked.marker is None or asked.marker.evaluate():
            wanted += 1
            found += _package(asked)
    yield from found or [ok("packages", f"all {wanted} of requirements.txt are installed")]


def _package(asked: Requirement) -> Iterator[Finding]:
    mend = f"make setup   (or: {sys.executable} -m pip install -r requirements.txt)"
    try:
        version = importlib.metadata.version(asked.name)
    except importlib.metadata.PackageNotFoundError:
        yield fault(asked.name, "is not installed", mend)
        return
    if version not in asked.specifier:
        yield fault(asked.name, f"version {version} is installed, {asked.specifier} is asked for", mend)


def _python() -> Finding:
    text = f"{platform.python_implementation()} {platform.python_version()} ({sys.executable})"
    if sys.version_info < OLDEST_PYTHON:
        return fault("python", text, f"install Python {_dotted(OLDEST_PYTHON)} or newer, then `make setup`")
    return ok("python", text)


def _sqlite() -> Finding:
    module, version = library()
    text = f"{version} ({module})"
    if version_of(version) < OLDEST_SQLITE:
        return fault("sqlite", f"{text} is too old", "install pysqlite3-binary: `make setup`")
    return ok("sqlite", text)


def _git(patient: Patient) -> Finding:
    said = _said(patient, "git", "--version")
    if not said:
        return fault("git", "is not installed", "sudo apt-get install git")
    if version_of(said) < OLDEST:
        return fault("git", f"{said} is too old", f"install git {_dotted(OLDEST)} or newer")
    return ok("git", said)


def _node(patient: Patient) -> Finding:
    said = _said(patient, "node", "--version")
    if not said:
        return note("node", "is not installed: tasks in JavaScript are refused", "install Node.js 20 or newer")
    if version_of(said) < OLDEST_NODE:
        return warning("node", f"{said} is too old for tasks in JavaScript", "install Node.js 20 or newer")
    return ok("node", said)


def _said(patient: Patient, program: str, *args: str) -> str:
    """What a program answers, empty where there is none."""
    path = patient.settings.process_environment.get("PATH", "")
    found = shutil.which(program, path=path)
    if found is None:
        return ""
    done = subprocess.run([found, *args], capture_output=True, text=True, timeout=5, check=False, cwd=Path("/"))
    return done.stdout.strip()


def _dotted(version: tuple[int, int]) -> str:
    return ".".join(map(str, version))
