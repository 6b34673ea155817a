"""Data in a page: answers of the API, made by the views of the API.

A script that has its first answers at hand draws at once. The answers are those that a request would get, masked alike;
they stand in a `<script type="application/json">`, which no browser runs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from werkzeug.exceptions import HTTPException
from werkzeug.routing import Map

from nightshift.core.errors import NightshiftError, UnknownApproval, UnknownCommit, UnknownTask
from nightshift.server.api import body_of
from nightshift.server.context import AppContext
from nightshift.server.contract import ENDPOINTS
from nightshift.server.endpoint import Reply
from nightshift.server.pages.page_table import Page
from nightshift.server.query import BadQuery, read_query

_BY_NAME = {f"api.{endpoint.name}": endpoint for endpoint in ENDPOINTS}


def boot_data(context: AppContext, routes: Map, page: Page, where: Mapping[str, int | str]) -> str:
    """The page's data as JSON that may stand in a `<script>` element.

    `after` is the newest event before any answer was made: what happened later comes over the stream, so nothing falls
    between. `answers` are by address; `page` holds its `name` and `where`, the parameters of its address.

    Raises:
        UnknownTask, UnknownApproval, UnknownCommit: what the page is about does not exist.
    """
    after = context.events.newest_id()
    bodies = {address: _answer(context, routes, address) for address in (each.format(**where) for each in page.preload)}
    answers = ",".join(f"{json.dumps(address)}:{body}" for address, body in bodies.items() if body)
    about = json.dumps({"name": page.name, "where": dict(where)})
    # A text could end the element, or begin a comment; in JSON such a sign stands in strings alone.
    return f'{{"after":{after},"page":{about},"answers":{{{answers}}}}}'.replace("<", "\\u003c")


def _answer(context: AppContext, routes: Map, address: str) -> str | None:
    path, _, query = address.partition("?")
    try:
        name, where = routes.bind("").match(path, method="GET")
        endpoint = _BY_NAME[name]
        reply = endpoint.respond(context, read_query(endpoint.query, query), where)
    except (UnknownTask, UnknownApproval, UnknownCommit):
        raise
    except (NightshiftError, BadQuery, HTTPException):
        return None  # the script asks again, and shows what the API says
    return body_of(context, reply.answer) if isinstance(reply, Reply) else None
