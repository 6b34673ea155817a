"""The owner's MCP servers, each started by a command or reached at an address, and the tools that a task may name."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from nightshift.core.errors import ConfigError

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,30}")


@dataclass(frozen=True, slots=True, kw_only=True)
class McpServer:
    """An MCP server, either started by `command` or reached at `url`, with an optional token."""

    name: str
    command: tuple[str, ...] = ()
    url: str = ""
    token: str = field(default="", repr=False)


def servers_of(given: Mapping[str, str], token_of: Callable[[str], str] = lambda _: "") -> tuple[McpServer, ...]:
    """Return the servers that the settings configure.

    Args:
        given: maps each server's name to a command or an address.
        token_of: returns the token for a server's name; empty if there is none.

    Raises:
        ConfigError: lists the faults.
    """
    servers, faults = list[McpServer](), list[str]()
    for name, value in given.items():
        try:
            servers.append(_server(name, value, token_of(name)))
        except ValueError as error:
            faults.append(f"mcp_servers: {name}: {error}")
    if faults:
        raise ConfigError(faults)
    return tuple(servers)


def _server(name: str, value: str, token: str) -> McpServer:
    if not _NAME.fullmatch(name):
        raise ValueError("a name consists of lowercase letters, digits, - and _, such as docs")
    if value.startswith(("http://", "https://")):
        parts = urlsplit(value)
        if not parts.hostname or parts.username:
            raise ValueError("give the server's address, such as http://127.0.0.1:8123/mcp; put a token in mcp_tokens")
        return McpServer(name=name, url=value, token=token)
    command = tuple(shlex.split(value))
    if not command:
        raise ValueError("give a command, such as `npx -y some-server`, or an address")
    return McpServer(name=name, command=command)


def faults_of(allowed: Sequence[str], names: Sequence[str]) -> dict[str, str]:
    """Return the faults in a task's list of tools (`server.tool`), by the field of the task, such as `mcp.0`."""
    known_names = ", ".join(names) or "none"
    return {
        f"mcp.{number}": f"there is no server {server!r} in mcp_servers; its servers are: {known_names}"
        for number, each in enumerate(allowed)
        if (server := each.partition(".")[0]) not in names
    }
