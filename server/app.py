"""The Flask application: API and pages for one daemon. It checks no visitor; the guard stands before it."""

from __future__ import annotations

from flask import Flask

from server import api, failures
from server.desk import Desk
from server.pages import frame, shown
from server.pages.assets import Assets
from server.schemas import build_models


def create_app(desk: Desk, assets: Assets) -> Flask:
    """Build the application.

    Args:
        desk: the parts of the daemon that it speaks to.
        assets: the static files that its pages name; they are served elsewhere.
    """
    build_models()
    app = Flask(__name__, static_folder=None)
    app.jinja_env.trim_blocks = app.jinja_env.lstrip_blocks = True
    shown.register(app, desk.mask)
    api.register(app, desk)
    frame.register(app, desk, assets)
    failures.register(app)
    return app
