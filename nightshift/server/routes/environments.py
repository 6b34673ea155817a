"""Serves the environments built for repositories: their contents, and what was left out of them."""

from __future__ import annotations

from nightshift.core.code.environments import MadeEnvironment
from nightshift.server.context import AppContext
from nightshift.server.endpoint import Routes
from nightshift.server.formatting import shorten
from nightshift.server.schemas import Answer

routes = Routes()

MOST_CHARS = 2000


class KeptEnvironments(Answer):
    """All stored environments, most recently used first. `size_bytes` is their total size.

    Repositories with the same declaration share an environment.
    """

    environments: list[MadeEnvironment]
    size_bytes: int


@routes.endpoint("GET", "/api/environments")
def list_environments(context: AppContext) -> KeptEnvironments:
    """List the environments that were built from the declarations of repositories."""
    environments = [shorten(each, context.mask, MOST_CHARS) for each in context.environments()]
    return KeptEnvironments(environments=environments, size_bytes=sum(each.size_bytes for each in environments))
