"""Finds a Node.js that jobs can run, and describes what it can do.

The program on the PATH is used if the jobs' user can run it. If it does not come with the system's programs, its folder
is mounted read-only. A program below a closed home is copied, which is easy because Node.js is one file.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from nightshift.core.code.javascript import TYPED
from nightshift.sandbox import launcher

OLDEST = (20, 14)
"""The oldest release that has the options needed for a verdict (`--test-force-exit`). The first release of version 22
lacks them.
"""

NEEDED = "Node.js 20.14 or newer"
INSTALL = (
    f"JavaScript tasks need {NEEDED}: install it (`sudo apt-get install nodejs` where that is new enough, else "
    "https://nodejs.org) and type `make setup`"
)
_TYPES_WITH_FLAG = (22, 6)
_FLAG = "--experimental-strip-types"
_ASK = "console.log(JSON.stringify([process.execPath, process.versions.node]))"


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A Node.js that jobs can run. Its path is the same inside and outside the sandbox.

    `folder` must be mounted for Node.js. It is empty if Node.js comes with the system's programs.
    """

    path: str
    version: str
    folder: str = ""

    @property
    def numbers(self) -> tuple[int, int]:
        """Major and minor version."""
        major, minor = self.version.split(".")[:2]
        return int(major), int(minor)

    @property
    def flags(self) -> tuple[str, ...]:
        """Flags for every start. They switch TypeScript on if that is possible but not the default."""
        by_itself = self.numbers >= (23, 6) or (22, 18) <= self.numbers < (23, 0)
        typed = (_FLAG,) if self.runs_types and not by_itself else ()
        return ("--no-warnings", *typed)

    @property
    def runs_types(self) -> bool:
        """True if this Node.js can run TypeScript itself, by removing the types."""
        return self.numbers >= _TYPES_WITH_FLAG

    def refusal(self, path: str) -> str:
        """Return the reason why this Node.js cannot run a file; empty if it can."""
        if path.endswith(TYPED) and not self.runs_types:
            return (
                f"{path} is TypeScript, which needs Node.js 22.6 or newer; this machine has {self.version} "
                "(vitest, jest or tsx of the repository's lock file do without)"
            )
        return ""

    def stored(self) -> dict[str, str]:
        """Return the fields as JSON values, for `load`."""
        return asdict(self)


def load(stored: object) -> Node | None:
    """Return the Node.js that a set-up found and stored; None if it no longer exists."""
    if not isinstance(stored, dict):
        return None
    node = Node(**stored)
    return node if Path(node.path).is_file() else None


def find(copies: Path) -> Node | None:
    """Find the first Node.js on the PATH that is new enough and that jobs can run; None if there is none.

    Args:
        copies: a folder that jobs can enter, for a copy.
    """
    # The first call runs as the current user, because the program on the PATH may be a script that chooses a version.
    asked = shutil.which("node") or shutil.which("nodejs")
    real = _ask((asked,)) if asked else None
    if real is None or not is_new_enough(real.numbers):
        return None
    if _ask((*launcher.drop_root(), *_SHELL, real.path)):
        return _show_inside(real)
    copy = _copy(real, copies)
    return copy if _ask((*launcher.drop_root(), *_SHELL, copy.path)) else None


# The shell is needed because a program that drops root can still open any file until its first exec.
_SHELL = ("/bin/sh", "-c", 'exec "$@"', "sh")


def _ask(words: tuple[str, ...]) -> Node | None:
    env = {**launcher.ENV, "PATH": f"{Path(words[-1]).parent}:{launcher.ENV['PATH']}"}
    try:
        done = subprocess.run([*words, "-e", _ASK], env=env, cwd="/", capture_output=True, timeout=30, check=True)
        answer: Any = json.loads(done.stdout)
        return Node(path=os.path.realpath(answer[0]), version=str(answer[1]))
    except (OSError, ValueError, IndexError, TypeError, subprocess.SubprocessError):
        return None


def is_new_enough(version: tuple[int, ...]) -> bool:
    """Check whether a version of Node.js has the options needed for a verdict."""
    return OLDEST <= version < (21, 0) or version >= (22, 1)


def _show_inside(node: Node) -> Node:
    path = Path(node.path)
    in_system = path.is_relative_to("/usr") and not path.is_relative_to("/usr/local")
    return node if in_system else Node(path=node.path, version=node.version, folder=str(path.parent))


def _copy(node: Node, copies: Path) -> Node:
    folder = copies / f"node-{node.version}"
    target = folder / "node"
    if not target.exists():
        folder.mkdir(exist_ok=True)
        building = folder / f".node-{os.getpid()}"
        shutil.copyfile(node.path, building)
        building.chmod(0o755)
        folder.chmod(0o755)
        building.rename(target)
    return Node(path=str(target), version=node.version, folder=str(folder))
