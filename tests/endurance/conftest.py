from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.answers import Answers
from tests.support.wire_server import WireServer


@pytest.fixture
def answers() -> Answers:
    return Answers(wrong_first=1)


@pytest.fixture
def server(answers: Answers) -> Iterator[WireServer]:
    with WireServer(answers) as running:
        yield running
