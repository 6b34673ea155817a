"""The Flask applications: API and pages for one daemon, or the API alone. They check no visitor; the guard does."""

from __future__ import annotations

from flask import Flask

from server import api, failures
from server.desk import Desk
from server.pages.assets import Assets
from server.schemas import build_models


def create_api(desk: Desk) -> Flask:
    """Build the API without its pages, for use on one thread: pydantic builds each model when it is first needed.

    Args:
        desk: the parts of the daemon that it speaks to.
    """
    app = Flask(__name__, static_folder=None)
    api.register(app, desk)
    failures.register(app)
    return app


def create_app(desk: Desk, assets: Assets) -> Flask:
    """Build API and pages, for use on many threads.

    Args:
        desk: the parts of the daemon that they speak to.
        assets: the static files that the pages name; they are served elsewhere.
    """
    from server.pages import frame, shown  # noqa: PLC0415  # the API does without them

    build_models()
    app = create_api(desk)
    app.jinja_env.trim_blocks = app.jinja_env.lstrip_blocks = True
    shown.register(app, desk.events.mask)
    frame.register(app, desk, assets)
    return app
