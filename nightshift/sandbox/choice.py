"""Chooses the isolation in which untrusted code runs.

To add an isolation, write a module with a class that implements `core.ports.Sandbox`, and add a line to `_MAKERS`.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from nightshift.core.errors import SandboxError

if TYPE_CHECKING:
    from nightshift.core.ports import Sandbox
    from nightshift.sandbox.runtime import Runtime


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The result of choosing a sandbox.

    Attributes:
        sandbox: the chosen sandbox; None if nothing may be executed.
        report: the reasons, in lines for the owner.
        is_late: True if a self-test was not finished in time, which does not mean that its sandbox fails.
    """

    sandbox: Sandbox | None
    report: str
    is_late: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parts:
    """Arguments for creating a sandbox; see `choose`."""

    runtime: Runtime
    scratch: Path
    docker_host: str
    docker_image: str
    nice: int
    ensure_docker: Callable[[], None]


async def choose(
    name: str,
    *,
    runtime: Runtime,
    scratch: Path,
    docker_host: str = "",
    docker_image: str = "",
    nice: int = 0,
    ensure_docker: Callable[[], None] = lambda: None,
) -> Choice:
    """Choose the strongest sandbox that passes its self-test, or the one that is named.

    Args:
        name: `auto`, `bubblewrap`, `docker` or `process`. The last one is the weakest, and is used only if named.
        runtime: the interpreter for the self-test.
        scratch: a folder for jobs that have no file system of their own.
        docker_host: the engine's address; empty for the default paths.
        docker_image: the name of the owner's own image; if empty, an image is made from this machine.
        nice: by how many levels the priority of jobs is lowered (`sandbox.launcher`).
        ensure_docker: installs the package `docker` if needed, or raises `SandboxError`.

    Raises:
        KeyError: there is no sandbox of that name.
    """
    from nightshift.sandbox import selftest  # noqa: PLC0415 (loaded when first needed, as the sandboxes are)

    lines, is_late = list[str](), False
    parts = _Parts(
        runtime=runtime,
        scratch=scratch,
        docker_host=docker_host,
        docker_image=docker_image,
        nice=nice,
        ensure_docker=ensure_docker,
    )
    for candidate in _STRONG if name == "auto" else (name,):
        try:
            sandbox, remark = await asyncio.to_thread(_MAKERS[candidate], parts)
        except SandboxError as error:
            lines.append(f"{candidate}: {error}")
            continue
        self_test = await selftest.probe(sandbox, runtime)
        lines += [f"{candidate}{remark}", *(f"  {line}" for line in self_test.report.splitlines())]
        is_late |= self_test.is_late
        if self_test.passed or candidate not in _STRONG:
            return Choice(sandbox=sandbox, report="\n".join(lines))
    why = "the machine is too busy for the self-test; Nightshift repeats the self-test" if is_late else remedy()
    return Choice(sandbox=None, report="\n".join([*lines, f"Nightshift executes nothing; {why}"]), is_late=is_late)


def remedy() -> str:
    """Return what the owner can do if no sandbox passes its self-test."""
    from nightshift.sandbox.bubblewrap import OPEN_CONTAINER, in_container  # noqa: PLC0415 (see `choose`)

    if in_container() and shutil.which("bwrap"):
        return OPEN_CONTAINER
    return "to run tasks, install bubblewrap: `sudo apt-get install bubblewrap util-linux`"


def _bubblewrap(parts: _Parts) -> tuple[Sandbox, str]:
    from nightshift.sandbox import cgroups  # noqa: PLC0415 (see `choose`)
    from nightshift.sandbox.bubblewrap import BubblewrapSandbox  # noqa: PLC0415 (see `choose`)
    from nightshift.sandbox.cgroups import CgroupError  # noqa: PLC0415 (see `choose`)

    try:
        return BubblewrapSandbox(cgroups.find(nice=parts.nice), nice=parts.nice), ""
    except CgroupError as error:
        alone = BubblewrapSandbox(None, nice=parts.nice)
        return alone, f" without control groups ({error}): limits apply to each process separately"


def _process(parts: _Parts) -> tuple[Sandbox, str]:
    from nightshift.sandbox import job_folders  # noqa: PLC0415 (see `choose`)
    from nightshift.sandbox.orphans import JOBS  # noqa: PLC0415 (see `choose`)
    from nightshift.sandbox.process import ProcessSandbox  # noqa: PLC0415 (see `choose`)

    return ProcessSandbox(
        job_folders.private(parts.scratch / JOBS), parts.nice
    ), ": no isolation, chosen by name; jobs can do what the failed checks below show"


def _docker(parts: _Parts) -> tuple[Sandbox, str]:
    from nightshift.sandbox import docker_image  # noqa: PLC0415 (see `choose`)
    from nightshift.sandbox.docker import DockerSandbox  # noqa: PLC0415 (see `choose`)
    from nightshift.sandbox.docker_engine import Engine  # noqa: PLC0415 (see `choose`)

    home, runtime = str(parts.scratch.resolve()), parts.runtime
    engine = Engine(parts.docker_host, home=home, ensure_client=parts.ensure_docker)

    def image() -> str:
        own = parts.docker_image
        return docker_image.require_image(engine, own) if own else docker_image.from_machine(engine, runtime)

    return DockerSandbox(engine, image, runtime.python, nice=parts.nice), f" at {engine.host}"


_MAKERS: dict[str, Callable[[_Parts], tuple[Sandbox, str]]] = {
    "bubblewrap": _bubblewrap,
    "docker": _docker,
    "process": _process,
}
_STRONG = ("bubblewrap", "docker")
