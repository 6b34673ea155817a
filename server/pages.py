"""The pages. The server makes the frame and what the page comes with; its script draws it and keeps it up to date."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from flask import Blueprint, Flask, Response, redirect, render_template, request
from markupsafe import Markup
from werkzeug.routing import Map
from werkzeug.wrappers import Response as BaseResponse

from core.errors import UnknownTask
from core.masking import printable
from core.states import Status, may_move
from db import pruning
from server.approvals import approval_row
from server.assets import Assets
from server.boot import boot_data
from server.desk import Desk
from server.page_table import PAGES, Page
from server.query import LoginQuery, Query, read_query
from server.reviewing import Reviewing
from server.schemas import log_line
from server.task_answers import task_detail
from server.task_reading import shown_lessons
from server.task_view import shown_attempts, shown_change, spoken

LINES_SHOWN = 300
TASK_RULE = f"/task/<int(max={2**63 - 1}):task_id>"

_Q = TypeVar("_Q", bound=Query)


class Pages:
    """The views; each answers one address."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def task(self, task_id: int) -> str:
        """One task: where it stands, each try, and every prompt and reply."""
        _query(Query)
        desk = self._desk
        task = desk.queue.get(task_id)
        pruned = pruning.notes(desk.database.reader(), task_id, task.ended_at)
        work = desk.steps.last_work(task_id, task.attempt) if task.attempt else None
        wait_s = desk.clarify_wait_s()
        asked = [approval_row(each, wait_s) for each in desk.queue.approvals(open_only=False, task_id=task_id)]
        return render_template(
            "task.html",
            approvals=[each for each in asked if each.granted is None and task.status is Status.WAITING],
            decisions=[each for each in asked if each.granted is not None],
            task=task_detail(task, desk.steps.iterations(task_id), desk.queue.family(task), pruned),
            reverted_by=Reviewing(desk.database, desk.events).reverted_by(task_id),
            spec=task.spec,
            attempts=shown_attempts(desk, task_id),
            change=shown_change(task, work) if work else [],
            work=work,
            lessons=shown_lessons(desk, task_id),
            last_id=desk.events.newest_id(),
            lines=[log_line(event) for event in desk.events.last(LINES_SHOWN, task_id=task_id)],
            may_cancel=may_move(task.status, Status.CANCELLED) and not task.cancel_requested,
            may_retry=task.status in {Status.FAILED, Status.CANCELLED},
        )

    def call(self, task_id: int, attempt: int, step_no: int, call_no: int) -> Response:
        """One model call as plain text: the whole prompt and the whole reply."""
        place = (attempt, step_no, call_no)
        for call in self._desk.steps.calls(task_id):
            if (call.attempt, call.step_no, call.call_no) == place:
                parts = spoken(self._desk, call)
                text = "\n\n".join(f"===== {role}\n{printable(said, max_chars=len(said))}" for role, said in parts)
                return Response(text, mimetype="text/plain")
        if gone := pruning.work_pruned(self._desk.database.reader(), task_id):
            text = f"The prompts and replies of task {task_id} were pruned on {gone.at:%Y-%m-%d} ({gone.setting}).\n"
            return Response(text, status=410, mimetype="text/plain")
        raise UnknownTask(task_id)

    def login(self) -> str:
        """The form for the token; the answer to it is not Flask's."""
        return render_template("login.html", wrong=_query(LoginQuery).wrong)

    def icon(self) -> BaseResponse:
        """What browsers ask for on pages that name no icon."""
        return redirect("/static/icons/idle.svg")


def register(app: Flask, desk: Desk, assets: Assets) -> None:
    """Add all pages."""
    pages, blueprint = Pages(desk), Blueprint("pages", __name__)
    for page in PAGES:
        blueprint.add_url_rule(page.rule, page.name, _drawn(desk, assets, app.url_map, page))
    blueprint.add_url_rule(TASK_RULE, view_func=pages.task)
    blueprint.add_url_rule(f"{TASK_RULE}/call/<int:attempt>/<int:step_no>/<int:call_no>", view_func=pages.call)
    blueprint.add_url_rule("/login", view_func=pages.login)
    blueprint.add_url_rule("/favicon.ico", view_func=pages.icon)
    app.register_blueprint(blueprint)
    app.jinja_env.globals.update(asset=assets.url, navigation=[page for page in PAGES if page.key])


def _drawn(desk: Desk, assets: Assets, routes: Map, page: Page) -> Callable[..., str]:
    """The view of a page that a script draws."""
    modules = assets.modules(page.script)
    styles = [page.style] if page.style in assets else []

    def view(**where: Any) -> str:
        data = Markup(boot_data(desk, routes, page, where))  # noqa: S704  made for this place
        return render_template("shell.html", page=page, here=page.name, modules=modules, styles=styles, boot=data)

    return view


def _query(model: type[_Q]) -> _Q:
    return read_query(model, request.query_string.decode("latin-1"))
