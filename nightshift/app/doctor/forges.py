"""Checks of forges: whether each connection has a token and a checkout with a remote, and whether the forge answers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

from nightshift.app.doctor.context import CheckContext, Finding, fault, ok, warning
from nightshift.app.forges import connections_of
from nightshift.core.errors import ConfigError, GitError, NightshiftError
from nightshift.git.discovery import discover
from nightshift.remote.forges.connections import Connection, open_forge
from nightshift.remote.forges.port import Watch


def check_forges(context: CheckContext) -> Iterator[Finding]:
    """Check each configured connection, and send a request to its forge."""
    try:
        connections = connections_of(context.settings)
    except ConfigError as error:
        for each in error.faults:
            yield fault("settings", each, "correct it in config.yaml")
        return
    if not connections:
        yield ok("forges", "none is followed")
    for connection in connections:
        yield from _look_at(context, connection)


def _look_at(context: CheckContext, connection: Connection) -> Iterator[Finding]:
    name = connection.address
    if not connection.token:
        variable = {"github": "GITHUB_TOKEN", "gitlab": "GITLAB_TOKEN"}.get(connection.kind, "GITEA_TOKEN")
        yield fault(name, "there is no token for it", f"set {variable}, or forge_tokens for its host")
        return
    try:
        repository = discover(Path(connection.repo).expanduser(), context.settings.process_environment)
        if not repository.configuration.remote_url:
            yield fault(name, f"{connection.repo} has no remote to push to", f"git -C {connection.repo} remote add …")
    except GitError as error:
        yield fault(name, str(error), "correct `forges` in config.yaml")
    try:
        branch = asyncio.run(_ask(context, connection))
    except NightshiftError as error:
        yield warning(
            name, _without_token(str(error), connection), "see docs/manual/forges.md for what the token needs"
        )
    else:
        yield ok(name, f"it answers; its default branch is {branch}")


def _without_token(text: str, connection: Connection) -> str:
    """Return the text with the token masked."""
    return text.replace(connection.token, "***")


async def _ask(context: CheckContext, connection: Connection) -> str:
    forge, client = open_forge(connection, context.clock, request_s=15.0)
    try:
        return (await forge.look(Watch(label=context.settings.forge_label))).branch
    finally:
        await client.aclose()
