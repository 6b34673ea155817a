"""Fixtures for hostile programs: a sandbox of each isolation, and a daemon with keys in its environment."""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from nightshift.core.ports import Sandbox
from tests.support.hostile import daemon_environment
from tests.support.hostile_host import MEMORY
from tests.support.sandboxes import ISOLATIONS, open_it


@pytest.fixture(scope="session")
def env_secret() -> Iterator[str]:
    secret = f"canary-{secrets.token_hex(16)}"
    with daemon_environment(secret):
        yield secret


@pytest.fixture(scope="session")
def scratch() -> Iterator[Path]:
    """A folder that jobs can enter. It is in memory if possible, because the programs write a lot to it."""
    below = MEMORY if MEMORY.is_dir() else Path("/var/tmp")
    with tempfile.TemporaryDirectory(prefix="nightshift-test-", dir=below) as path:
        Path(path).chmod(0o755)
        yield Path(path)


@pytest_asyncio.fixture(params=ISOLATIONS, scope="session", loop_scope="session")
async def sandbox(request: pytest.FixtureRequest, scratch: Path) -> AsyncIterator[Sandbox]:
    """One sandbox for all programs, so that damage by one program affects the next."""
    async with open_it(request.param, scratch) as opened_sandbox:
        yield opened_sandbox
