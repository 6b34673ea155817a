"""Puts a pool before the sandbox that was chosen, where it can keep sandboxes waiting; tested like every sandbox."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from core.errors import SandboxError
from core.ports import Sandbox
from sandbox import selftest
from sandbox.bubblewrap import BubblewrapSandbox
from sandbox.docker import DockerSandbox
from sandbox.isolation import Isolation
from sandbox.nest import NestedSandbox
from sandbox.pool import Pool
from sandbox.runtime import Runtime


@dataclass(frozen=True, slots=True, kw_only=True)
class Warmed:
    """A sandbox in use. `remark` says in a few words how it is kept warm, or why it is not."""

    sandbox: Sandbox
    remark: str
    closers: tuple[Callable[[], Awaitable[None]], ...] = field(default=(), repr=False)

    async def aclose(self) -> None:
        """End whatever waits for jobs."""
        for close in self.closers:
            await close()


async def warmed(sandbox: Sandbox, runtime: Runtime, *, size: int) -> Warmed:
    """Keep sandboxes waiting, each for one job, for `size` verdicts at once.

    bubblewrap's are nested in one outer sandbox if those hold as the outer one does, and are started one by one if not.
    """
    if isinstance(sandbox, BubblewrapSandbox):
        nested = NestedSandbox(sandbox, runtime)
        if why := await _fault(nested, runtime):
            await nested.aclose()
            return _pooled(sandbox, size, f"not nested: {why}")
        pooled = _pooled(nested, size, "nested, kept warm")
        return Warmed(sandbox=pooled.sandbox, remark=pooled.remark, closers=(*pooled.closers, nested.aclose))
    if isinstance(sandbox, DockerSandbox):
        return _pooled(sandbox, size, "containers started ahead")
    return Warmed(sandbox=sandbox, remark="")


def _pooled(isolation: Isolation, size: int, remark: str) -> Warmed:
    pool = Pool(isolation, size=2 * size + 1)  # a verdict may take two kinds of runs, tests and calls; a search its own
    return Warmed(sandbox=pool, remark=remark, closers=(pool.aclose,))


async def _fault(nested: NestedSandbox, runtime: Runtime) -> str:
    """Why nested sandboxes may not be used; empty when they hold."""
    try:
        async with asyncio.timeout(20):
            found = await selftest.probe(nested, runtime)
    except (SandboxError, TimeoutError) as error:
        return str(error) or "they did not come up in time"
    return "; ".join(f"{finding.name}: {finding.detail}" for finding in found.findings if not finding.passed)
