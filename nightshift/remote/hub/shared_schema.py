"""Creates the PostgreSQL schema that nodes share (`shared.sql`), and checks whether it fits this program."""

from __future__ import annotations

from contextlib import suppress
from importlib.resources import files
from typing import TYPE_CHECKING

from nightshift.core.errors import HubRefused
from nightshift.core.program import format_command
from nightshift.remote.hub.database import SCHEMA, SharedDatabase

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg.rows import DictRow

ROLE = "nightshift_node"
VERSION = 1
_LOCK = 0x6E69676874  # "night"
_OLD_TASKS = "SELECT count(*) AS number FROM nightshift.task_list WHERE status NOT IN ('done', 'failed', 'cancelled')"


def make(database: SharedDatabase) -> bool:
    """Create the schema, whose owner is the database's user; return False if the schema already exists.

    Raises:
        HubAway: the database cannot be reached.
        HubRefused: the database's user lacks the rights, or the hub of an older version has open tasks there.
    """
    with database.connection() as conn, conn.transaction():
        conn.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        _refuse_old_tasks(conn)
        conn.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}".encode())
        is_new = not _has(conn, "made")
        if is_new:
            conn.execute(files(__package__).joinpath("shared.sql").read_bytes())
            conn.execute("INSERT INTO made (version) VALUES (%s)", (VERSION,))
        _add_vectors(conn)
        _grant(conn)
    return is_new


def set_option(database: SharedDatabase, name: str, value: str | None) -> None:
    """Set an option for all nodes, or remove it if `value` is None. Requires the rights of the schema's owner."""
    query = "INSERT INTO options (name, value) VALUES (%s, %s) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
    with database.connection() as conn:
        if value is None:
            conn.execute("DELETE FROM options WHERE name = %s", (name,))
        else:
            conn.execute(query, (name, value))


def option(database: SharedDatabase, name: str) -> str | None:
    """Read an option; None if it is not set."""
    row = database.row("SELECT value FROM option_list WHERE name = %s", (name,))
    return None if row is None else str(row["value"])


def check(database: SharedDatabase) -> None:
    """Check that the schema has the version that this program needs.

    Raises:
        HubAway: the database cannot be reached.
        HubRefused: there is no schema, its version is wrong, or the hub of an older version has open tasks there.
    """
    with database.connection() as conn:
        _refuse_old_tasks(conn)
    if (row := database.row("SELECT version FROM made_list")) is None or row["version"] != VERSION:
        raise HubRefused(f"the shared database does not have version {VERSION}, which this node needs")


def read_made_at(database: SharedDatabase) -> str:
    """Return the time at which the schema was created, as text. It identifies the database."""
    row = database.row("SELECT at::text FROM made_list")
    return str(row["at"]) if row else ""


def has_role(database: SharedDatabase) -> bool:
    """Check whether the role for nodes exists."""
    return database.row("SELECT 1 FROM pg_roles WHERE rolname = %s", (ROLE,)) is not None


def has_vectors(database: SharedDatabase) -> bool:
    """Check whether the database can search lessons by meaning."""
    query = "SELECT to_regclass('lesson_vectors') IS NOT NULL AS has"
    return bool((row := database.row(query)) and row["has"])


def _has(conn: Connection[DictRow], name: str) -> bool:
    row = conn.execute("SELECT to_regclass(%s) IS NOT NULL AS has", (name,)).fetchone()
    return bool(row and row["has"])


def _refuse_old_tasks(conn: Connection[DictRow]) -> None:
    """Raise `HubRefused` if the hub of an older version still has tasks in the database."""
    from psycopg.errors import Error  # noqa: PLC0415  an extra

    if not _has(conn, "nightshift.task_list"):
        return
    with suppress(Error), conn.transaction():  # a user without access has no tasks either
        row = conn.execute(_OLD_TASKS).fetchone()
        if row and row["number"]:
            raise HubRefused(
                f"this database has {row['number']} open tasks of an older version of the hub: finish or cancel them "
                f"with that version (`{format_command('hub cancel')}`), then start this version"
            )


def _add_vectors(conn: Connection[DictRow]) -> None:
    """Create the table of vectors if the pgvector extension is installed, or if the user may install it."""
    from psycopg.errors import Error  # noqa: PLC0415  an extra

    with suppress(Error), conn.transaction():
        conn.execute("CREATE EXTENSION IF NOT EXISTS vector")
    where = "SELECT extnamespace::regnamespace::text AS name FROM pg_extension WHERE extname = 'vector'"
    if extension := conn.execute(where).fetchone():
        statements = files(__package__).joinpath("pgvector.sql").read_text()
        conn.execute(statements.replace("{0}", extension["name"]).encode())


def _grant(conn: Connection[DictRow]) -> None:
    """Give the role for nodes the right to call the functions and to read the views, and no other right."""
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
    for each in functions.fetchall():  # internal functions run with the caller's rights
        conn.execute(f"GRANT EXECUTE ON FUNCTION {each['name']} TO {ROLE}".encode())
    views = conn.execute("SELECT viewname AS name FROM pg_views WHERE schemaname = %s", (SCHEMA,)).fetchall()
    for each in views:
        conn.execute(f"GRANT SELECT ON {each['name']} TO {ROLE}".encode())
