"""A hub that hangs is one that is away: whoever asks has an answer, or an error that says so."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from nightshift.core.errors import HubAway
from nightshift.remote.hub.connection import HubConnections
from tests.support.cut_proxy import CutProxy
from tests.support.postgres import PostgresServer, hub, until_back

ANSWER_S = 0.5


@contextmanager
def swallowing(way: CutProxy) -> Iterator[None]:
    way.swallow()
    try:
        yield
    finally:
        way.mend()


@pytest.fixture
def way(server: PostgresServer) -> Iterator[CutProxy]:
    made = CutProxy(server.port)
    yield made
    made.close()


def through(way: CutProxy, server: PostgresServer, url: str) -> HubConnections:
    return HubConnections(url.replace(f":{server.port}/", f":{way.port}/"), answer_s=ANSWER_S)


@pytest.mark.parametrize("how", ["server stopped", "network swallows"])
def test_a_hub_that_hangs_is_away_and_answers_when_it_is_back(server: PostgresServer, way: CutProxy, how: str) -> None:
    url = server.database()
    with hub(url):
        asking = through(way, server, url)
        lock = asking.lock("x")
        assert asking.row("SELECT 1 AS one") == {"one": 1}
        with server.stands_still() if how == "server stopped" else swallowing(way):
            with pytest.raises(HubAway, match=r"no answer for 0\.5 s"):
                asking.rows("SELECT 1")
            with pytest.raises(HubAway, match=r"no answer for 0\.5 s"):
                lock.taken()
            with pytest.raises(HubAway, match="timeout expired"):  # one that is new
                asking.rows("SELECT 1")
        until_back(asking)
        asking.close()


def test_one_that_listens_may_hear_nothing_for_longer_than_an_answer_takes(
    server: PostgresServer, way: CutProxy
) -> None:
    url = server.database()
    with hub(url) as connections:
        asking = through(way, server, url)
        with asking.listening() as conn:
            assert list(conn.notifies(timeout=3 * ANSWER_S)) == []
            connections.rows("SELECT pg_notify('nightshift', 'queued')")
            assert [each.payload for each in conn.notifies(timeout=30, stop_after=1)] == ["queued"]
            with swallowing(way), pytest.raises(HubAway), asking.listening() as deaf:
                deaf.execute("SELECT 1")
        asking.close()


def test_a_slow_statement_is_not_cut_off_before_the_server_gives_it_up(server: PostgresServer) -> None:
    asking = HubConnections(server.url(), answer_s=30)
    with asking.connection() as conn:
        conn.execute("SET statement_timeout = '300ms'")
        with pytest.raises(Exception, match="statement timeout"):
            conn.execute("SELECT pg_sleep(20)")
    asking.close()


def test_a_connection_that_the_server_has_ended_is_replaced_before_it_is_used(server: PostgresServer) -> None:
    with hub(server.database()) as connections:
        (mine,) = connections.rows("SELECT pg_backend_pid() AS id")
        other = HubConnections(server.url())
        other.rows("SELECT pg_terminate_backend(%s)", (mine["id"],))
        while other.rows("SELECT 1 FROM pg_stat_activity WHERE pid = %s", (mine["id"],)):
            time.sleep(0.01)
        assert connections.rows("SELECT pg_backend_pid() AS id") != [mine]
        other.close()
