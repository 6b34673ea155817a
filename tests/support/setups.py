"""Environments that setup scripts make, with the real sandbox, for tests."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from nightshift.core.isolation import SandboxJob, SandboxResult
from nightshift.sandbox.runtime import Runtime
from nightshift.verdict.environments.making import Environments
from nightshift.verdict.environments.python import PythonMaker, Series
from nightshift.verdict.environments.setup import LIMITS, SetupMaker
from nightshift.verdict.environments.store import FolderStore
from nightshift.verdict.environments.uv import Uv
from tests.support.sandboxes import bubblewrap, runtime
from tests.support.trees import TextTree

SCRIPT = ".nightshift/setup.sh"
UV = Path(sys.executable).parent / "uv"


def setups(
    folder: Path,
    environ: Mapping[str, str],
    *,
    agreed: Callable[[str], bool] = lambda _digest: True,
    most_mb: float = 500,
    with_python: bool = False,
    **limits: Any,
) -> Environments:
    """Environments of a folder that jobs can enter.

    Args:
        folder: where they are kept.
        environ: where packages are found.
        agreed: which scripts may run, by their digests.
        most_mb: what a script may take on the disk.
        with_python: whether declared wheels are installed too.
        limits: of a script, where they differ.
    """
    store = FolderStore(folder / "environments", keep_mb=4000)
    series = Series(usual=runtime())
    python = PythonMaker(store, Uv(UV, lambda: environ), series)
    bounds = replace(LIMITS, **{"wall_s": 120, "memory_mb": 1024, "pids": 256, "work_mb": 300,
                                    "output_bytes": 1 << 20, "reserved_mb": 1 << 16, **limits})  # fmt: skip
    setup = SetupMaker(bubblewrap(), UV, series, python, environ, limits=bounds, most_mb=most_mb)
    return Environments(store, [*([python] if with_python else []), setup], agreed)


def tree(script: str, **files: str) -> TextTree:
    """A commit with a setup script; `_` in the name of a file is a dot."""
    return TextTree(
        {SCRIPT: f"#!/bin/bash\n{script}\n", **{name.replace("_", "."): text for name, text in files.items()}}
    )


async def build_left(environments: Environments, base: TextTree) -> Runtime:
    """The runtime with what the script of a commit leaves."""
    return await environments.runtime_for(runtime(), base, (await environments.of(base)).digest)


async def run_in(shown: Runtime, code: str) -> SandboxResult:
    """Run Python code with all that a runtime shows, as a program of a test would be run."""
    variables = [f"{name}={value}" for name, value in shown.of_process.items()]
    job = SandboxJob(argv=("/usr/bin/env", *variables, shown.executable, "-c", code), mounts=shown.mounts)
    return await bubblewrap().run(job)
