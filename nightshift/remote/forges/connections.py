"""Reads the repository and the forge from a setting, and finds the class for the forge's API.

An owner gives the address that the browser shows. A well-known host determines the kind of forge; for a self-hosted
forge the settings name the kind (`forge_kinds`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

from nightshift.core.clock import Clock
from nightshift.core.errors import ConfigError
from nightshift.remote.forges.client import Client
from nightshift.remote.forges.forge import Forge

KINDS: Mapping[str, str] = {
    "github": "nightshift.remote.forges.github:GitHub",
    "gitlab": "nightshift.remote.forges.gitlab:GitLab",
    "gitea": "nightshift.remote.forges.gitea:Gitea",
    "forgejo": "nightshift.remote.forges.gitea:Gitea",
}
"""Maps each kind of forge to the class for its API, which is imported on first use."""
KNOWN: Mapping[str, str] = {
    "github.com": "github", "gitlab.com": "gitlab", "codeberg.org": "forgejo", "gitea.com": "gitea",
}  # fmt: skip
SHORT: Mapping[str, str] = {"github": "gh", "gitlab": "gl", "gitea": "gt", "forgejo": "fj"}
_NAME = re.compile(r"[\w.-]+(/[\w.-]+)+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """A repository at a forge, and its checkout on this machine.

    Attributes:
        kind: the kind of forge, a key of `KINDS`.
        site: the base address of the forge, with the scheme.
        project: the repository's name at the forge, such as `octo/hello`.
        repo: the folder of the checkout.
        token: the token for the forge; empty if there is none.
    """

    kind: str
    site: str
    project: str
    repo: str
    token: str = field(default="", repr=False)

    @property
    def address(self) -> str:
        """The repository's address, as a browser shows it."""
        return f"{self.site}/{self.project}"

    @property
    def pull_sign(self) -> str:
        """The character that the forge writes before the number of a pull request."""
        return "!" if self.kind == "gitlab" else "#"

    @property
    def id(self) -> str:
        """The prefix of the tasks' idempotency keys, such as `gh:octo/hello`.

        For a self-hosted forge, the prefix contains the host.
        """
        host = self.site.partition("://")[2]
        return f"{SHORT[self.kind]}:{self.project if host in KNOWN else f'{host}/{self.project}'}"


def connections(
    repos: Mapping[str, str], kinds: Mapping[str, str], token_of: Callable[[str, str], str]
) -> tuple[Connection, ...]:
    """Return the connections that the settings configure.

    Args:
        repos: maps the address of each repository to the folder of its checkout.
        kinds: maps a host, or the beginning of an address, to the kind of forge.
        token_of: returns the token for a kind and a host; empty if there is none.

    Raises:
        ConfigError: lists all faults in the settings, each with its fix.
    """
    faults: list[str] = []
    parsed_connections: list[Connection] = []
    for address, repo in repos.items():
        try:
            parsed_connections.append(_connection(address, repo, kinds, token_of))
        except ValueError as error:
            faults.append(f"forges: {address}: {error}")
    if faults:
        raise ConfigError(faults)
    return tuple(parsed_connections)


def _connection(address: str, repo: str, kinds: Mapping[str, str], token_of: Callable[[str, str], str]) -> Connection:
    parts = urlsplit(address)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.username or parts.query:
        raise ValueError("give the repository's address as the browser shows it, such as https://github.com/octo/hello")
    if not repo.startswith(("/", "~")):
        raise ValueError(f"{repo!r} must be the absolute path of a checkout on this machine")
    host, path = parts.netloc.lower(), parts.path.strip("/").removesuffix(".git")
    prefix = next((each for each in sorted(kinds, key=len, reverse=True) if _begins(f"{host}/{path}", each)), host)
    kind = kinds.get(prefix) or KNOWN.get(host)
    if kind is None:
        raise ValueError(f"set the kind of this forge, as forge_kinds: {{{host}: {' or '.join(KINDS)}}}")
    if kind not in KINDS:
        raise ValueError(f"{kind!r} is not a kind of forge; choose one of {', '.join(KINDS)}")
    below = prefix.strip("/")[len(host) :].strip("/")
    project = path[len(below) :].strip("/")
    if not _NAME.fullmatch(project) or (kind != "gitlab" and project.count("/") != 1):
        raise ValueError(f"{project!r} is not a repository; give its owner and its name, such as octo/hello")
    site = f"{parts.scheme}://{host}" + (f"/{below}" if below else "")
    return Connection(kind=kind, site=site, project=project, repo=repo, token=token_of(kind, host))


def _begins(address: str, prefix: str) -> bool:
    prefix = prefix.strip("/")
    return address == prefix or address.startswith(f"{prefix}/")


def open_forge(connection: Connection, clock: Clock, **options: Any) -> tuple[Forge, Client]:
    """Open the forge of a repository. Also return its HTTP client, which the caller must close.

    Args:
        connection: the repository.
        clock: returns the current time, to compute pauses.
        options: further arguments of `Client`.
    """
    module, _, name = KINDS[connection.kind].partition(":")
    forge_class: type[Forge] = getattr(import_module(module), name)
    client = Client(forge_class.api(connection.site), forge_class.headers(connection.token), clock, **options)
    return forge_class(client, connection.project), client
