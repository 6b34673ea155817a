"""Brings the hub's schema up to date: numbered files, each applied once, under a lock that one program holds at a time.

Files are only ever added, and each leaves what older nodes call in place; so nodes of two versions may meet. A schema
says which version of nodes it serves at least (`serves`), for the day on which that will not be possible.
"""

from __future__ import annotations

import re
from contextlib import suppress
from importlib.resources import files
from typing import TYPE_CHECKING

from nightshift.core.errors import HubRefused
from nightshift.core.tasks.states import MOVES
from nightshift.remote.hub.connection import CHANNEL, SCHEMA, HubConnections

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg.rows import DictRow

ROLE = "nightshift_node"
_LOCK = 0x6E69676874  # "night"
_NUMBERED = re.compile(r"(\d{4})_\w+\.sql")
SERVES = 1
"""The number of the last migration that a node must know to work with this schema."""


def steps() -> dict[int, str]:
    """The migrations by their numbers, in order."""
    texts = [(_NUMBERED.fullmatch(file.name), file) for file in files(__package__).iterdir()]
    found = sorted((int(match[1]), file.read_text()) for match, file in texts if match)
    assert [number for number, _ in found] == list(range(1, len(found) + 1)), "each number is one file's"
    return dict(found)


def migrate(connections: HubConnections) -> list[int]:
    """Bring the schema up to date as its owner; the numbers of the steps that were applied.

    Raises:
        HubAway: the database cannot be reached.
        HubRefused: the database's user may not do it.
    """
    with connections.connection() as conn, conn.transaction():
        conn.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        conn.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}".encode())
        conn.execute(
            "CREATE TABLE IF NOT EXISTS migrations (number int PRIMARY KEY, serves int NOT NULL, "
            "at timestamptz NOT NULL DEFAULT clock_timestamp())"
        )
        lacking = [number for number in steps() if number not in _applied(conn)]
        for number in lacking:
            conn.execute(steps()[number].encode())
            conn.execute("INSERT INTO migrations (number, serves) VALUES (%s, %s)", (number, SERVES))
        if lacking:
            conn.execute("SELECT pg_notify(%s, 'queued')", (CHANNEL,))  # nodes that were refused try again at it
        conn.execute("DELETE FROM moves")
        moves = [(start, end) for start, ends in MOVES.items() for end in sorted(ends)]
        conn.cursor().executemany("INSERT INTO moves (was, became) VALUES (%s, %s)", moves)
        _add_vectors(conn)
        _grant(conn)
    return lacking


WORKSPACE = "workspace"
"""The option that names the remote which the workspaces of all nodes follow."""


def set_option(connections: HubConnections, name: str, value: str) -> None:
    """Set what holds for all nodes, as the schema's owner."""
    query = "INSERT INTO options (name, value) VALUES (%s, %s) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
    with connections.connection() as conn:
        conn.execute(query, (name, value))


def unset_option(connections: HubConnections, name: str) -> None:
    """Take away what was set, as the schema's owner."""
    with connections.connection() as conn:
        conn.execute("DELETE FROM options WHERE name = %s", (name,))


def option(connections: HubConnections, name: str) -> str | None:
    """Read an option; None where it was not set."""
    row = connections.row("SELECT value FROM option_list WHERE name = %s", (name,))
    return None if row is None else str(row["value"])


def check(connections: HubConnections) -> int:
    """Make sure that this program and the schema fit; the number of the newest migration there.

    Raises:
        HubAway: the database cannot be reached.
        HubRefused: there is no schema, or one that is too old or too new.
    """
    rows = connections.rows("SELECT number, serves FROM migrations")
    applied, known = {row["number"] for row in rows}, set(steps())
    if lacking := sorted(known - applied):
        numbers = ", ".join(map(str, lacking))
        raise HubRefused(
            f"the hub is older than this node (it lacks {numbers}); "
            "type `nightshift hub init` as the owner of its database"
        )
    if any(row["serves"] > max(known) for row in rows):
        raise HubRefused("the hub is newer than this node; update this node")
    return int(max(applied))


def made_at(connections: HubConnections) -> str:
    """When the schema was made, as a text: it tells one hub from another."""
    row = connections.row("SELECT at::text FROM migrations ORDER BY number LIMIT 1")
    return str(row["at"]) if row else ""


def has_role(connections: HubConnections) -> bool:
    """Whether there is the role that nodes are granted."""
    return connections.row("SELECT 1 FROM pg_roles WHERE rolname = %s", (ROLE,)) is not None


def has_vectors(connections: HubConnections) -> bool:
    """Whether nodes may search by meaning in the hub."""
    query = "SELECT to_regclass('lesson_vectors') IS NOT NULL AS has"
    return bool((row := connections.row(query)) and row["has"])


def _add_vectors(conn: Connection[DictRow]) -> None:
    """Make the table of vectors where the server has pgvector and it is there, or this user may add it."""
    from psycopg.errors import Error  # noqa: PLC0415  an extra

    with suppress(Error), conn.transaction():
        conn.execute("CREATE EXTENSION IF NOT EXISTS vector")
    where = "SELECT extnamespace::regnamespace::text AS name FROM pg_extension WHERE extname = 'vector'"
    if found := conn.execute(where).fetchone():
        statements = files(__package__).joinpath("pgvector.sql").read_text()
        conn.execute(statements.replace("{0}", found["name"]).encode())


def _applied(conn: Connection[DictRow]) -> set[int]:
    return {row["number"] for row in conn.execute("SELECT number FROM migrations")}


def _grant(conn: Connection[DictRow]) -> None:
    """Let nodes call the functions and read the lists, and nothing else."""
    granted = conn.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (ROLE,)).fetchone()
    may_create = conn.execute("SELECT rolcreaterole OR rolsuper AS may FROM pg_roles WHERE rolname = current_user")
    row = may_create.fetchone()
    if not granted:
        if not (row and row["may"]):
            return
        conn.execute(f"CREATE ROLE {ROLE} NOLOGIN".encode())
    conn.execute(f"REVOKE ALL ON ALL FUNCTIONS IN SCHEMA {SCHEMA} FROM PUBLIC".encode())
    conn.execute(f"GRANT USAGE ON SCHEMA {SCHEMA} TO {ROLE}".encode())
    functions = conn.execute(
        "SELECT oid::regprocedure::text AS name FROM pg_proc WHERE pronamespace = %s::regnamespace AND prosecdef",
        (SCHEMA,),
    )
    for each in functions.fetchall():  # those that are for the functions alone run as whoever calls them
        conn.execute(f"GRANT EXECUTE ON FUNCTION {each['name']} TO {ROLE}".encode())
    views = conn.execute("SELECT viewname AS name FROM pg_views WHERE schemaname = %s", (SCHEMA,)).fetchall()
    for name in ("migrations", *(each["name"] for each in views)):
        conn.execute(f"GRANT SELECT ON {name} TO {ROLE}".encode())
