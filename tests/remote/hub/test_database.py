"""The database that nodes share.

A hanging server counts as unreachable, nodes have few rights, and secrets are never shown.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterator

import pytest

from nightshift.core.errors import HubAway, HubError, HubRefused
from nightshift.remote.hub import shared_schema
from nightshift.remote.hub.budget import beat
from nightshift.remote.hub.database import SharedDatabase
from tests.support.cut_proxy import CutProxy
from tests.support.postgres import PostgresServer, free_port

PASSWORD = "s3cret-of-the-node"
ANSWER_S = 0.5


def test_a_database_that_hangs_is_away_and_answers_when_it_is_back(server: PostgresServer) -> None:
    way = CutProxy(server.port)
    asking = SharedDatabase(server.database().replace(f":{server.port}/", f":{way.port}/"), answer_s=ANSWER_S)
    assert asking.row("SELECT 1 AS one") == {"one": 1}
    way.swallow()
    with pytest.raises(HubAway, match=r"no answer for 0\.5 s"):
        asking.rows("SELECT 1")
    way.mend()
    assert asking.row("SELECT 1 AS one") == {"one": 1}
    asking.close()
    way.close()


@pytest.fixture
def guest(database: SharedDatabase, server: PostgresServer) -> Iterator[SharedDatabase]:
    """Provide a connection as a database user that has only the role of nodes."""
    (row,) = database.rows("SELECT current_database() AS name")
    with database.connection() as conn:
        conn.execute("DROP ROLE IF EXISTS guest")
        conn.execute("CREATE ROLE guest LOGIN IN ROLE nightshift_node")
    opened = SharedDatabase(server.url(row["name"], "guest"))
    yield opened
    opened.close()


def test_the_role_is_enough_for_a_node_and_for_nothing_else(guest: SharedDatabase) -> None:
    shared_schema.check(guest)
    beat(guest, "a", 60)
    assert guest.rows("SELECT share_lessons('a', ARRAY['k'], ARRAY['{}'])")
    assert guest.rows("SELECT * FROM lessons_since('b', 0, 10)") == [{"number": 1, "line": "{}", "is_own": False}]
    for statement in ("SELECT * FROM lessons", "UPDATE options SET value = '1'", "SELECT spend('-infinity', 1, 1)"):
        with pytest.raises(HubRefused, match="lacks this permission"):
            guest.rows(statement)


def trouble(url: str) -> str:
    """Query this address, which must fail; return each text that a log could contain about the error.

    The causes of the error are included.
    """
    database = SharedDatabase(url)
    with pytest.raises(HubError) as raised:
        database.rows("SELECT 1")
    shown = f"{database!r} {database._pool!r}"
    database.close()
    return "".join(traceback.format_exception(raised.value)) + repr(raised.value) + shown


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://u:@127.0.0.1:{1}/hub?password={0}",
        "postgresql://u:{}%zz@127.0.0.1:{}/hub",
        "postgresql://u:p/{}@127.0.0.1:{}/hub",
    ],
)
def test_a_password_is_in_no_error_log_or_repr(address: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    assert PASSWORD not in trouble(address.format(PASSWORD, free_port()))
    assert PASSWORD not in caplog.text


def test_a_server_must_use_tls_where_that_is_asked_for(server: PostgresServer) -> None:
    assert "the TLS connection to the shared database failed" in trouble(f"{server.url()}?sslmode=require")
