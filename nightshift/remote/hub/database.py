"""Connections to the PostgreSQL database that nodes share: a small pool, and errors that say whether waiting helps.

An unavailable database stops no work. Therefore every temporary problem (no route, a restart, a failover, a full disk,
a lock) raises `HubAway`, and only a permanent one (a wrong password, a schema of another version, a refusal) raises
`HubRefused`.

A hanging server, or a network that drops packets, does not end a connection. Therefore this module sets a timeout for
each answer (`remote.hub.bounded`), slightly longer than the server's timeout for a statement. The kernel's timeouts are
set as well, but detect only a peer that acknowledges nothing.
"""

from __future__ import annotations

import logging
import select
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from nightshift.core.errors import ExtraMissing, HubAway, HubRefused
from nightshift.core.program import format_command
from nightshift.core.status import install_by_hand
from nightshift.core.text.masking import Masker

if TYPE_CHECKING:
    from psycopg import Connection, Error
    from psycopg.rows import DictRow

    from nightshift.remote.hub.bounded import Bounded

SCHEMA = "nightshift_shared"
_CONNECT_S, _STATEMENT_S = 5, 20
ANSWER_S = _STATEMENT_S + 5.0
"""Timeout for an answer, in seconds. It is longer than the server's statement timeout, so it expires only if the server
hangs.
"""
_TRUSTED_S = 10.0
"""Seconds without use after which a connection is tested with a query. Before that, checking its socket is enough."""
_PASSING = ("08", "53", "55P03", "57", "58", "40", "25006")
"""SQLSTATEs (or their prefixes) of temporary problems: no connection, no room, a lock, a shutdown, a disk error, a
deadlock, or a server that is still a standby.
"""
_REFUSALS = (
    "authentication failed",
    "no password",
    "does not exist",
    "pg_hba.conf",
    "not permitted to log in",
    "invalid ",
)
_CERTIFICATES = ("certificate", "unknown ca", "SSL was required", "server does not support SSL")
"""Parts of libpq's messages for connections that are refused before there is an SQLSTATE."""


class SharedDatabase:
    """A pool of connections for use in any thread. A connection is opened only when it is needed.

    Args:
        url: `postgresql://…`, as libpq reads it.
        most: maximum number of connections.
        answer_s: timeout for an answer, in seconds.
    """

    def __init__(self, url: str, most: int = 4, answer_s: float = ANSWER_S) -> None:
        try:
            import psycopg_pool  # noqa: PLC0415  an extra
            from psycopg.rows import dict_row  # noqa: PLC0415  as above

            from nightshift.remote.hub.bounded import bound_wait  # noqa: PLC0415  as above
        except ModuleNotFoundError as error:
            raise ExtraMissing(f"a hub needs more packages: install them with {install_by_hand('hub')}") from error
        parts = _parts(url)
        secrets = [parts[name] for name in ("password", "sslpassword") if name in parts] if parts else []
        self._url, self._is_sound, self._mask = url, parts is not None, Masker([url, *secrets])
        logging.getLogger("psycopg.pool").setLevel(logging.ERROR)  # each of its warnings is also raised
        settings = {
            "autocommit": True,
            "connect_timeout": _CONNECT_S,
            "row_factory": dict_row,
            "application_name": "nightshift",
            "options": f"-c search_path={SCHEMA} -c statement_timeout={_STATEMENT_S}s",
            "keepalives_idle": 10,
            "keepalives_interval": 5,
            "keepalives_count": 3,
            "tcp_user_timeout": 1000 * _STATEMENT_S,
        }
        self._settings, self._class = settings, bound_wait(answer_s)
        self._pool = psycopg_pool.ConnectionPool(
            url, connection_class=self._class, kwargs=settings, min_size=0, max_size=most, open=False,
            timeout=_CONNECT_S, name="hub-database", check=self._check, reconnect_timeout=_CONNECT_S,
        )  # fmt: skip

    def close(self) -> None:
        """Close all connections."""
        self._pool.close(timeout=1)

    def _check(self, conn: Bounded) -> None:
        """Check that a connection works before it is used. No query is sent if the connection was used recently."""
        fresh = time.monotonic() - conn.answered_at < _TRUSTED_S
        if not fresh or select.select([conn.fileno()], [], [], 0)[0]:  # no data is expected, so readable means closed
            conn.execute("")

    @contextmanager
    def connection(self) -> Iterator[Connection[DictRow]]:
        """Provide a connection in autocommit mode.

        Raises:
            HubAway: the database cannot be reached or used now.
            HubRefused: the database refuses permanently.
        """
        import psycopg  # noqa: PLC0415  an extra
        import psycopg_pool  # noqa: PLC0415  as above

        self._refuse_what_is_no_address()
        try:
            self._pool.open()
            with self._pool.connection() as conn:
                yield conn
        except psycopg_pool.PoolTimeout:
            raise HubAway(self._why_no_connection()) from None
        except psycopg.Error as error:
            raise _translate(error, self._mask) from error

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[DictRow]:
        """Return the rows of a statement. Raises the errors of `connection`."""
        with self.connection() as conn:
            return conn.execute(query.encode(), values).fetchall()

    def row(self, query: str, values: Sequence[Any] = ()) -> DictRow | None:
        """Return the first row of a statement, or None."""
        return next(iter(self.rows(query, values)), None)

    def _connect(self) -> Connection[DictRow]:
        """Open a connection outside the pool."""
        import psycopg  # noqa: PLC0415  an extra

        self._refuse_what_is_no_address()
        try:
            return self._class.connect(self._url, **self._settings)  # type: ignore[arg-type]  # values of many types
        except psycopg.Error as error:
            raise _translate(error, self._mask) from error

    def _refuse_what_is_no_address(self) -> None:
        """Refuse an invalid address with our own message, since libpq's could contain parts of the password."""
        if not self._is_sound:
            raise HubRefused(
                "HUB_DATABASE_URL is not a valid address: write postgresql://user:password@host:port/database, and in "
                "a password %40 for @, %2F for /, %3A for : and %25 for %"
            )

    def _why_no_connection(self) -> str:
        try:
            self._connect().close()
        except HubAway as away:
            return str(away)
        return "all connections to the shared database are in use"


def _parts(url: str) -> dict[str, str] | None:
    """Parse an address with libpq; None if it is invalid.

    An address is also invalid if libpq reads part of an unescaped password as the host, the port or the database.
    """
    from psycopg import ProgrammingError  # noqa: PLC0415  an extra
    from psycopg.conninfo import conninfo_to_dict  # noqa: PLC0415  as above

    try:
        parts = {name: str(value) for name, value in conninfo_to_dict(url).items() if value is not None}
    except ProgrammingError:
        return None
    has_ports = all(port.isdigit() for port in parts.get("port", "5432").split(","))
    return parts if has_ports and "@" not in parts.get("host", "") + parts.get("dbname", "") else None


def _translate(error: Error, mask: Masker) -> Exception:
    lines = (" ".join(line.split()) for line in str(error).splitlines())
    state, text = error.sqlstate or "", mask("; ".join(filter(None, lines)))
    message = error.diag.message_primary or text
    if state == "42501":
        return HubRefused(
            f"the shared database refused the request: {message}: the user in HUB_DATABASE_URL lacks this permission"
        )
    if state in {"3F000", "42P01", "42883"}:
        return HubRefused(
            "the shared database is not set up yet, or this user may not read it; type "
            f"`{format_command('hub init')}` as its owner, and grant this user the role of nodes: {message}"
        )
    if not state and any(word in text for word in _CERTIFICATES):
        where = "check sslmode and sslrootcert in HUB_DATABASE_URL"
        return HubRefused(f"the TLS connection to the shared database failed; {where}: {text}")
    if not state and any(word in text for word in _REFUSALS):
        return HubRefused(f"the shared database refused the connection: {text}")
    if not state or state.startswith(_PASSING):
        return HubAway(f"the shared database cannot be reached: {text}")
    return HubRefused(f"the shared database refused the request: {state} {message}")
