"""Accepts webhooks of forges. A request with the right signature makes the daemon poll its forges now."""

from __future__ import annotations

from flask import request

from nightshift.server.context import AppContext
from nightshift.server.endpoint import Routes
from nightshift.server.schemas import Answer

HOOK_PATH = "/api/forges/hook"
routes = Routes()


class Hinted(Answer):
    """The repositories that the daemon polls because a forge sent a webhook."""

    looking_at: list[str]


@routes.endpoint("POST", HOOK_PATH)
def take_hook(context: AppContext) -> Hinted:
    """Accept a webhook of GitHub, GitLab, Gitea or Forgejo. It must be signed, and needs no token."""
    headers = {name.lower(): value for name, value in request.headers.items()}
    return Hinted(looking_at=list(context.forge_hook(headers, request.get_data())))
