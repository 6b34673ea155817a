"""Defines the addresses on which the server listens and is reached, and derives the guard's policy from them."""

from __future__ import annotations

import contextlib
import ipaddress
from dataclasses import dataclass
from urllib.parse import urlsplit

from nightshift.core.errors import ConfigError
from nightshift.server.auth.guard import Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class Listen:
    """Address on which the server listens, and rules for the requests that it lets in.

    Args:
        address: an IP address of this machine, or `localhost`.
        port: the port; 0 chooses a free port.
        names: further host names by which browsers reach the server, each followed by its port, such as `box.lan:5000`.
            The default port of HTTP or HTTPS is left out.
        page: the address at which the owner opens the pages. It includes the sub-path if a proxy serves the pages under
            one.
        token: if set, every request needs it, reads as well as writes.
        exposed: True if code of tasks might reach this server, because the sandbox in use cannot prevent it.
        threads: number of requests that Flask answers at the same time.
        max_body_bytes: maximum size of a request's body.
        max_requests: maximum number of open connections, live streams included.
    """

    address: str = "127.0.0.1"
    port: int = 5000
    names: tuple[str, ...] = ()
    page: str = ""
    token: str | None = None
    exposed: bool = False
    threads: int = 8
    max_body_bytes: int = 20_000_000
    max_requests: int = 600

    def check(self) -> None:
        """Check that the address and the token let no strangers in.

        Raises:
            ConfigError: strangers could send requests without a token.
        """
        if self.token is None and not is_loopback(self.address):
            raise ConfigError([f"FLASK_HOST: other machines can reach {self.address}; set API_TOKEN as well"])
        if self.token is None and self.exposed:
            raise ConfigError(["API_TOKEN: the sandbox in use cannot keep a task's code from the API; set a token"])

    def url(self, port: int) -> str:
        """Return the address of the first page, given the port that was bound."""
        if is_wildcard(self.address):
            return f"http://{'[::1]' if ':' in self.address else '127.0.0.1'}:{port}"
        return f"http://{_host(self.address)}:{port}"

    def policy(self) -> Policy:
        """Return the policy that the guard enforces for these addresses."""
        page = urlsplit(self.page)
        names = {name.lower() for name in (*self.names, page.netloc) if name}
        return Policy(
            names=frozenset(urlsplit(f"//{name}").hostname or "" for name in names),
            origins=frozenset(f"{scheme}://{name}" for name in names for scheme in ("http", "https")),
            below=page.path.rstrip("/"),
            max_body_bytes=self.max_body_bytes,
        )


def _host(address: str) -> str:
    return f"[{address}]" if ":" in address else address


def is_loopback(address: str) -> bool:
    """Check whether only this machine can reach the address."""
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(address).is_loopback
    return address == "localhost"


def is_wildcard(address: str) -> bool:
    """Check whether the address stands for all addresses of the machine."""
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(address).is_unspecified
    return False
