"""What an endpoint of the API is: its contract for the outside, and the view that answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from flask import Response, request
from pydantic import BaseModel, ValidationError

from server.bodies import BadBody, read_json
from server.context import AppContext
from server.query import Query

_B = TypeVar("_B", bound=BaseModel)
_Q = TypeVar("_Q", bound=Query)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request: its parameters are validated, its body is when it is asked for."""

    context: AppContext
    query: Query
    where: Mapping[str, int | str] = field(default_factory=dict)

    def number(self, name: str) -> int:
        """A parameter of the path that is a number."""
        value = self.where[name]
        assert isinstance(value, int), f"{name} is declared as a text"
        return value

    def text(self, name: str) -> str:
        """A parameter of the path that is a text."""
        return str(self.where[name])

    def asked(self, model: type[_Q]) -> _Q:
        """The query, as the model that the endpoint names."""
        assert isinstance(self.query, model), "the contract names another query"
        return self.query

    def body(self, model: type[_B]) -> _B:
        """The body of the request being answered, validated.

        Raises:
            BadBody: it is no JSON, or not what the model wants.
        """
        try:
            return model.model_validate(read_json(request))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            raise BadBody(f"{'.'.join(map(str, first['loc'])) or 'body'}: {first['msg']}") from None

    def optional_body(self, model: type[_B]) -> _B:
        """The body, or the model's defaults where nothing was sent (see `body`)."""
        return self.body(model) if request.content_length else model()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a view answers, a model or a dataclass; the contract names the type of each status."""

    answer: object
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


View = Callable[[Call], Reply | Response]


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One operation of the API.

    `answers` maps each status of success to the type of its JSON; an endpoint without any answers with `media` (or
    one of `other_media`), and its view with a whole response. One without a view is served elsewhere. Parameters of
    the path are numbers, except those in `texts`. `errors` are the statuses of failure that belong to this endpoint;
    those of the guard can come from each.
    """

    name: str
    method: Literal["GET", "POST", "PUT"]
    path: str
    summary: str
    view: View | None = None
    answers: dict[int, type[Any]] = field(default_factory=dict)
    media: str = "application/json"
    other_media: tuple[str, ...] = ()
    query: type[Query] = Query
    body: type[BaseModel] | None = None
    body_required: bool = False
    text_body: str = ""
    texts: tuple[str, ...] = ()
    errors: tuple[int, ...] = ()

    @property
    def parameters(self) -> list[str]:
        """The names of the path's parameters, in order."""
        return re.findall(r"\{(\w+)\}", self.path)

    @property
    def rule(self) -> str:
        """The path as Flask's router writes it."""
        return flask_rule(self.path, self.texts)


def flask_rule(path: str, texts: tuple[str, ...] = ()) -> str:
    """A path with `{names}` as Flask's router writes it; ids beyond SQLite's integers do not exist."""

    def converted(match: re.Match[str]) -> str:
        return f"<{match[1]}>" if match[1] in texts else f"<int(max={2**63 - 1}):{match[1]}>"

    return re.sub(r"\{(\w+)\}", converted, path)
