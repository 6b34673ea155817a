from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from nightshift.sandbox.nested import NestedSandbox
from tests.support import golang
from tests.support.sandboxes import Judge, nest


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def fork_servers() -> AsyncIterator[NestedSandbox]:
    async with nest(golang.runtime()) as box:
        yield box


@pytest.fixture
def judge(folder: Path, fork_servers: NestedSandbox) -> Judge:
    return Judge(folder / "staging", fork_servers, golang.runtime())
