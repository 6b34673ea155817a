"""Registers the endpoints of the contract as routes of a Flask application."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from flask import Blueprint, Flask, Response, request

from nightshift.server.context import AppContext
from nightshift.server.endpoint import Endpoint
from nightshift.server.query import read_query
from nightshift.server.schemas import as_json


def register(app: Flask, context: AppContext, endpoints: Sequence[Endpoint]) -> None:
    """Register the endpoints with Flask. Endpoints without a view are skipped, because they are native ASGI routes."""
    api = Blueprint("api", __name__)
    for endpoint in endpoints:
        if endpoint.view is not None:
            api.add_url_rule(endpoint.rule, endpoint.name, _view(context, endpoint), methods=[endpoint.method])
    app.register_blueprint(api)


def _view(context: AppContext, endpoint: Endpoint) -> Callable[..., Response]:
    def respond(**where: Any) -> Response:
        query = read_query(endpoint.query, request.query_string.decode("latin-1"))
        reply = endpoint.respond(context, query, where)
        if isinstance(reply, Response):
            return reply
        response = Response(body_of(context, reply.answer), reply.status, mimetype="application/json")
        response.headers.update(reply.headers)
        return response

    return respond


def body_of(context: AppContext, answer: object) -> str:
    """Return the answer as JSON with secrets masked, because texts of tasks and models may contain secrets."""
    text, mask = as_json(answer), context.mask
    if mask(text) == text:
        return text

    def masked(value: object) -> object:
        if isinstance(value, str):
            return mask(value)
        if isinstance(value, list):
            return [masked(each) for each in value]
        if isinstance(value, dict):
            return {mask(name): masked(each) for name, each in value.items()}
        return value

    # Mask only the strings. In the JSON text, a number that looks like a secret would be masked as well.
    return json.dumps(masked(json.loads(text)), ensure_ascii=False)
