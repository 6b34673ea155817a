"""Reads the bodies of requests: JSON, or plain text as the description of a task."""

from __future__ import annotations

from typing import Any, TypeVar

from flask import Request
from pydantic import BaseModel, ValidationError

from nightshift.core.text import plain_data

MOST_VALUES = 20_000
"""Maximum number of values in a JSON body. Submitted tasks have a higher limit of their own."""

_M = TypeVar("_M", bound=BaseModel)


class BadBody(ValueError):
    """Error for a body that cannot be read.

    `status` is the HTTP status, 400 or 415. `fields` maps field names to reasons; it is empty if no field is known.
    """

    def __init__(self, why: str, status: int = 400, fields: dict[str, str] | None = None) -> None:
        self.status, self.fields = status, fields or {}
        super().__init__(why)


def read_task_body(request: Request) -> object:
    """Read a submitted task from the request, without validating it.

    Raises:
        BadBody: the body is neither JSON nor UTF-8 text.
    """
    if request.mimetype == "text/plain":
        return {"description": _text(request)}
    return read_json(request, most_values=plain_data.MAX_VALUES)


def read_optional(request: Request, model: type[_M]) -> _M | None:
    """Read a JSON body as a model; return None if there is no body or it is `null`.

    Raises:
        BadBody: as `read_model`.
    """
    if not request.content_length:
        return None
    return None if request.get_data().strip() == b"null" else read_model(request, model)


def read_model(request: Request, model: type[_M]) -> _M:
    """Read a JSON body as a model.

    Raises:
        BadBody: the body is not JSON, or the model does not accept it.
    """
    try:
        return model.model_validate(read_json(request))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise BadBody(f"{'.'.join(map(str, first['loc'])) or 'body'}: {first['msg']}") from None


def read_json(request: Request, *, most_values: int = MOST_VALUES) -> Any:
    """Return the value of a JSON body.

    Raises:
        BadBody: the body has another media type, is not JSON, or has too many values.
    """
    if request.mimetype != "application/json":
        sent = request.mimetype or "no Content-Type"
        raise BadBody(f"send application/json, or a task's description as text/plain; this was {sent}", 415)
    try:
        return plain_data.read_json(_text(request), most_values=most_values)
    except plain_data.BadData as error:
        why = f"{error.field}: {error}" if error.field else f"the body {error}"
        raise BadBody(why, fields={error.field: str(error)} if error.field else None) from None
    except ValueError as error:
        raise BadBody(f"the body is not JSON: {error}") from None


def _text(request: Request) -> str:
    if request.mimetype_params.get("charset", "utf-8").lower() not in {"utf-8", "utf8", "us-ascii"}:
        raise BadBody("send UTF-8", 415)
    try:
        return request.get_data(cache=False).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadBody(f"the body is not UTF-8 (byte {error.start})") from None
