"""Each isolation, and a daemon with keys in its environment."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.ports import Sandbox
from tests.support.hostile import daemon_environment
from tests.support.sandboxes import ISOLATIONS, isolation, open_folder


@pytest.fixture(scope="session")
def env_secret() -> Iterator[str]:
    secret = f"canary-{secrets.token_hex(16)}"
    with daemon_environment(secret):
        yield secret


@pytest.fixture(scope="session")
def scratch() -> Iterator[Path]:
    with open_folder() as folder:
        yield folder


@pytest.fixture(params=ISOLATIONS)
def sandbox(request: pytest.FixtureRequest, scratch: Path) -> Sandbox:
    return isolation(request.param, scratch)
