"""The Flask application, implemented in `nightshift/server/app.py`."""

from nightshift.server.app import create_api, create_app

__all__ = ["create_api", "create_app"]
