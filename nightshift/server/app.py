"""Builds the Flask applications: API and pages for one daemon, or part of the API alone.

Requests are not authenticated here. The guard in front of the application does that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from flask import Flask
from werkzeug.routing import Rule

from nightshift.server import api, failures
from nightshift.server.context import AppContext
from nightshift.server.endpoint import Endpoint
from nightshift.server.pages.assets import Assets
from nightshift.server.schemas import build_models


class MatchedRule(Rule):
    """A rule that matches requests, and compiles its code for building URLs only when a URL is built.

    No URL is built in this application. Werkzeug would compile that code for each rule at once, which takes more than
    half of the time to create an application.
    """

    def _compile_builder(self, append_unknown: bool = True) -> Callable[..., tuple[str, str]]:
        compiled = super()._compile_builder

        def build(rule: Rule, **values: Any) -> tuple[str, str]:
            return compiled(append_unknown)(rule, **values)

        return build


def create_api(context: AppContext, endpoints: Sequence[Endpoint]) -> Flask:
    """Build an API without pages, for use on one thread only.

    One thread, because pydantic builds each model on first use, and this function does not build the models beforehand.

    Args:
        context: the services that the API works with.
        endpoints: the endpoints that the API serves.
    """
    app = Flask(__name__, static_folder=None)
    app.url_rule_class = MatchedRule
    api.register(app, context, endpoints)
    failures.register(app)
    return app


def create_app(context: AppContext, assets: Assets, *, asks_token: bool = False) -> Flask:
    """Build API and pages, for use on many threads.

    Args:
        context: the services that API and pages work with.
        assets: the static files that the pages refer to; they are served elsewhere.
        asks_token: True if users log in with a token, so that the pages offer to log out.
    """
    from nightshift.server.contract import ENDPOINTS  # noqa: PLC0415  # a partial API does not need the others
    from nightshift.server.pages import frame  # noqa: PLC0415  # as above

    build_models()
    app = create_api(context, ENDPOINTS)
    app.add_url_rule("/api/openapi.json", "describe", cache(lambda: _describe(context.status().version)))
    app.jinja_env.trim_blocks = app.jinja_env.lstrip_blocks = True
    frame.register(app, context, assets)
    app.jinja_env.globals["asks_token"] = asks_token
    return app


def _describe(version: str) -> dict[str, Any]:
    """Return the API's OpenAPI document.

    The document is built on the first request, because building it takes longer than building the rest of the
    application, and few clients ask for it.
    """
    from nightshift.server import openapi  # noqa: PLC0415  # as above

    return openapi.document(version)
