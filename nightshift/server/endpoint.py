"""Defines endpoints of the API: a public contract, and a view that answers requests.

A view is a function with `@routes.endpoint(…)` above it. Its signature is the contract: the parameters of the path by
their names, the models of `query` and `body` (`Model | None` if the body is optional), and the model of the answer. Its
docstring is the summary in the OpenAPI document.
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
    """An answer with a status other than 200, or with headers; the endpoint declares the type for each status."""

    answer: object
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One operation of the API.

    `answers` maps each success status to the type of its JSON. If `answers` is empty, the view returns a whole response
    of the type `media`. An endpoint without a view is served elsewhere. Path parameters are numbers, except those in
    `texts`. A view whose body may also be plain text (`text_body`) reads the body itself.
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
    """The endpoints of one module, in the order of their views."""

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
        """Register the decorated view; `more` sets fields of `Endpoint` that the signature does not show."""

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
    """Return the fields of an endpoint that follow from its body's type, which may be `Model | None`."""
    models = [each for each in get_args(hint) if each is not NoneType]
    return {"body": models[0] if models else hint, "body_required": hint is not None and not models}


def _names(path: str) -> list[str]:
    return re.findall(r"\{(\w+)\}", path)


def flask_rule(path: str, texts: tuple[str, ...] = ()) -> str:
    """Convert a path with `{names}` to the syntax of Flask's router.

    Ids above SQLite's largest integer do not match.
    """

    def converted(match: re.Match[str]) -> str:
        return f"<{match[1]}>" if match[1] in texts else f"<int(max={MAX_ID}):{match[1]}>"

    return re.sub(r"\{(\w+)\}", converted, path)
