"""The real sandbox and runtime for tests. A missing program is a failure that says what to install, never a skip."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import functools
import os
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

from nightshift.core.events import Event
from nightshift.core.isolation import RunLimits
from nightshift.core.ports import Sandbox
from nightshift.core.tasks.task import Change, Files
from nightshift.core.tasks.verdicts import SuiteJob, Verdict
from nightshift.sandbox import cgroups, docker_image
from nightshift.sandbox.bubblewrap import BubblewrapSandbox
from nightshift.sandbox.cgroups import CgroupError, Hierarchy
from nightshift.sandbox.docker import DockerSandbox
from nightshift.sandbox.docker_engine import Engine
from nightshift.sandbox.nested import NestedSandbox
from nightshift.sandbox.process import ProcessSandbox
from nightshift.sandbox.runtime import Runtime, list_installed_programs, open_runtime, prepare
from nightshift.verdict.runner import SuiteRunner
from tests.support import engine
from tests.support.trees import TextTree

ISOLATIONS = ("bubblewrap", "nested", "docker", "process")
RUNNER = Path(__file__).resolve().parents[2] / ".runner"


@functools.cache
def runtime() -> Runtime:
    """Return the sandbox's runtime, which the set-up has made; make it again if it is older than the code."""
    prepare(RUNNER, list_installed_programs())
    return open_runtime(RUNNER, programs=list_installed_programs())


@functools.cache
def hierarchy() -> Hierarchy | None:
    """Return the folder in which control groups can be made; None for a plain user without delegation."""
    try:
        return cgroups.find()
    except CgroupError:
        return None


def bubblewrap() -> BubblewrapSandbox:
    """Return the strong sandbox."""
    return BubblewrapSandbox(hierarchy())


@functools.cache
def docker() -> DockerSandbox:
    """Return the sandbox of a real container engine; an engine is started if none answers."""
    reached = Engine(engine.host())
    atexit.register(reached.close)
    return DockerSandbox(reached, lambda: docker_image.from_machine(reached, runtime()), runtime().python)


def isolation(name: str, folder: Path) -> Sandbox:
    """Return the sandbox of that name, ready to run jobs. Call it from the main thread.

    Args:
        name: one of `ISOLATIONS`.
        folder: from `open_folder`, for sandboxes that keep jobs in files.
    """
    makers: dict[str, Callable[[], Sandbox]] = {
        "bubblewrap": bubblewrap,
        "nested": lambda: NestedSandbox(bubblewrap(), runtime()),
        "docker": docker,
        "process": lambda: ProcessSandbox(folder),
    }
    return makers[name]()


@contextlib.asynccontextmanager
async def open_it(name: str, folder: Path) -> AsyncIterator[Sandbox]:
    """Open a sandbox as `isolation` does. At the end, close it if it has processes of its own."""
    box = isolation(name, folder)
    try:
        yield box
    finally:
        if isinstance(box, NestedSandbox):
            await box.aclose()


@contextlib.asynccontextmanager
async def nest(shown: Runtime | None = None) -> AsyncIterator[NestedSandbox]:
    """Open the nested sandbox of a runtime (default: the usual one); its fork servers end with the block."""
    box = NestedSandbox(bubblewrap(), shown or runtime())
    try:
        yield box
    finally:
        await box.aclose()


def groups() -> set[str]:
    """List the current control groups of jobs; groups that vanish during the walk are skipped."""
    walked = os.walk("/sys/fs/cgroup")
    return {f"{folder}/{name}" for folder, names, _ in walked if folder.endswith("/nightshift") for name in names}


@contextlib.contextmanager
def open_folder() -> Iterator[Path]:
    """Create a folder that the user of jobs can enter, unlike pytest's own folders."""
    with tempfile.TemporaryDirectory(prefix="nightshift-test-", dir="/var/tmp") as path:
        Path(path).chmod(0o755)
        yield Path(path)


class Judge:
    """A suite runner on a sandbox that tests share; it keeps its own events."""

    def __init__(self, staging: Path, sandbox: Sandbox, shown: Runtime | None = None) -> None:
        self.events: list[Event] = []
        self.staging = staging
        self.runner = SuiteRunner(sandbox, shown or runtime(), emit=self.events.append, staging_dir=staging)
        self._two = asyncio.Semaphore(2)

    async def __call__(
        self, change: Change, given: Files | None = None, base: Files | None = None, **more: Any
    ) -> Verdict:
        """Judge a change of an in-memory tree; at most two calls run at a time."""
        named = {each.name for each in fields(RunLimits)}
        limits = RunLimits(**{"cpu_s": 10, **{name: value for name, value in more.items() if name in named}})
        job_fields = {name: value for name, value in more.items() if name not in named}
        job = SuiteJob(base=TextTree(base), change=change, given=given or {}, limits=limits, **job_fields)
        async with self._two:
            return await self.runner.judge(job)
