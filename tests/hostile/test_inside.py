"""Hostile programs in every isolation: each one must succeed bare, and then fail inside."""

from __future__ import annotations

import asyncio
import os
import struct
from pathlib import Path

import pytest

from nightshift.core.ports import Sandbox
from tests.hostile.manifest import ENTRIES, OPEN
from tests.support.hostile import PAYLOADS, Seen
from tests.support.sandboxes import bubblewrap, hierarchy

SESSION = pytest.mark.asyncio(loop_scope="session")
_BARE: dict[str, Seen] = {}


async def bare(name: str, env_secret: str) -> Seen:
    """Run a program without a sandbox, once; the result is shared by the tests of all isolations."""
    if name not in _BARE:
        _BARE[name] = await ENTRIES[name].attack.bare(env_secret)
    return _BARE[name]


@SESSION
@pytest.mark.parametrize("name", ENTRIES)
async def test_a_hostile_program_that_works_outside_fails_inside(
    name: str, sandbox: Sandbox, env_secret: str, scratch: Path
) -> None:
    entry = ENTRIES[name]
    control, seen = await asyncio.gather(bare(name, env_secret), entry.attack.inside(sandbox, env_secret, scratch))
    control.check()
    seen.check()
    assert entry.effect(control) or (entry.rooted and os.geteuid() != 0), f"bare: {control}"
    if not (entry.grouped and sandbox.name == "bubblewrap" and hierarchy() is None):
        expected = sandbox.name == "process" and name in OPEN
        assert entry.effect(seen) == expected, f"{sandbox.name}: {seen}"


@SESSION
@pytest.mark.parametrize("name", ["privilege/uses_io_uring", "processes/traces_its_child", "network/kernel_socket"])
async def test_a_sandbox_that_lost_its_filter_is_found_out(name: str, env_secret: str, scratch: Path) -> None:
    box = bubblewrap()
    box.filter = struct.pack("<HBBI", 6, 0, 0, 0x7FFF0000)  # allows every call
    seen = await ENTRIES[name].attack.inside(box, env_secret, scratch)
    seen.check()
    assert ENTRIES[name].effect(seen)


def test_every_program_is_in_the_manifest() -> None:
    programs = {f"{path.parent.name}/{path.stem}" for path in PAYLOADS.glob("*/*.py")}
    assert {name for name in programs if not name.startswith(("neighbours/", "terminal/"))} == ENTRIES.keys()
