"""Reports how this program connects to the shared database: the network path and the rights."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address

from nightshift.remote.hub.database import SCHEMA, SharedDatabase

_VERIFYING = frozenset({"verify-ca", "verify-full"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Properties of a connection to the shared database.

    Attributes:
        address: the server's IP address; empty for a local socket.
        is_encrypted: True if the connection uses TLS.
        sslmode: the value of libpq's option `sslmode` that was requested.
        may_alter: True if the user may alter the schema, which no node needs.
    """

    address: str
    is_encrypted: bool
    sslmode: str
    may_alter: bool

    @property
    def is_remote(self) -> bool:
        """True if data leaves this machine; False also for a local socket."""
        try:
            return not ip_address(self.address).is_loopback
        except ValueError:
            return False

    @property
    def is_verified(self) -> bool:
        """True if the server's certificate was verified."""
        return self.is_encrypted and self.sslmode in _VERIFYING


def access(connections: SharedDatabase) -> Access:
    """Open a connection, and describe it.

    Raises:
        HubAway: the database cannot be reached.
        HubRefused: the database refuses the connection.
    """
    with connections.connection() as conn:
        row = conn.execute("SELECT has_schema_privilege(%s, 'CREATE') AS may", (SCHEMA,)).fetchone()
        asked = {each.keyword: each.val for each in conn.pgconn.info}
        return Access(
            address=conn.info.hostaddr,
            is_encrypted=bool(conn.pgconn.ssl_in_use),
            sslmode=(asked.get(b"sslmode") or b"prefer").decode(),
            may_alter=bool(row and row["may"]),
        )
