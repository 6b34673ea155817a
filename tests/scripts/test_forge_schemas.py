"""Excerpts of published API descriptions contain the requested operations, the types that these refer to, and nothing
else.
"""

from __future__ import annotations

import json
from typing import Any

from scripts.forge_schemas import of_openapi, write

OPENAPI: dict[str, Any] = {
    "paths": {"/things/{id}": {"get": {
        "parameters": [
            {"in": "query", "name": "state", "schema": {"type": "string", "enum": ["open"], "default": "open"}},
            {"$ref": "#/components/parameters/page"}, {"in": "path", "name": "id", "schema": {"type": "integer"}},
        ],
        "responses": {
            "200": {"description": "It", "content": {"application/json": {"schema": {
                "$ref": "#/components/schemas/thing"}}}},
            "304": {"description": "As before"},
        },
    }}},
    "components": {
        "parameters": {"page": {"in": "query", "name": "page", "schema": {"type": "integer", "description": "Which"}}},
        "schemas": {
            "thing": {
                "type": "object", "title": "Thing", "required": ["id"],
                "properties": {
                    "id": {"type": "integer", "example": 7}, "description": {"type": "string", "nullable": True},
                    "end": {"type": "string", "nullable": True, "enum": ["good", "bad"]},
                    "part": {"allOf": [{"$ref": "#/components/schemas/part"}], "nullable": True},
                },
            },
            "part": {"type": "object", "properties": {"name": {"type": "string"}}},
            "unused": {"type": "object"},
        },
    },
}  # fmt: skip


def test_an_excerpt_of_an_openapi_description_has_what_is_asked_for_and_what_that_refers_to() -> None:
    excerpt = of_openapi(json.dumps(OPENAPI), ("GET /things/{id}",))
    assert json.loads(write(excerpt)) == excerpt
    assert excerpt["operations"]["GET /things/{id}"] == {
        "query": {"state": {"type": "string", "enum": ["open"]}, "page": {"type": "integer"}},
        "body": None,
        "answers": {"200": {"$ref": "#/components/thing"}, "304": None},
    }
    assert sorted(excerpt["components"]) == ["part", "thing"]
    assert excerpt["components"]["thing"]["properties"] == {
        "id": {"type": "integer"},
        "description": {"type": ["string", "null"]},
        "end": {"type": ["string", "null"], "enum": ["good", "bad", None]},
        "part": {"anyOf": [{"allOf": [{"$ref": "#/components/part"}]}, {"type": "null"}]},
    }
