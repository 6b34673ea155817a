"""Environments that setup scripts build in the real sandbox."""

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
    """Return environments that are stored in a folder that jobs can enter.

    Args:
        folder: the folder in which the environments are stored.
        environ: variables that say where packages are found.
        agreed: checks by its digest whether a script may run.
        most_mb: the disk space that a script may use, in MB.
        with_python: also install the declared wheels.
        limits: the script's limits that differ from the defaults.
    """
    store = FolderStore(folder / "environments", keep_mb=4000)
    series = Series(usual=runtime())
    python = PythonMaker(store, Uv(UV, lambda: environ), series)
    bounds = replace(LIMITS, **{"wall_s": 120, "memory_mb": 1024, "pids": 256, "work_mb": 300,
                                    "output_bytes": 1 << 20, "reserved_mb": 1 << 16, **limits})  # fmt: skip
    setup = SetupMaker(bubblewrap(), UV, series, python, environ, limits=bounds, most_mb=most_mb)
    return Environments(store, [*([python] if with_python else []), setup], agreed)


def tree(script: str, **files: str) -> TextTree:
    """Return a commit with a setup script; `_` in a file's name becomes a dot."""
    return TextTree(
        {SCRIPT: f"#!/bin/bash\n{script}\n", **{name.replace("_", "."): text for name, text in files.items()}}
    )


async def build_left(environments: Environments, base: TextTree) -> Runtime:
    """Return the runtime with the files that a commit's script has installed."""
    return await environments.runtime_for(runtime(), base, (await environments.of(base)).digest)


async def run_in(shown: Runtime, code: str) -> SandboxResult:
    """Run Python code with everything that a runtime provides, as a test's program runs."""
    variables = [f"{name}={value}" for name, value in shown.of_process.items()]
    job = SandboxJob(argv=("/usr/bin/env", *variables, shown.executable, "-c", code), mounts=shown.mounts)
    return await bubblewrap().run(job)
