"""Reads the bodies of requests: JSON, or plain text as a task's description."""

from __future__ import annotations

import json
from typing import Any

from flask import Request


class BadBody(ValueError):
    """The body cannot be read; `status` is 400 or 415."""

    def __init__(self, why: str, status: int = 400) -> None:
        self.status = status
        super().__init__(why)


def read_task_body(request: Request) -> object:
    """What a person sent as a task, not yet validated.

    Raises:
        BadBody: it is neither JSON nor UTF-8 text.
    """
    if request.mimetype == "text/plain":
        return {"description": _text(request)}
    return read_json(request)


def read_json(request: Request) -> object:
    """The value of a JSON body.

    Raises:
        BadBody: it is of another media type or is no JSON.
    """
    if request.mimetype != "application/json":
        sent = request.mimetype or "no Content-Type"
        raise BadBody(f"send application/json, or a task's description as text/plain; this was {sent}", 415)
    try:
        return json.loads(_text(request), object_pairs_hook=_once, parse_constant=_no_constant)
    except RecursionError:
        raise BadBody("the JSON is nested too deeply") from None
    except ValueError as error:
        raise BadBody(f"the body is not JSON: {error}") from None


def _text(request: Request) -> str:
    if request.mimetype_params.get("charset", "utf-8").lower() not in {"utf-8", "utf8", "us-ascii"}:
        raise BadBody("send UTF-8", 415)
    try:
        return request.get_data(cache=False).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadBody(f"the body is not UTF-8 (byte {error.start})") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A name that is given twice would silently lose one of its values."""
    values = dict(pairs)
    if len(values) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(n for n in names if names.count(n) > 1)!r} is given twice")
    return values


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")
