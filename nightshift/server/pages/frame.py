"""Serves the pages. The server renders the frame and the embedded data; a script draws and updates the content."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from flask import Blueprint, Flask, Response, abort, redirect, render_template, request
from markupsafe import Markup
from werkzeug.routing import Map

from nightshift.core.errors import UnknownTask
from nightshift.core.program import format_command, program
from nightshift.core.text.masking import printable
from nightshift.server.auth.asgi import way_to_root
from nightshift.server.context import AppContext
from nightshift.server.pages.assets import Assets
from nightshift.server.pages.boot import boot_data
from nightshift.server.pages.page_table import PAGES, Page
from nightshift.server.query import LoginQuery, read_query
from nightshift.server.timeline.step_detail import as_text

MAX_SHOWN_CHARS = 200_000
CALL_RULE = f"/task/<int(max={2**63 - 1}):task_id>/call/<int:attempt>/<int:step_no>/<int:call_no>"


def register(app: Flask, context: AppContext, assets: Assets) -> None:
    """Register all pages, and the variables and filters that their templates use."""
    blueprint = Blueprint("pages", __name__)
    for page in PAGES:
        blueprint.add_url_rule(page.rule, page.name, _draw(context, assets, app.url_map, page))
    blueprint.add_url_rule(CALL_RULE, "call", partial(_call, context))
    blueprint.add_url_rule("/login", "login", _login)
    blueprint.add_url_rule("/favicon.ico", "icon", lambda: redirect("static/icons/idle.svg"))
    app.register_blueprint(blueprint)
    navigation = [page for page in PAGES if page.key and (context.hub or not page.needs_hub)]
    add_filter(app, context.mask)
    app.context_processor(lambda: _addresses(assets, way_to_root(request.path)))
    app.jinja_env.globals.update(program=program, typed=format_command, navigation=navigation)


def add_filter(app: Flask, mask: Callable[[str], str]) -> None:
    """Add the template filter `shown`, which masks secrets in a text and makes it printable."""
    app.jinja_env.filters["shown"] = lambda text: printable(mask(text), max_chars=MAX_SHOWN_CHARS)


def _addresses(assets: Assets, root: str) -> dict[str, Any]:
    """Return the template variables that build addresses, all relative to the page's own address."""
    return {"root": root, "asset": lambda name: root + assets.url(name)[1:]}


def _draw(context: AppContext, assets: Assets, routes: Map, page: Page) -> Callable[..., str]:
    """Build the view of a page whose content a script draws."""
    modules = assets.modules(page.script)
    styles = [page.style] if page.style in assets else []

    def view(**where: Any) -> str:
        if page.needs_hub and not context.hub:
            abort(404)
        data = Markup(boot_data(context, routes, page, where))  # noqa: S704  escaped for this element
        return render_template("shell.html", page=page, here=page.name, modules=modules, styles=styles, boot=data)

    return view


def _call(context: AppContext, task_id: int, attempt: int, step_no: int, call_no: int) -> Response:
    """Show a model call as plain text: the whole prompt and the whole reply."""
    calls = context.steps.calls(task_id, attempt, step_no)
    if model_call := next((call for call in calls if call.call_no == call_no), None):
        return Response(as_text(context, model_call), mimetype="text/plain")
    if gone := context.reads.find_pruned(task_id):
        text = f"The prompts and replies of task {task_id} were pruned on {gone.at:%Y-%m-%d} ({gone.setting}).\n"
        return Response(text, status=410, mimetype="text/plain")
    raise UnknownTask(task_id)


def _login() -> str:
    """Render the login form. Flask only shows the form; `auth.login` handles its submission."""
    query = read_query(LoginQuery, request.query_string.decode("latin-1"))
    return render_template("login.html", here="login", wrong=query.wrong)
