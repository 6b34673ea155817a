from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support import golang
from tests.support.sandboxes import Judge


@pytest.fixture
async def judge(folder: Path) -> AsyncIterator[Judge]:
    made = Judge(folder / "staging", golang.runtime())
    yield made
    await made.aclose()
