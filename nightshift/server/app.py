"""The Flask applications: API and pages for one daemon, or part of the API alone. No visitor is checked here."""

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
    """A rule that is made for matching; what builds addresses of it is compiled where one is built, which is nowhere.

    Werkzeug compiles it for each rule at once, in more than half of the time that an application takes.
    """

    def _compile_builder(self, append_unknown: bool = True) -> Callable[..., tuple[str, str]]:
        compiled = super()._compile_builder

        def build(rule: Rule, **values: Any) -> tuple[str, str]:
            return compiled(append_unknown)(rule, **values)

        return build


def create_api(context: AppContext, endpoints: Sequence[Endpoint]) -> Flask:
    """Build an API without pages, for use on one thread: pydantic builds each model when it is first needed.

    Args:
        context: the parts of the daemon that it speaks to.
        endpoints: what it answers.
    """
    app = Flask(__name__, static_folder=None)
    app.url_rule_class = MatchedRule
    api.register(app, context, endpoints)
    failures.register(app)
    return app


def create_app(context: AppContext, assets: Assets, *, asks_token: bool = False) -> Flask:
    """Build API and pages, for use on many threads.

    Args:
        context: the parts of the daemon that they speak to.
        assets: the static files that the pages name; they are served elsewhere.
        asks_token: whether visitors are asked for a token, so that they can log out.
    """
    from nightshift.server.contract import ENDPOINTS  # noqa: PLC0415  # an API of few endpoints does without the others
    from nightshift.server.pages import frame  # noqa: PLC0415  # as above

    build_models()
    app = create_api(context, ENDPOINTS)
    app.add_url_rule("/api/openapi.json", "describe", cache(lambda: _describe(context.status().version)))
    app.jinja_env.trim_blocks = app.jinja_env.lstrip_blocks = True
    frame.register(app, context, assets)
    app.jinja_env.globals["asks_token"] = asks_token
    return app


def _describe(version: str) -> dict[str, Any]:
    """The document of the API, which takes longer to make than all else of the application; few ever ask for it."""
    from nightshift.server import openapi  # noqa: PLC0415  # as above

    return openapi.document(version)
