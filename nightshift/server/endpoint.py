"""Defines endpoints of the API. Each has a public contract and a view that answers requests.

A view is a function decorated with `@routes.endpoint(…)`. Its signature is the contract. The parameters of the path are
arguments of the same names. The arguments `query` and `body` are annotated with their models (`Model | None` if the
body is optional). The return type is the model of the answer. The docstring is the summary in the OpenAPI document.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import NoneType
from typing import Any, Literal, TypeVar, get_args, get_type_hints

from flask import Response, request
from pydantic import BaseModel

from nightshift.server.bodies import read_model, read_optional
from nightshift.server.context import AppContext
from nightshift.server.query import MAX_ID, Query

Method = Literal["GET", "POST", "PUT", "PATCH"]
View = Callable[..., Any]

_V = TypeVar("_V", bound=View)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """An answer with headers or with a status other than 200.

    The endpoint declares the answer's type for each status.
    """

    answer: object
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One operation of the API.

    `answers` maps each success status to the type of its JSON. If `answers` is empty, the view returns a whole response
    with the media type `media`. An endpoint without a view is served outside Flask. Path parameters are numbers, except
    those in `texts`. If `text_body` is set, the body may also be plain text, and the view reads the body itself.
    """

    name: str
    method: Method
    path: str
    summary: str
    view: View | None = None
    answers: dict[int, type[Any]] = field(default_factory=dict)
    media: str = "application/json"
    query: type[Query] = Query
    body: type[BaseModel] | None = None
    body_required: bool = False
    text_body: str = ""
    texts: tuple[str, ...] = ()

    @property
    def parameters(self) -> list[str]:
        """Names of the path's parameters, in order."""
        return _names(self.path)

    @property
    def rule(self) -> str:
        """The path in the syntax of Flask's router."""
        return flask_rule(self.path, self.texts)

    def respond(self, context: AppContext, query: Query, where: Mapping[str, int | str]) -> Reply | Response:
        """Call the view and return its answer; the body is read from Flask's current request.

        Raises:
            BadBody: the body is not JSON, or the model does not accept it.
        """
        assert self.view, f"{self.path} is served elsewhere"
        given: dict[str, Any] = {"context": context, **where}
        if self.query is not Query:
            given["query"] = query
        if self.body and not self.text_body:
            read = read_model if self.body_required else read_optional
            given["body"] = read(request, self.body)
        result = self.view(**given)
        reply = result if isinstance(result, Reply | Response) else Reply(answer=result)
        if isinstance(reply, Response):
            assert not self.answers, "the contract promises JSON"
        else:
            assert type(reply.answer) is self.answers[reply.status], "the contract names another model"
        return reply


class Routes:
    """The endpoints of one module, in the order in which their views are defined."""

    def __init__(self) -> None:
        self.endpoints: list[Endpoint] = []

    def endpoint(
        self,
        method: Method,
        path: str,
        *,
        answers: dict[int, type[Any]] | None = None,
        **more: Any,
    ) -> Callable[[_V], _V]:
        """Return a decorator that registers a view as an endpoint.

        Args:
            method: the HTTP method.
            path: the path, with parameters in braces.
            answers: the type of the answer for each success status; by default the return type of the view, for status
                200.
            more: other fields of `Endpoint` that the view's signature does not show.
        """

        def add(view: _V) -> _V:
            hints = get_type_hints(view)
            answer_type = hints["return"]
            promised = answers or ({} if issubclass(answer_type, Reply | Response) else {200: answer_type})
            fields = {
                "name": view.__name__,
                "summary": " ".join((inspect.getdoc(view) or "").split()),
                "answers": promised,
                "query": hints.get("query", Query),
                "texts": tuple(name for name in _names(path) if hints[name] is str),
                **_body(hints.get("body")),
                **more,
            }
            self.endpoints.append(Endpoint(method=method, path=path, view=view, **fields))
            return view

        return add


def _body(hint: Any) -> dict[str, Any]:
    """Return the fields of an endpoint that describe its body: the model, and whether a body is required.

    The annotation of the body is `Model` or, if the body is optional, `Model | None`.
    """
    models = [each for each in get_args(hint) if each is not NoneType]
    return {"body": models[0] if models else hint, "body_required": hint is not None and not models}


def _names(path: str) -> list[str]:
    return re.findall(r"\{(\w+)\}", path)


def flask_rule(path: str, texts: tuple[str, ...] = ()) -> str:
    """Convert a path with `{names}` to the syntax of Flask's router.

    Numbers above SQLite's largest integer do not match.
    """

    def converted(match: re.Match[str]) -> str:
        return f"<{match[1]}>" if match[1] in texts else f"<int(max={MAX_ID}):{match[1]}>"

    return re.sub(r"\{(\w+)\}", converted, path)
