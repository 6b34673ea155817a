"""One server for the tests of a process, and a hub of its own for each test."""

from collections.abc import Iterator

import pytest

from nightshift.remote.hub.connection import HubConnections
from tests.support.postgres import EMBEDDED, PostgresServer, hub


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    with PostgresServer(EMBEDDED, tmp_path_factory.mktemp("postgres")) as started:
        yield started


@pytest.fixture
def connections(server: PostgresServer) -> Iterator[HubConnections]:
    url = server.ready()
    with hub(url) as opened:
        yield opened
    server.drop(url)
