from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nightshift.server.context import AppContext
from tests.support.app_context import Client, make_desk, serving
from tests.support.sse import Listener


@pytest.fixture
def context(tmp_path: Path) -> Iterator[AppContext]:
    desk = make_desk(tmp_path)
    yield desk
    desk.database.close()


@pytest.fixture
def client(context: AppContext) -> Iterator[Client]:
    with serving(context) as client:
        yield client


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """Start a server that all tests of a module share, for requests that change nothing."""
    context = make_desk(tmp_path_factory.mktemp("shared"))
    with serving(context) as client:
        yield client
    context.database.close()


@pytest.fixture
def listen() -> Iterator[type[Listener]]:
    """Return the class of live stream listeners; all listeners are closed at the end of the test."""
    listeners: list[Listener] = []

    class Closed(Listener):
        def __init__(self, *args: Any, **named: Any) -> None:
            super().__init__(*args, **named)
            listeners.append(self)

    yield Closed
    for listener in listeners:
        listener.close()
