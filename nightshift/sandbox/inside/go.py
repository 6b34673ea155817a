"""Provides the environment variables with which commands build and test Go, using the prebuilt standard library.

This is part of the trusted parent. A script in the place of `go` makes `go test` report each test, so no source of
ours is built into the tests. GOFLAGS would add `-json` to other commands too, and `go vet -json` exits with 0 whatever
it finds.
"""
# Importing pathlib would cost every start of the sandbox some milliseconds.
# ruff: noqa: PTH102, PTH103, PTH112, PTH118, PTH120, PTH123, PTH208, PTH211

import os
import secrets
import shlex
from typing import Any

_GO = """#!/bin/sh
[ "$1" = -C ] && cd "$2" && shift 2
[ "$1" = test ] && shift && json=-json
[ "$1" = -C ] && cd "$2" && shift 2
exec {program} ${{json:+test -json}} "$@"
"""
"""Script in the place of `go`. It changes into the folder of `-C` itself, because `-C` must be the first option."""
KEPT = ("HOME", "TMPDIR", "LANG", "NIGHTSHIFT_JOB", "GOMODCACHE")


def work_folder() -> str:
    """Return the path of a new folder for the files of builds."""
    return os.path.join(os.environ.get("TMPDIR", "/tmp"), f"go{secrets.token_hex(4)}")  # noqa: S108 (the job's own)


def environment(settings: dict[str, Any], work: str) -> dict[str, str]:
    """Return the environment variables for a build that stores its files in the new folder `work`."""
    toolchain = next(toolchain for toolchain in settings["places"] if os.path.isdir(toolchain["cache"]))
    env = {name: os.environ[name] for name in KEPT if name in os.environ}
    programs = _write_go(toolchain["path"], os.path.join(work, "bin"))
    path = os.pathsep.join((programs, os.path.dirname(toolchain["path"]), os.environ.get("PATH", "/usr/bin:/bin")))
    cache = _link_builds(toolchain["cache"], os.path.join(work, "cache"))
    own = {"GOROOT": toolchain["root"], "GOCACHE": cache, "GOTMPDIR": work}
    return {**env, **settings["env"], "PATH": path, **own}


def _write_go(program: str, folder: str) -> str:
    """Write the script that runs Go; return its folder."""
    os.makedirs(folder)
    with open(os.path.join(folder, "go"), "w") as file:
        file.write(_GO.format(program=shlex.quote(program)))
        os.fchmod(file.fileno(), 0o700)
    return folder


def _link_builds(built: str, cache: str) -> str:
    """Create a build cache with links to everything in the shared one. New builds in it belong to this run only."""
    os.makedirs(cache)
    for name in os.listdir(built):
        if len(name) == 2:
            os.mkdir(os.path.join(cache, name))
            for entry in os.listdir(os.path.join(built, name)):
                os.symlink(os.path.join(built, name, entry), os.path.join(cache, name, entry))
    return cache
