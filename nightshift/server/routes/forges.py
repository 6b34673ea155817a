"""The door for webhooks of forges: whoever shows the right signature has the daemon look at its forges now."""

from __future__ import annotations

from flask import request

from nightshift.server.context import AppContext
from nightshift.server.endpoint import Routes
from nightshift.server.schemas import Answer

HOOK_PATH = "/api/forges/hook"
routes = Routes()


class Hinted(Answer):
    """The repositories at forges that are looked at now."""

    looking_at: list[str]


@routes.endpoint("POST", HOOK_PATH)
def take_hook(context: AppContext) -> Hinted:
    """Take a webhook of GitHub, GitLab, Gitea or Forgejo; it needs its signature, and no token."""
    headers = {name.lower(): value for name, value in request.headers.items()}
    return Hinted(looking_at=list(context.forge_hook(headers, request.get_data())))
