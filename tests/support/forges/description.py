"""Validates every request and response of the tests against a forge's published description of its API.

The excerpts from the descriptions are beside this module. `scripts/forge_schemas.py` writes them, except for GitLab's,
which is in `gitlab_schemas.py`. An object may have only the fields in the description, so a wrong name fails in
requests and in responses. Fields that the description requires but a test does not set are filled in, so responses are
as large as the real ones.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

PLACE = Path(__file__).resolve().parent
MISSING = object()
FORMATS = {"date-time": "2026-11-02T08:00:00Z", "uri": "http://x/y", "email": "x@y", "date": "2026-11-02"}


@dataclass(frozen=True)
class Operation:
    """An HTTP method on a path, with its query parameters, its body, and its responses keyed by status (or `2XX`)."""

    name: str
    pattern: re.Pattern[str]
    query: Mapping[str, Any]
    body: Any
    answers: Mapping[str, Any]


@dataclass
class Description:
    """The published description of a forge's API.

    Args:
        excerpt: operations and components, as `scripts/forge_schemas.py` writes them.
        nulls: fields (such as `Issue.labels`) that may be null on the wire although the description does not say so.
        unlisted: pairs of an operation and a status that the description does not list. If the responses are listed as
            `2XX` only, any status of 400 or more is accepted anyway.
    """

    excerpt: Mapping[str, Any]
    nulls: Iterable[str] = ()
    unlisted: frozenset[tuple[str, int]] = frozenset()
    operations: list[Operation] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._validators: dict[int, Draft202012Validator] = {}
        self._components = {name: close(each) for name, each in self.excerpt["components"].items()}
        for each in self.nulls:
            name, _, part = each.partition(".")
            properties = self._components[name]["properties"]
            properties[part] = {"anyOf": [properties[part], {"type": "null"}]}
        for name, each in self.excerpt["operations"].items():
            pattern = re.compile(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(name)))
            answers = {status: close(schema) for status, schema in each["answers"].items()}
            self.operations.append(Operation(name, pattern, each["query"], close(each["body"]), answers))

    def operation(self, method: str, path: str) -> Operation:
        """Return the operation that a request calls. Fail if the description does not have such an operation."""
        matches = [each for each in self.operations if each.pattern.fullmatch(f"{method} {path}")]
        assert matches, f"the description has no {method} {path}"
        return min(matches, key=lambda each: each.name.count("{"))

    def check_request(self, operation: Operation, query: Mapping[str, str], body: object) -> None:
        """Validate a request against the description: the names and values of its query, and its body."""
        for name, value in query.items():
            assert name in operation.query, f"{operation.name} knows no parameter {name}"
            self._check(operation.query[name], _read(operation.query[name], value))
        assert (body is None) == (operation.body is None), f"{operation.name}: a body where none is, or none"
        if operation.body is not None:
            self._check(operation.body, body)

    def answer(self, operation: Operation, status: int, body: Any) -> Any:
        """Fill in the fields of a response that the description requires, validate the response, and return it."""
        schema = operation.answers.get(str(status), operation.answers.get(f"{status // 100}XX", MISSING))
        if schema is MISSING:
            typed = "2XX" in operation.answers
            assert status >= 400, f"{operation.name} does not answer {status}"
            assert typed or (operation.name, status) in self.unlisted, f"{operation.name} does not answer {status}"
            return body
        if schema is None:
            return body
        filled_body = self.filled(schema, body)
        self._check(schema, filled_body)
        return filled_body

    def filled(self, schema: Any, value: Any) -> Any:
        """Return a value with its missing required fields filled in."""
        schema = self._resolved(schema)
        choices = schema.get("oneOf", schema.get("anyOf"))
        if choices:
            tried = (self.filled(each, value) for each in choices)
            return next((each for each in tried if self._is_valid(schema, each)), value)
        if isinstance(value, list):
            return [self.filled(schema.get("items", {}), each) for each in value]
        if not isinstance(value, Mapping):
            return value
        properties = schema.get("properties", {})
        members = {name: self.filled(properties.get(name, {}), each) for name, each in value.items()}
        return members | {
            name: self._example(properties[name]) for name in schema.get("required", ()) if name not in members
        }

    def _example(self, schema: Any) -> Any:
        schema = self._resolved(schema)
        kinds = schema.get("type", "")
        choices = schema.get("oneOf", schema.get("anyOf", ()))
        if "null" in kinds or None in schema.get("enum", ()) or {"type": "null"} in choices or schema == {}:
            return None
        if choices:
            return self._example(choices[0])
        if "enum" in schema:
            return schema["enum"][0]
        if kinds == "object":
            return {name: self._example(schema["properties"][name]) for name in schema.get("required", ())}
        if kinds == "string":
            return FORMATS.get(schema.get("format", ""), "text")
        return {"integer": 1, "number": 1, "boolean": False, "array": []}[kinds]

    def _resolved(self, schema: Any) -> Any:
        while "$ref" in schema:
            schema = self._components[schema["$ref"].removeprefix("#/components/")]
        return schema

    def _validator(self, schema: Any) -> Draft202012Validator:
        validator = self._validators.get(id(schema))  # Ids stay valid: the schemas live as long as the description
        if validator is None:
            validator = self._validators[id(schema)] = Draft202012Validator({"components": self._components, **schema})
        return validator

    def _is_valid(self, schema: Any, value: Any) -> bool:
        return bool(self._validator(schema).is_valid(value))

    def _check(self, schema: Any, value: Any) -> None:
        self._validator(schema).validate(value)


def _read(schema: Any, value: str) -> Any:
    """Convert a query parameter to the type that its schema names."""
    kinds = schema.get("type", "string")
    if kinds in {"integer", "number"}:
        return int(value)
    return value.split(",") if kinds == "array" else value


def close(schema: Any) -> Any:
    """Return a schema whose objects allow no unlisted fields."""
    if isinstance(schema, list):
        return [close(each) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    closed = {name: close(each) for name, each in schema.items()}
    if isinstance(closed.get("properties"), dict) and "type" in closed:
        closed["properties"] = {name: close(each) for name, each in schema["properties"].items()}
        closed.setdefault("additionalProperties", False)
    return closed


@cache
def publish(name: str) -> Mapping[str, Any]:
    """Return the excerpt with this name from the files beside this module."""
    excerpt: Mapping[str, Any] = json.loads((PLACE / f"{name}.json").read_text(encoding="utf-8"))
    return excerpt
