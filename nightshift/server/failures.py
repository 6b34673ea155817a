"""Turns every error into a response: a JSON object of one form for the API, a page for a browser."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import partial

from flask import Flask, Response, make_response, render_template, request
from werkzeug.exceptions import HTTPException

from nightshift.config.overrides import ConfigChanged
from nightshift.core.errors import (
    AmbiguousName,
    BranchRefused,
    ConfigError,
    ExtraMissing,
    GitError,
    HookRefused,
    HubError,
    IllegalMove,
    InvalidTask,
    StoreError,
    StoreFull,
    UnknownApproval,
    UnknownCommit,
    UnknownExtra,
    UnknownLesson,
    UnknownName,
    UnknownNode,
    UnknownStep,
    UnknownTask,
    UnknownWorker,
)
from nightshift.core.hub import NoHub
from nightshift.core.text import faults
from nightshift.report.stored import UnknownReport
from nightshift.server.bodies import BadBody
from nightshift.server.context import Busy
from nightshift.server.query import BadQuery
from nightshift.server.schemas import Failed
from nightshift.server.setting_faults import by_name

MAX_CHARS = faults.MOST * (faults.NAME_CHARS + faults.WHY_CHARS + 4)
_log = logging.getLogger(__name__)

_STATUSES: Mapping[int, tuple[type[Exception], ...]] = {
    403: (HookRefused,),
    404: (UnknownTask, UnknownApproval, UnknownStep, UnknownReport, UnknownLesson, UnknownExtra, UnknownWorker,
          UnknownName, UnknownCommit, UnknownNode, NoHub),
    409: (ExtraMissing, AmbiguousName, GitError, IllegalMove),
    507: (StoreFull,),
}  # fmt: skip
"""Maps each response status to the classes of errors that get it. The response contains only the error's message."""


def register(app: Flask) -> None:
    """Register the error handlers that apply to all views."""
    for status, kinds in _STATUSES.items():
        for kind in kinds:
            app.register_error_handler(kind, partial(_answer_text, status))
    app.register_error_handler(InvalidTask, _invalid)
    app.register_error_handler(BadQuery, _invalid)
    app.register_error_handler(ConfigChanged, lambda error: answer(409, str(error), by_name(error)))
    app.register_error_handler(ConfigError, lambda error: answer(422, str(error), by_name(error)))
    app.register_error_handler(BadBody, lambda error: answer(error.status, str(error), error.fields))
    app.register_error_handler(BranchRefused, _answer_refusal)
    app.register_error_handler(Busy, _busy)
    app.register_error_handler(HubError, _busy)
    app.register_error_handler(StoreError, _answer_fault)
    app.register_error_handler(HTTPException, _http)
    app.register_error_handler(Exception, _answer_fault)


def answer(status: int, error: str, fields: Mapping[str, str] | None = None, more: int = 0) -> Response:
    """Build an error response: JSON for the API, a page for a browser. Lengths are limited by `core.text.faults`.

    `more` counts the faults that are not in `fields`.
    """
    named = faults.limit_faults(fields or {})
    failed = Failed(error=faults.cut(error, MAX_CHARS), fields=named, more=more + len(fields or {}) - len(named))
    if request.path.startswith("/api/") or not request.accept_mimetypes.accept_html:
        return Response(failed.model_dump_json(), status, mimetype="application/json")
    return make_response(render_template("error.html", status=status, error=failed.error, fields=named), status)


def _answer_text(status: int, error: Exception) -> Response:
    return answer(status, str(error))


def _invalid(error: InvalidTask | BadQuery) -> Response:
    return answer(400, str(error), error.fields, error.more)


def _answer_refusal(error: BranchRefused) -> Response:
    return answer(409, str(error), {"force": "integrates it without a run"} if error.is_forcible else {})


def _busy(error: Busy | HubError) -> Response:
    response = answer(503, str(error))
    response.headers["Retry-After"] = "5"
    return response


def _http(error: HTTPException) -> Response:
    """Answer Flask's own errors (no such path, no such method) and redirects, keeping the header `Allow`."""
    original = error.get_response()
    if original.status_code < 400:
        return make_response(original)
    texts = {404: "there is nothing at this address", 405: f"{request.method} is not possible here"}
    response = answer(original.status_code, texts.get(original.status_code, error.description or error.name))
    if "Allow" in original.headers:
        response.headers["Allow"] = original.headers["Allow"]
    return response


def _answer_fault(error: Exception) -> Response:
    """Answer an unexpected error. Its details go only to the log, because they may contain a secret."""
    _log.error("%s %s failed", request.method, request.path, exc_info=error)
    return answer(500, "something went wrong inside Nightshift; its log says what")
