"""The repository and the forge that a setting means, the way to reach it, and the class that speaks to it.

An owner gives the address that his browser shows. The forge's kind follows from the host where that is well known, and
is named in the settings (`forge_kinds`) where the forge is his own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

from nightshift.core.clock import Clock
from nightshift.core.errors import ConfigError
from nightshift.remote.forges.client import Client
from nightshift.remote.forges.port import Comment, Forge, ForgeAway, ForgeRefused, Proposal, Pull, Seen, Watch

KINDS: Mapping[str, str] = {
    "github": "nightshift.remote.forges.github:GitHub",
    "gitlab": "nightshift.remote.forges.gitlab:GitLab",
    "gitea": "nightshift.remote.forges.gitea:Gitea",
    "forgejo": "nightshift.remote.forges.gitea:Gitea",
}
"""Each kind with the class that speaks to it, which is loaded when it is first wanted."""
KNOWN: Mapping[str, str] = {
    "github.com": "github", "gitlab.com": "gitlab", "codeberg.org": "forgejo", "gitea.com": "gitea",
}  # fmt: skip
SHORT: Mapping[str, str] = {"github": "gh", "gitlab": "gl", "gitea": "gt", "forgejo": "fj"}
_NAME = re.compile(r"[\w.-]+(/[\w.-]+)+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """A repository at a forge (`project`, such as `octo/hello`) and the checkout of it on this machine (`repo`).

    `site` is where the forge's own addresses begin, with the scheme.
    """

    kind: str
    site: str
    project: str
    repo: str
    token: str = field(default="", repr=False)

    @property
    def address(self) -> str:
        """As a browser shows it."""
        return f"{self.site}/{self.project}"

    @property
    def pull_sign(self) -> str:
        """The sign before the number of a pull request."""
        return "!" if self.kind == "gitlab" else "#"

    @property
    def id(self) -> str:
        """The beginning of the keys of tasks: `gh:octo/hello`, with the host where it is the owner's own."""
        host = self.site.partition("://")[2]
        return f"{SHORT[self.kind]}:{self.project if host in KNOWN else f'{host}/{self.project}'}"


def connections(
    repos: Mapping[str, str], kinds: Mapping[str, str], token_of: Callable[[str, str], str]
) -> tuple[Connection, ...]:
    """The connections that the settings ask for.

    Args:
        repos: the address of each repository, and the folder of its checkout.
        kinds: the kind of forge at a host, or at an address that begins so.
        token_of: the token for a kind and a host; empty where there is none.

    Raises:
        ConfigError: lists the faults, each with the mend.
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
        raise ValueError(f"say which kind of forge it is: forge_kinds: {{{host}: {' or '.join(KINDS)}}}")
    if kind not in KINDS:
        raise ValueError(f"there is no kind of forge {kind!r}; known are {', '.join(KINDS)}")
    below = prefix.strip("/")[len(host) :].strip("/")
    project = path[len(below) :].strip("/")
    if not _NAME.fullmatch(project) or (kind != "gitlab" and project.count("/") != 1):
        raise ValueError(f"{project!r} names no repository; it has an owner and a name, such as octo/hello")
    site = f"{parts.scheme}://{host}" + (f"/{below}" if below else "")
    return Connection(kind=kind, site=site, project=project, repo=repo, token=token_of(kind, host))


def _begins(address: str, prefix: str) -> bool:
    prefix = prefix.strip("/")
    return address == prefix or address.startswith(f"{prefix}/")


def open_forge(connection: Connection, clock: Clock, **options: Any) -> tuple[Forge, Client]:
    """Open the forge of a repository, and its client, which is to be closed.

    Args:
        connection: which.
        clock: the time, by which rests are counted.
        options: for `Client`.
    """
    module, _, name = KINDS[connection.kind].partition(":")
    forge_class = getattr(import_module(module), name)
    client = Client(forge_class.api(connection.site), forge_class.headers(connection.token), clock, **options)
    return Checked(forge_class(client, connection.project)), client


class Checked:
    """A forge whose answers are taken for what they are: one of another form is no answer (`ForgeAway`)."""

    def __init__(self, forge: Forge) -> None:
        self._forge = forge

    async def look(self, watch: Watch) -> Seen:
        """See `Forge`."""
        with _readable():
            seen = await self._forge.look(watch)
        if not seen.branch:
            raise ForgeRefused(HTTPStatus.NOT_FOUND, "the repository has no branch yet; push one")
        return seen

    async def comment(self, comment: Comment) -> str:
        """See `Forge`."""
        with _readable():
            return await self._forge.comment(comment)

    async def propose(self, proposal: Proposal) -> Pull:
        """See `Forge`."""
        with _readable():
            return await self._forge.propose(proposal)


@contextmanager
def _readable() -> Iterator[None]:
    try:
        yield
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        raise ForgeAway(f"the forge's answer has another form than its API says: {error!r}"[:300]) from error
