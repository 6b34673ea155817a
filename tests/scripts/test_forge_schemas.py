"""Excerpts of published API descriptions contain the requested operations, the types that these refer to, and nothing
else.
"""

from __future__ import annotations

import json
from typing import Any

from scripts.forge_schemas import of_openapi, of_types, write

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
TYPES = """
/** A thing. */
interface Thing {
    /** @format int64 */
    id: number;
    /**
     * When; not `never: null;`
     * @format date-time
     */
    made_at?: string;
    parts?: Part[];
    state?: StateType;
    sizes?: Record<string, number>;
}
interface Part {
    "full-name"?: string;
    is_right?: boolean;
}
interface ThingOption {
    name: string;
}
type StateType = string;
        /**
         * @request GET:/things/{id}
         */
        thingGet: (id: number, query?: {
            /** which */
            state?: 'open' | 'all';
            /** @format int64 */
            page?: number;
        }, params?: RequestParams) => Promise<HttpResponse<Thing[], APIError>>;
        /**
         * @request POST:/things
         */
        thingPost: (body: ThingOption, params?: RequestParams) => Promise<HttpResponse<Thing, any>>;
"""


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


def test_an_excerpt_of_generated_types_has_the_same_form() -> None:
    excerpt = of_types(TYPES, ("GET /things/{id}", "POST /things"))
    assert excerpt["operations"]["GET /things/{id}"] == {
        "query": {"state": {"enum": ["open", "all"]}, "page": {"type": "integer"}},
        "body": None,
        "answers": {"2XX": {"type": "array", "items": {"$ref": "#/components/Thing"}}},
    }
    assert excerpt["operations"]["POST /things"]["body"] == {"$ref": "#/components/ThingOption"}
    assert excerpt["components"]["Thing"] == {
        "type": "object",
        "required": ["id"],
        "properties": {
            "id": {"type": "integer"},
            "made_at": {"type": "string", "format": "date-time"},
            "parts": {"type": "array", "items": {"$ref": "#/components/Part"}},
            "state": {"$ref": "#/components/StateType"},
            "sizes": {"type": "object", "additionalProperties": {"type": "number"}},
        },
    }
    assert list(excerpt["components"]["Part"]["properties"]) == ["full-name", "is_right"]
