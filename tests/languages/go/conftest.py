from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import golang
from tests.support.sandboxes import Judge


@pytest.fixture
def judge(folder: Path) -> Judge:
    return Judge(folder / "staging", golang.runtime())
