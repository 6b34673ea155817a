"""Provides a sandbox for each test module, checked and warmed up once, as at a daemon's start."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
import pytest_asyncio

from nightshift.app import services
from nightshift.app.suites import find_sandbox
from nightshift.sandbox import Choice
from nightshift.sandbox.pool import Warmed, warm


@pytest_asyncio.fixture(scope="module", loop_scope="module", autouse=True)
async def warm_sandbox() -> AsyncIterator[None]:
    choices, pools = list[Choice](), list[Warmed]()

    async def find_once(*args: Any) -> Choice:
        if not choices or choices[-1].sandbox is None:  # the check may fail on a busy machine
            choices.append(await find_sandbox(*args))
        return choices[-1]

    async def warm_once(*args: Any, size: int) -> Warmed:
        if not pools:
            pools.append(await warm(*args, size=size))
        return replace(pools[0], closers=())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(services, "find_sandbox", find_once)
        patch.setattr(services, "warm", warm_once)
        yield
    for pool in pools:
        await pool.aclose()
