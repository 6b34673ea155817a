"""Addresses of the server, and their consequences for the guard."""

from __future__ import annotations

import contextlib
import ipaddress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from nightshift.core.errors import ConfigError
from nightshift.server.auth.guard import Policy
from nightshift.server.auth.limits import Pace


@dataclass(frozen=True, slots=True, kw_only=True)
class Listen:
    """Addresses on which the server listens, and the visitors that it lets in.

    Args:
        address: an IP address of this machine, or `localhost`.
        port: 0 takes a free one.
        socket_path: a unix socket besides, in a folder that is made private to this user.
        names: further names by which browsers reach the server, each with its port where that is not the scheme's own.
        page: the address of the pages by which their owner reaches them, with a sub-path if a proxy has them there.
        token: needed for all that is read and written, when set.
        exposed: code of the tasks might reach this server, because the sandbox in use cannot prevent it.
        threads: how many requests Flask answers at once.
        max_body_bytes: larger requests are refused.
        pace: how fast a body has to come.
        head_wall_s, stall_s, most_owing: see `server.serving.connection.ClientLimits`.
        max_requests: so many may be under way at once, the live streams among them.
        writes_per_s: sustained rate of writes; up to `writes_burst` may come at once.
    """

    address: str = "127.0.0.1"
    port: int = 5000
    socket_path: Path | None = None
    names: tuple[str, ...] = ()
    page: str = ""
    token: str | None = None
    exposed: bool = False
    threads: int = 8
    max_body_bytes: int = 20_000_000
    pace: Pace = field(default_factory=Pace)
    head_wall_s: float = 30.0
    stall_s: float = 60.0
    most_owing: int = 200
    max_requests: int = 600
    writes_per_s: float = 100.0
    writes_burst: int = 2000

    def check(self) -> None:
        """Make sure that only those are let in who should be.

        Raises:
            ConfigError: strangers could write without a token.
        """
        if self.token is None and not is_loopback(self.address):
            raise ConfigError([f"FLASK_HOST: other machines can reach {self.address}; set API_TOKEN as well"])
        if self.token is None and self.exposed:
            raise ConfigError(["API_TOKEN: the sandbox in use cannot keep a task's code from the API; set a token"])

    def url(self, port: int) -> str:
        """The address of the first page."""
        if is_wildcard(self.address):
            return f"http://{'[::1]' if ':' in self.address else '127.0.0.1'}:{port}"
        return f"http://{_host(self.address)}:{port}"

    def policy(self) -> Policy:
        """Return the policy that the guard enforces."""
        page = urlsplit(self.page)
        names = {name.lower() for name in (*self.names, page.netloc) if name}
        return Policy(
            names=frozenset(urlsplit(f"//{name}").hostname or "" for name in names),
            origins=frozenset(f"{scheme}://{name}" for name in names for scheme in ("http", "https")),
            below=page.path.rstrip("/"),
            token_for_socket=self.exposed,
            max_body_bytes=self.max_body_bytes,
            max_bodies_bytes=3 * self.max_body_bytes,
            pace=self.pace,
            max_requests=self.max_requests,
            writes_per_s=self.writes_per_s,
            writes_burst=self.writes_burst,
        )


def _host(address: str) -> str:
    return f"[{address}]" if ":" in address else address


def is_loopback(address: str) -> bool:
    """Tell whether only this machine can reach the address."""
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(address).is_loopback
    return address == "localhost"


def is_wildcard(address: str) -> bool:
    """Tell whether the address stands for all of the machine's."""
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(address).is_unspecified
    return False
