"""How untrusted code runs: one isolation a file, and how a suite is staged, run and judged.

`choose` picks the isolation. A new one is a module with a class that has `core.ports.Sandbox`, and a line in `_MAKERS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from core.errors import SandboxError

if TYPE_CHECKING:
    from core.ports import Sandbox
    from sandbox.runtime import Runtime

INSTALL = "to run tasks, install bubblewrap: `sudo apt-get install bubblewrap util-linux`"


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The sandbox that was chosen, or None when nothing may be executed; `report` says why, in lines for the owner."""

    sandbox: Sandbox | None
    report: str


async def choose(name: str, *, runtime: Runtime, scratch: Path) -> Choice:
    """Take the strongest sandbox that passes its self-test, or the one that is named.

    Args:
        name: `auto`, `bubblewrap`, or `process`, the weakest, which is taken only by this name.
        runtime: the interpreter for the probes.
        scratch: a folder for jobs that have no file system of their own.

    Raises:
        KeyError: there is no sandbox of that name.
    """
    from sandbox import selftest  # noqa: PLC0415 (loaded when first needed, as the sandboxes are)

    lines = []
    for candidate in _STRONG if name == "auto" else (name,):
        try:
            sandbox, remark = _MAKERS[candidate](scratch)
        except SandboxError as error:
            lines.append(f"{candidate}: {error}")
            continue
        found = await selftest.probe(sandbox, runtime)
        lines += [f"{candidate}{remark}", *(f"  {line}" for line in found.report.splitlines())]
        if found.passed or candidate not in _STRONG:
            return Choice(sandbox=sandbox, report="\n".join(lines))
    return Choice(sandbox=None, report="\n".join([*lines, f"nothing is executed; {INSTALL}"]))


def _bubblewrap(_scratch: Path) -> tuple[Sandbox, str]:
    from sandbox import cgroup_search  # noqa: PLC0415 (see `choose`)
    from sandbox.bubblewrap import BubblewrapSandbox  # noqa: PLC0415 (see `choose`)
    from sandbox.cgroups import CgroupError  # noqa: PLC0415 (see `choose`)

    try:
        return BubblewrapSandbox(cgroup_search.find()), ""
    except CgroupError as error:
        return BubblewrapSandbox(None), f" without control groups ({error}): limits hold for each process alone"


def _process(scratch: Path) -> tuple[Sandbox, str]:
    from sandbox import places  # noqa: PLC0415 (see `choose`)
    from sandbox.process import ProcessSandbox  # noqa: PLC0415 (see `choose`)

    return ProcessSandbox(
        places.private(scratch / "process-jobs")
    ), ": no isolation, chosen by name; what fails below is open to jobs"


_MAKERS: dict[str, Callable[[Path], tuple[Sandbox, str]]] = {"bubblewrap": _bubblewrap, "process": _process}
_STRONG = ("bubblewrap",)
