"""What one job leaves to the next, and what two jobs at once can do to each other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine

import pytest

from core.isolation import SandboxJob, SandboxResult
from core.ports import Sandbox
from tests.hostile.manifest import LEFTOVERS, STAYS
from tests.support.hostile import LIMITS, run_bare, run_inside, started
from tests.support.hostile_host import Host, host

pytestmark = pytest.mark.asyncio(loop_scope="session")
Run = Callable[[Host, str, str], Coroutine[None, None, SandboxResult]]
_BARE: dict[str, tuple[bool, bool]] = {}


async def found(name: str, run: Run) -> tuple[bool, bool]:
    """Tell whether a secret of one job came out of another that ran beside it, and out of one that ran after it."""
    with host("", bait=False) as made:
        _, beside = both = await asyncio.gather(run(made, name, "hold"), run(made, name, "seek"))
        after = await run(made, name, "find")
        for result in (*both, after):
            assert started(made, result), result
        secret = made.secret.encode()
        return secret in beside.stdout, secret in after.stdout


def inside(sandbox: Sandbox) -> Run:
    return lambda made, name, step: run_inside(sandbox, made, name, LIMITS, step)


async def bare(made: Host, name: str, step: str) -> SandboxResult:
    return await run_bare(made, name, LIMITS, step)


@pytest.mark.parametrize("name", LEFTOVERS)
async def test_a_job_finds_nothing_of_another(name: str, sandbox: Sandbox) -> None:
    path = f"neighbours/{name}"
    if name not in _BARE:
        _BARE[name] = await found(path, bare)
    assert _BARE[name] == (True, True)
    weak = sandbox.name == "process"
    assert await found(path, inside(sandbox)) == (weak, weak and name in STAYS)


async def test_a_job_cannot_end_another_nor_what_keeps_the_jobs(sandbox: Sandbox) -> None:
    weak = sandbox.name == "process"
    assert await survived(bare, alone=False) is False
    assert await survived(inside(sandbox), alone=not weak) is not weak
    after = await sandbox.run(SandboxJob(argv=("/bin/sh", "-c", "echo still there")))
    assert after.stdout == b"still there\n"


async def survived(run: Run, *, alone: bool) -> bool:
    """Tell whether a job came to its end beside one that ends what it can."""
    with host("", bait=False) as victim, host("", bait=False) as killer:
        killer.told |= {"prey": victim.mark, "alone": "yes" if alone else "no"}
        lives, kills = await asyncio.gather(
            run(victim, "neighbours/victim", "attack"), run(killer, "neighbours/killer", "attack")
        )
        assert started(killer, kills), kills
        return f"carried {victim.challenge}".encode() in lives.stdout
