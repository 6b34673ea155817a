"""Generates the OpenAPI 3.1 document from the table of endpoints and the models of the answers."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, Literal

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from nightshift.server.contract import ENDPOINTS
from nightshift.server.endpoint import Endpoint
from nightshift.server.schemas import Failed, adapter

Json = dict[str, Any]
Mode = Literal["validation", "serialization"]

# Schemas of responses that are not the JSON of a model. For a stream, this is the schema of one event.
_SHAPES: Json = {
    "application/json": {"type": "object"},
    "text/event-stream": {
        "type": "object",
        "properties": {name: {"type": "string"} for name in ("id", "event", "data")},
    },
}


class _Schemas(GenerateJsonSchema):
    """Generates schemas of dataclasses as the API sends them.

    All fields are required, including those with a default, and no other fields are allowed.
    """

    def dataclass_schema(self, schema: Any) -> Json:
        """Return the schema of a dataclass, which allows no further fields."""
        return {**super().dataclass_schema(schema), "additionalProperties": False}

    def field_is_required(self, field: Any, total: bool) -> bool:
        """Check whether the schema requires the field. Every field of a dataclass that is sent is required."""
        sent = self.mode == "serialization" and field["type"] == "dataclass-field"
        return sent or super().field_is_required(field, total)


def document(version: str) -> Json:
    """Return the whole document. Everything except `version` comes from the table of endpoints."""
    refs, schemas = _schemas()
    paths: Json = {}
    for endpoint in ENDPOINTS:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint, refs)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Nightshift", "version": version, "description": "The API of one Nightshift daemon."},
        "servers": [{"url": "/"}],
        "security": [{}, {"token": []}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "API_TOKEN. If it is set, only `/healthz` works without it.",
                }
            },
        },
    }


def _schemas() -> tuple[dict[type[Any], Json], Json]:
    """Return a reference to the schema of each model, and the schemas by name."""
    answers = {model for endpoint in ENDPOINTS for model in endpoint.answers.values()} | {Failed}
    bodies = {endpoint.body for endpoint in ENDPOINTS if endpoint.body}
    wanted: list[tuple[type[Any], Mode]] = [(model, "serialization") for model in answers]
    wanted += [(model, "validation") for model in bodies]
    wanted.sort(key=lambda pair: pair[0].__name__)
    refs, schemas = TypeAdapter.json_schemas(
        [(number, mode, adapter(model)) for number, (model, mode) in enumerate(wanted)],
        ref_template="#/components/schemas/{model}",
        schema_generator=_Schemas,
    )
    return {model: refs[number, mode] for number, (model, mode) in enumerate(wanted)}, _with_doubles(schemas["$defs"])


def _with_doubles(schema: Any) -> Any:
    """Return the schema without the key `uniqueItems`, because pydantic accepts duplicates in the list for a set."""
    if isinstance(schema, list):
        return [_with_doubles(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {name: _with_doubles(each) for name, each in schema.items() if name != "uniqueItems"}


def _operation(endpoint: Endpoint, refs: dict[type[Any], Json]) -> Json:
    operation: Json = {
        "operationId": endpoint.name,
        "summary": endpoint.summary,
        "parameters": _parameters(endpoint),
        "responses": _responses(endpoint, refs),
    }
    if endpoint.body:
        schema = refs[endpoint.body]
        if not endpoint.body_required:
            schema = {"anyOf": [schema, {"type": "null"}]}
        content: Json = {"application/json": {"schema": schema}}
        if endpoint.text_body:
            content["text/plain"] = {"schema": {"type": "string", "description": endpoint.text_body}}
        operation["requestBody"] = {"required": endpoint.body_required, "content": content}
    return operation


def _parameters(endpoint: Endpoint) -> list[Json]:
    parameters: list[Json] = [
        {"name": name, "in": "path", "required": True, "schema": _path_schema(name in endpoint.texts)}
        for name in endpoint.parameters
    ]
    schema = endpoint.query.model_json_schema()
    named = schema.get("$defs", {})
    for name, each in schema.get("properties", {}).items():
        description = each.pop("description", "")
        parameters.append({"name": name, "in": "query", "description": description, "schema": _resolve(each, named)})
    return parameters


def _resolve(part: Any, named: Json) -> Any:
    """Return a schema with its references inlined, because two queries may use one name for different schemas.

    A parameter without a value counts as not given. The keys `minLength` and `format` are therefore dropped, and an
    enum also permits an empty string.
    """
    if isinstance(part, list):
        return [_resolve(each, named) for each in part]
    if not isinstance(part, dict):
        return part
    meant = named[part["$ref"].rsplit("/", 1)[1]] if "$ref" in part else {}
    rest = {key: _resolve(value, named) for key, value in part.items() if key not in {"$ref", "minLength", "format"}}
    if "enum" in rest:
        rest["enum"] = [*rest["enum"], ""]
    return {**_resolve(meant, named), **rest} if meant else rest


def _path_schema(text: bool) -> Json:
    return {"type": "string", "minLength": 1} if text else {"type": "integer", "minimum": 0}


def _responses(endpoint: Endpoint, refs: dict[type[Any], Json]) -> Json:
    responses: Json = {
        str(status): _response(status, endpoint.media, refs[model]) for status, model in endpoint.answers.items()
    }
    if not endpoint.answers:
        content = {endpoint.media: {"schema": _SHAPES.get(endpoint.media, {"type": "string"})}}
        responses["200"] = {"description": HTTPStatus.OK.phrase, "content": content}
    responses["default"] = {
        "description": "Refused (4xx), or failed (5xx)",
        "content": {"application/json": {"schema": refs[Failed]}},
    }
    return responses


def _response(status: int, media: str, schema: Json) -> Json:
    return {"description": HTTPStatus(status).phrase, "content": {media: {"schema": schema}}}
