"""Embeds in each page the answers of the API that the page needs first.

A script that has its first answers can draw the page at once. The views of the API build the answers, so they are the
same as for a request, with secrets masked. They are in a `<script type="application/json">` element, which browsers do
not run.
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
from nightshift.server.pages.page_table import STATUS, Page
from nightshift.server.query import BadQuery, read_query

_BY_NAME = {f"api.{endpoint.name}": endpoint for endpoint in ENDPOINTS}


def boot_data(context: AppContext, routes: Map, page: Page, where: Mapping[str, int | str]) -> str:
    """Return the page's data as JSON that is safe inside a `<script>` element.

    `after` is the id of the newest event before any answer was built. The page reads later events from the stream, so
    it misses no event. `answers` maps addresses to answers. `page` holds the page's `name`, and the parameters of its
    address as `where`.

    Raises:
        UnknownTask, UnknownApproval, UnknownCommit: the task, question or commit that the page shows does not exist.
    """
    after = context.events.newest_id()
    addresses = [STATUS, *(each.format(**where) for each in page.preload)]
    bodies = {address: _answer(context, routes, address) for address in addresses}
    answers = ",".join(f"{json.dumps(address)}:{body}" for address, body in bodies.items() if body)
    about = json.dumps({"name": page.name, "where": dict(where)})
    # A `<` could end the element or begin a comment; in JSON it occurs only inside strings.
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
        return None  # the script repeats the request and shows the error
    return body_of(context, reply.answer) if isinstance(reply, Reply) else None
