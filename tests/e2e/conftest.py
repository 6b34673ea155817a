from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.answers import Answers
from tests.support.daemon import Daemon, settings_for
from tests.support.wire_server import WireServer


@pytest.fixture
def answers() -> Answers:
    return Answers(wrong_first=1)


@pytest.fixture
def server(answers: Answers) -> Iterator[WireServer]:
    with WireServer(answers) as running:
        yield running


@pytest.fixture
def daemon(tmp_path: Path, server: WireServer) -> Iterator[Daemon]:
    with Daemon(tmp_path / "home", settings_for(server)) as running:
        yield running
