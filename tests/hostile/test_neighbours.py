"""Traces that one job leaves to the next, and effects of two concurrent jobs on each other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from pathlib import Path

import pytest

from nightshift.core.isolation import RunLimits, SandboxJob, SandboxResult
from nightshift.core.ports import Sandbox
from nightshift.core.tasks.verdicts import SuiteJob, Verdict
from nightshift.verdict.runner import SuiteRunner
from tests.hostile.manifest import LEFTOVERS, STAYS
from tests.support.hostile import LIMITS, run_bare, run_inside, start
from tests.support.hostile_host import Host, host, list_marked_processes
from tests.support.sandboxes import runtime
from tests.support.trees import TextTree

pytestmark = pytest.mark.asyncio(loop_scope="session")
Run = Callable[[Host, str, str], Coroutine[None, None, SandboxResult]]
_BARE: dict[str, tuple[bool, bool]] = {}


async def find(name: str, run: Run) -> tuple[bool, bool]:
    """Check whether a secret of one job leaks: first to a concurrent job, then to a later job."""
    with host("", bait=False) as bait_host:
        _, beside = both = await asyncio.gather(run(bait_host, name, "hold"), run(bait_host, name, "seek"))
        after = await run(bait_host, name, "find")
        for result in (*both, after):
            assert start(bait_host, result), result
        secret = bait_host.secret.encode()
        return secret in beside.stdout, secret in after.stdout


def inside(sandbox: Sandbox) -> Run:
    return lambda bait_host, name, step: run_inside(sandbox, bait_host, name, LIMITS, step)


async def bare(bait_host: Host, name: str, step: str) -> SandboxResult:
    return await run_bare(bait_host, name, LIMITS, step)


@pytest.mark.parametrize("name", LEFTOVERS)
async def test_a_job_finds_nothing_of_another(name: str, sandbox: Sandbox) -> None:
    path = f"neighbours/{name}"
    if name not in _BARE:
        _BARE[name] = await find(path, bare)
    assert _BARE[name] == (True, True)
    weak = sandbox.name == "process"
    assert await find(path, inside(sandbox)) == (weak, weak and name in STAYS)


async def test_a_job_cannot_end_another_nor_what_keeps_the_jobs(sandbox: Sandbox) -> None:
    weak = sandbox.name == "process"
    assert await has_survived(bare, alone=False) is False
    assert await has_survived(inside(sandbox), alone=not weak) is not weak
    after = await sandbox.run(SandboxJob(argv=("/bin/sh", "-c", "echo still there")))
    assert after.stdout == b"still there\n"


async def has_survived(run: Run, *, alone: bool) -> bool:
    """Check whether a job finishes its work beside a job that kills every process it can."""
    with host("", bait=False) as victim, host("", bait=False) as killer:
        killer.facts |= {"prey": victim.mark, "alone": "yes" if alone else "no"}
        lives, kills = await asyncio.gather(
            run(victim, "neighbours/victim", "attack"), run(killer, "neighbours/killer", "attack")
        )
        assert start(killer, kills), kills
        return f"carried {victim.challenge}".encode() in lives.stdout


GIVEN = {"tests/test_given.py": "from solution import one\n\n\ndef test_one():\n    assert one() == 1\n"}
RIGHT = "def one():\n    return 1\n"
REWRITES = (
    "import os\nfor name in os.listdir('tests'):\n    path = f'tests/{name}'\n    if name.endswith('.py'):\n"
    "        text = open(path).read()\n        os.chmod(path, 0o666)\n        open(path, 'w').write(text)\n"
)


async def test_a_job_that_hoards_the_kernels_watches_changes_no_verdict(sandbox: Sandbox, tmp_path: Path) -> None:
    runner = SuiteRunner(sandbox, runtime(), emit=lambda _: None, staging_dir=tmp_path / "staging")

    def judged(text: str) -> Coroutine[None, None, Verdict]:
        return runner.judge(
            SuiteJob(base=TextTree(), change={"solution.py": text}, given=GIVEN, limits=RunLimits(cpu_s=20))
        )

    with host("", bait=False) as hoarder:
        hoarder.facts["hold_s"] = "60"
        hoards = asyncio.create_task(run_inside(sandbox, hoarder, "neighbours/hoarder", replace(LIMITS, wall_s=60)))
        while len(await asyncio.to_thread(list_marked_processes, hoarder.mark)) < 4 and not hoards.done():  # noqa: ASYNC110 (no event)
            await asyncio.sleep(0.02)
        await asyncio.sleep(0.1)
        right, rewriting = await asyncio.gather(judged(RIGHT), judged(REWRITES + RIGHT))
        assert hoards.cancel(), "it ended before the verdicts were there"
        with pytest.raises(asyncio.CancelledError):
            await hoards
    assert right.passed, right.reason
    assert "was changed while the tests ran" in rewriting.reason
