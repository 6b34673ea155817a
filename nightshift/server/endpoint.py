"""Endpoints of the API: each has a contract for the outside, and a view that answers.

A view is a function with `@routes.endpoint(…)` above it. Its signature is the contract: parameters of the path by their
names, a `query` and a `body` by their models (`Model | None` where the body may be left out), and the model of the
answer; its docstring is the summary in the OpenAPI document.
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
    """An answer with another status than 200, or with headers; the endpoint names the type of each status."""

    answer: object
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One operation of the API.

    `answers` maps each status of success to the type of its JSON; an endpoint without any answers with `media`, and its
    view with a whole response. One without a view is served elsewhere. Parameters of the path are numbers, except those
    in `texts`. A view whose body may also be a text reads it itself.
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
        """The names of the path's parameters, in order."""
        return _names(self.path)

    @property
    def rule(self) -> str:
        """The path as Flask's router writes it."""
        return flask_rule(self.path, self.texts)

    def respond(self, context: AppContext, query: Query, where: Mapping[str, int | str]) -> Reply | Response:
        """Return the answer of the view; a body is read from the request under way.

        Raises:
            BadBody: it is no JSON, or not what the model wants.
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
        """Add the view below; what its signature does not say are fields of `Endpoint`."""

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
    """The model of a body from its type, which may be `Model | None`."""
    models = [each for each in get_args(hint) if each is not NoneType]
    return {"body": models[0] if models else hint, "body_required": hint is not None and not models}


def _names(path: str) -> list[str]:
    return re.findall(r"\{(\w+)\}", path)


def flask_rule(path: str, texts: tuple[str, ...] = ()) -> str:
    """A path with `{names}` as Flask's router writes it; ids beyond SQLite's integers do not exist."""

    def converted(match: re.Match[str]) -> str:
        return f"<{match[1]}>" if match[1] in texts else f"<int(max={MAX_ID}):{match[1]}>"

    return re.sub(r"\{(\w+)\}", converted, path)
