"""Excerpts of the forges' published descriptions of their APIs, against which the tests hold requests and answers.

    npm pack @octokit/openapi gitea-js forgejo-js
    .venv/bin/python scripts/forge_schemas.py octokit-openapi-*.tgz gitea-js-*.tgz forgejo-js-*.tgz

Each package gives one file in tests/support/forges/: GitHub's is its OpenAPI description itself, the others are the
types that were generated from the Swagger description of Gitea and of Forgejo. Only operations of `remote/forges/`
are kept, with what they refer to, without prose and examples, as JSON Schema. Generated types say neither the status of
an answer nor the form of an error, so those are not in these excerpts.
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


# --- OpenAPI 3


def of_openapi(text: str, wanted: tuple[str, ...]) -> Excerpt:
    """The operations of an OpenAPI description."""
    whole = json.loads(text)
    operations = {}
    for name in wanted:
        method, path = name.split(" ")
        found = whole["paths"][path][method.lower()]
        shared = whole["paths"][path].get("parameters", [])
        parameters = [_resolve(whole, each) for each in (*shared, *found.get("parameters", []))]
        body = found.get("requestBody", {})
        operations[name] = {
            "query": {each["name"]: _schema(each["schema"]) for each in parameters if each["in"] == "query"},
            "body": _content(whole, body),
            "answers": {status: _content(whole, each) for status, each in found["responses"].items()},
        }
    return {"operations": operations, "components": _closure(operations, whole["components"]["schemas"], _schema)}


def _content(whole: Mapping[str, Any], said: Mapping[str, Any]) -> Any:
    """The schema of a body or an answer; None where it has none."""
    content = _resolve(whole, said).get("content", {})
    return _schema(content["application/json"]["schema"]) if "application/json" in content else None


def _resolve(whole: Mapping[str, Any], said: Mapping[str, Any]) -> Any:
    if "$ref" not in said:
        return said
    found: Any = whole
    for part in said["$ref"].removeprefix("#/").split("/"):
        found = found[part]
    return found


def _schema(said: Any) -> Any:
    """A schema of OpenAPI 3.0 as JSON Schema says it, without prose."""
    if not isinstance(said, Mapping):
        return [_schema(each) for each in said] if isinstance(said, list) else said
    if "$ref" in said:
        return {"$ref": said["$ref"].replace("#/components/schemas/", "#/components/")}
    made = {name: _schema(part) for name, part in said.items() if name not in PROSE | {"nullable", "properties"}}
    if "properties" in said:
        made["properties"] = {name: _schema(part) for name, part in said["properties"].items()}
    if not said.get("nullable"):
        return made
    if isinstance(made.get("type"), str) and not made.keys() & {"allOf", "anyOf", "oneOf"}:
        if "enum" in made and None not in made["enum"]:  # the description counts on `nullable` alone
            made["enum"] = [*made["enum"], None]
        return {**made, "type": [made["type"], "null"]}
    return {"anyOf": [made, {"type": "null"}]}


# --- types that were generated from Swagger


def of_types(text: str, wanted: tuple[str, ...]) -> Excerpt:
    """The operations of a file of TypeScript declarations."""
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
    return {"operations": operations, "components": _closure(operations, _Interfaces(text), lambda said: said)}


class _Interfaces(dict[str, Any]):
    """The types by their names, read when they are asked for."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __missing__(self, name: str) -> Any:
        if alias := re.search(rf"^type {name} = (.*);$", self._text, re.MULTILINE):
            return _type(alias[1], "")
        if enum := re.search(rf"^declare enum {name} {{\n(.*?)^}}", self._text, re.MULTILINE | re.DOTALL):
            return {"enum": re.findall(r'= "(.*?)"', enum[1])}
        found = re.search(rf"^interface {name} {{\n(.*?)^}}", self._text, re.MULTILINE | re.DOTALL)
        assert found, name
        required = re.findall(r"^ {4}(\w+): ", found[1], re.MULTILINE)
        made: dict[str, Any] = {"type": "object", "properties": dict(_fields(found[1]))}
        return {**made, "required": required} if required else made


_FIELD = re.compile(
    r"(?P<said>/\*\*(?:(?!\*/).)*\*/)?\s*^\s*\"?(?P<name>[\w-]+)\"?\??: (?P<type>[^\n]*);$", re.MULTILINE | re.DOTALL
)


def _fields(text: str) -> Iterator[tuple[str, Any]]:
    for found in _FIELD.finditer(text):
        form = re.search(r"@format (\S+)", found["said"] or "")
        yield found["name"], _type(found["type"], form[1] if form else "")


def _type(said: str, form: str) -> Any:
    said = said.strip()
    if said.endswith("[]"):
        return {"type": "array", "items": _type(said[:-2].strip("()"), form)}
    if said.startswith(("'", '"')):
        return {"enum": [each.strip().strip("'\"") for each in said.split("|")]}
    if said.startswith("Record<string, "):
        return {"type": "object", "additionalProperties": _type(said[len("Record<string, ") : -1], form)}
    if said == "number":
        return {"type": "integer"} if "int" in form else {"type": "number"}
    if said == "string":
        return {"type": "string", **({"format": form} if form else {})}
    return {"boolean": {"type": "boolean"}, "object": {"type": "object"}, "any": {}}.get(
        said, {"$ref": f"#/components/{said}"}
    )


# --- both


def _closure(operations: Any, known: Mapping[str, Any], read: Callable[[Any], Any]) -> dict[str, Any]:
    """The components that operations refer to, and those that these refer to."""
    found: dict[str, Any] = {}
    left = set(_name(operations))
    while left:
        name = left.pop()
        found[name] = read(known[name])
        left |= set(_name(found[name])) - found.keys()
    return dict(sorted(found.items()))


def _name(said: Any) -> Iterator[str]:
    if isinstance(said, Mapping):
        if isinstance(said.get("$ref"), str):
            yield said["$ref"].removeprefix("#/components/")
        for part in said.values():
            yield from _name(part)
    elif isinstance(said, list):
        for part in said:
            yield from _name(part)


SOURCES: Mapping[str, tuple[str, str, Callable[[str, tuple[str, ...]], Excerpt], tuple[str, ...]]] = {
    "@octokit/openapi": ("github", "generated/api.github.com.json", of_openapi, GITHUB),
    "gitea-js": ("gitea", "dist/index.d.ts", of_types, GITEA),
    "forgejo-js": ("forgejo", "dist/index.d.ts", of_types, GITEA),
}
"""Each package with the name of its excerpt, the file that is read, how, and the operations that are kept."""


def write(excerpt: Excerpt) -> str:
    """JSON with a line for each operation and each component."""
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
