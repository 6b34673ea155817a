"""Runs a hostile program from a process that has a terminal, as a daemon in the foreground does.

    python -m tests.support.hostile_terminal ISOLATION FOLDER     (or `bare` for none)

prints the text that must not reach the terminal, once the program has proved that it ran.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

from nightshift.core.isolation import Ended, SandboxResult
from tests.support.hostile import LIMITS, command, list_told_to, run_inside, start
from tests.support.hostile_host import Host, host
from tests.support.sandboxes import open_it

PROGRAM = "terminal/speaks_and_types"


async def main(name: str, folder: Path) -> None:
    """Run the hostile program once in the named isolation."""
    with host("", bait=False) as bait_host:
        result = _bare(bait_host) if name == "bare" else await _inside(bait_host, name, folder)
        if start(bait_host, result):
            print(bait_host.challenge)


def _bare(bait_host: Host) -> SandboxResult:
    stdin = list_told_to(bait_host, PROGRAM, LIMITS)
    done = subprocess.run(command(bait_host), input=stdin, stdout=subprocess.PIPE, timeout=20, check=False)
    return SandboxResult(
        exit_code=done.returncode, ended=Ended.EXITED, stdout=done.stdout, stderr=b"", duration_s=0.0
    )  # fmt: skip


async def _inside(bait_host: Host, name: str, folder: Path) -> SandboxResult:
    async with open_it(name, folder) as sandbox:
        return await run_inside(sandbox, bait_host, PROGRAM, LIMITS)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2])))
