"""Makes excerpts of the forges' published API descriptions, which tests use to validate requests and answers.

    npm pack @octokit/openapi gitea-js forgejo-js
    .venv/bin/python scripts/forge_schemas.py octokit-openapi-*.tgz gitea-js-*.tgz forgejo-js-*.tgz

The excerpt of each package is one file in tests/support/forges/. GitHub's package contains its OpenAPI description. The
packages of Gitea and Forgejo contain types that were generated from their Swagger descriptions. Only operations that
`remote/forges/` uses are kept, with the types that they refer to, as JSON Schema without prose and examples. Generated
types contain neither the status of an answer nor the form of an error, so their excerpts do not either.
"""

from __future__ import annotations

import json
import re
import sys
import tarfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

PLACE = Path(__file__).resolve().parent.parent / "tests" / "support" / "forges"
PROSE = frozenset({
    "description", "example", "examples", "externalDocs", "summary", "tags", "title", "x-github", "x-octokit",
    "x-multi-segment", "default", "deprecated", "operationId",
})  # fmt: skip
AT = "/repos/{owner}/{repo}"
GITHUB = (
    f"GET {AT}", "GET /user", f"GET {AT}/issues", f"GET {AT}/issues/{{issue_number}}",
    f"GET {AT}/issues/{{issue_number}}/comments", f"POST {AT}/issues/{{issue_number}}/comments",
    f"PATCH {AT}/issues/comments/{{comment_id}}", f"GET {AT}/pulls", f"POST {AT}/pulls",
    f"GET {AT}/pulls/{{pull_number}}", f"GET {AT}/pulls/{{pull_number}}/comments",
    f"GET {AT}/pulls/{{pull_number}}/reviews", f"GET {AT}/commits/{{ref}}/check-runs",
    f"GET {AT}/commits/{{ref}}/status",
)  # fmt: skip
GITEA = (
    f"GET {AT}", "GET /user", f"GET {AT}/collaborators/{{collaborator}}/permission", f"GET {AT}/issues",
    f"GET {AT}/issues/{{index}}", f"GET {AT}/issues/{{index}}/comments", f"POST {AT}/issues/{{index}}/comments",
    f"PATCH {AT}/issues/comments/{{id}}", f"GET {AT}/pulls", f"POST {AT}/pulls", f"GET {AT}/pulls/{{index}}",
    f"GET {AT}/pulls/{{index}}/reviews", f"GET {AT}/pulls/{{index}}/reviews/{{id}}/comments",
    f"GET {AT}/commits/{{ref}}/status",
)  # fmt: skip
Excerpt = dict[str, Any]


# The functions below read an OpenAPI 3 description.


def of_openapi(text: str, wanted: tuple[str, ...]) -> Excerpt:
    """Return the wanted operations of an OpenAPI description."""
    document = json.loads(text)
    operations = {}
    for name in wanted:
        method, path = name.split(" ")
        operation = document["paths"][path][method.lower()]
        shared = document["paths"][path].get("parameters", [])
        parameters = [_resolve(document, each) for each in (*shared, *operation.get("parameters", []))]
        body = operation.get("requestBody", {})
        operations[name] = {
            "query": {each["name"]: _schema(each["schema"]) for each in parameters if each["in"] == "query"},
            "body": _content(document, body),
            "answers": {status: _content(document, each) for status, each in operation["responses"].items()},
        }
    return {"operations": operations, "components": _closure(operations, document["components"]["schemas"], _schema)}


def _content(document: Mapping[str, Any], body: Mapping[str, Any]) -> Any:
    """Return the schema of a request body or an answer; None if there is no schema."""
    content = _resolve(document, body).get("content", {})
    return _schema(content["application/json"]["schema"]) if "application/json" in content else None


def _resolve(document: Mapping[str, Any], element: Mapping[str, Any]) -> Any:
    if "$ref" not in element:
        return element
    target: Any = document
    for part in element["$ref"].removeprefix("#/").split("/"):
        target = target[part]
    return target


def _schema(schema: Any) -> Any:
    """Convert a schema of OpenAPI 3.0 to JSON Schema, without prose."""
    if not isinstance(schema, Mapping):
        return [_schema(each) for each in schema] if isinstance(schema, list) else schema
    if "$ref" in schema:
        return {"$ref": schema["$ref"].replace("#/components/schemas/", "#/components/")}
    converted = {name: _schema(part) for name, part in schema.items() if name not in PROSE | {"nullable", "properties"}}
    if "properties" in schema:
        converted["properties"] = {name: _schema(part) for name, part in schema["properties"].items()}
    if not schema.get("nullable"):
        return converted
    if isinstance(converted.get("type"), str) and not converted.keys() & {"allOf", "anyOf", "oneOf"}:
        if "enum" in converted and None not in converted["enum"]:  # in OpenAPI, `nullable` also adds null to an enum
            converted["enum"] = [*converted["enum"], None]
        return {**converted, "type": [converted["type"], "null"]}
    return {"anyOf": [converted, {"type": "null"}]}


# The functions below read types that were generated from a Swagger description.


def of_types(text: str, wanted: tuple[str, ...]) -> Excerpt:
    """Return the wanted operations of a file of TypeScript declarations."""
    operations = {}
    for name in wanted:
        method, path = name.split(" ")
        start = text.index(f"@request {method}:{path}\n")
        call = text[text.index("*/", start) + 2 : text.index("Promise<HttpResponse<", start)]
        answer = re.match(r"Promise<HttpResponse<([\w\[\]]+),", text[text.index("Promise<HttpResponse<", start) :])
        body = re.search(r"\bbody\??: (\w+),", call)
        assert answer
        operations[name] = {
            "query": dict(_fields(call.partition("query?: {")[2].rpartition("}")[0])),
            "body": _type(body[1], "") if body else None,
            "answers": {"2XX": _type(answer[1], "")},
        }
    return {"operations": operations, "components": _closure(operations, _Interfaces(text), lambda schema: schema)}


class _Interfaces(dict[str, Any]):
    """The types by name, parsed when they are first used."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __missing__(self, name: str) -> Any:
        if alias := re.search(rf"^type {name} = (.*);$", self._text, re.MULTILINE):
            return _type(alias[1], "")
        if enum := re.search(rf"^declare enum {name} {{\n(.*?)^}}", self._text, re.MULTILINE | re.DOTALL):
            return {"enum": re.findall(r'= "(.*?)"', enum[1])}
        match = re.search(rf"^interface {name} {{\n(.*?)^}}", self._text, re.MULTILINE | re.DOTALL)
        assert match, name
        required = re.findall(r"^ {4}(\w+): ", match[1], re.MULTILINE)
        schema: dict[str, Any] = {"type": "object", "properties": dict(_fields(match[1]))}
        return {**schema, "required": required} if required else schema


_FIELD = re.compile(
    r"(?P<said>/\*\*(?:(?!\*/).)*\*/)?\s*^\s*\"?(?P<name>[\w-]+)\"?\??: (?P<type>[^\n]*);$", re.MULTILINE | re.DOTALL
)


def _fields(text: str) -> Iterator[tuple[str, Any]]:
    for match in _FIELD.finditer(text):
        form = re.search(r"@format (\S+)", match["said"] or "")
        yield match["name"], _type(match["type"], form[1] if form else "")


def _type(text: str, form: str) -> Any:
    text = text.strip()
    if text.endswith("[]"):
        return {"type": "array", "items": _type(text[:-2].strip("()"), form)}
    if text.startswith(("'", '"')):
        return {"enum": [each.strip().strip("'\"") for each in text.split("|")]}
    if text.startswith("Record<string, "):
        return {"type": "object", "additionalProperties": _type(text[len("Record<string, ") : -1], form)}
    if text == "number":
        return {"type": "integer"} if "int" in form else {"type": "number"}
    if text == "string":
        return {"type": "string", **({"format": form} if form else {})}
    return {"boolean": {"type": "boolean"}, "object": {"type": "object"}, "any": {}}.get(
        text, {"$ref": f"#/components/{text}"}
    )


# The functions below serve both kinds of descriptions.


def _closure(operations: Any, components: Mapping[str, Any], read: Callable[[Any], Any]) -> dict[str, Any]:
    """Return the components that operations refer to, directly or indirectly."""
    closure: dict[str, Any] = {}
    left = set(_name(operations))
    while left:
        name = left.pop()
        closure[name] = read(components[name])
        left |= set(_name(closure[name])) - closure.keys()
    return dict(sorted(closure.items()))


def _name(schema: Any) -> Iterator[str]:
    if isinstance(schema, Mapping):
        if isinstance(schema.get("$ref"), str):
            yield schema["$ref"].removeprefix("#/components/")
        for part in schema.values():
            yield from _name(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from _name(part)


SOURCES: Mapping[str, tuple[str, str, Callable[[str, tuple[str, ...]], Excerpt], tuple[str, ...]]] = {
    "@octokit/openapi": ("github", "generated/api.github.com.json", of_openapi, GITHUB),
    "gitea-js": ("gitea", "dist/index.d.ts", of_types, GITEA),
    "forgejo-js": ("forgejo", "dist/index.d.ts", of_types, GITEA),
}
"""For each package: the name of its excerpt, the file to read, the reader, and the operations to keep."""


def write(excerpt: Excerpt) -> str:
    """Encode an excerpt as JSON, with a line for each operation and each component."""
    parts = []
    for name, part in excerpt.items():
        if isinstance(part, dict):
            lines = ",\n".join(f"  {json.dumps(key)}: {json.dumps(each)}" for key, each in part.items())
            parts.append(f' "{name}": {{\n{lines}\n }}')
        else:
            parts.append(f' "{name}": {json.dumps(part)}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def main(packages: list[str]) -> None:
    """Write the excerpt of each package."""
    for package in packages:
        with tarfile.open(package) as archive:

            def text(name: str, archive: tarfile.TarFile = archive) -> str:
                member = archive.extractfile(f"package/{name}")
                assert member
                return member.read().decode()

            about = json.loads(text("package.json"))
            name, file, read, wanted = SOURCES[about["name"]]
            origin = f"{about['name']} {about['version']} (npm), {file}"
            head = {
                "origin": origin,
                "licence": " ".join(text("LICENSE").split()),
                "made_by": "scripts/forge_schemas.py",
            }
            (PLACE / f"{name}.json").write_text(write({**head, **read(text(file), wanted)}), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
