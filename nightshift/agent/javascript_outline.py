"""The signatures of a JavaScript or TypeScript file, shown to a model, and the local files that the file imports."""

from __future__ import annotations

import posixpath
from collections.abc import Container, Iterator
from typing import TYPE_CHECKING

from nightshift.core.code.javascript import SOURCES, node_text, parse, specifiers

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_CHARS = 400_000
MAX_LINE = 160
_DECLARED = frozenset({"lexical_declaration", "variable_declaration"})
_FUNCTIONS = frozenset({"arrow_function", "function_expression"})
_VALUES = frozenset({
    "function_declaration", "generator_function_declaration", "class_declaration", "variable_declarator",
    "export_specifier",
})  # fmt: skip


def signatures(path: str, text: str) -> list[str]:
    """Return a file's outline: functions, classes with their methods, and exports, each without its body."""
    root = parse(path, text) if len(text) <= MAX_CHARS else None
    return [
        " ".join(line.split())[:MAX_LINE] for node in (root.named_children if root else ()) for line in describe(node)
    ]


def describe(node: Node) -> Iterator[str]:
    """Yield the outline lines of a top-level statement. A statement that defines nothing has no lines."""
    word = ""
    if node.type == "export_statement":
        inner = node.child_by_field_name("declaration")
        if inner is None:
            yield node_text(node)
            return
        word = "export default " if "default" in {child.type for child in node.children} else "export "
        node = inner
    if node.type in {"function_declaration", "generator_function_declaration"}:
        yield word + _head(node)
    elif node.type == "class_declaration":
        yield word + _head(node)
        yield from (f". {_head(method)}" for method in _methods(node))
    elif node.type in _DECLARED:
        yield from (
            word + node_text(node.child_by_field_name("kind")) + " " + _value(declarator)
            for declarator in _declarators(node)
        )
    elif node.type in {"interface_declaration", "type_alias_declaration", "enum_declaration"}:
        yield word + node_text(node)
    elif node.type == "expression_statement" and "exports" in node_text(node)[:40]:
        yield (
            node_text(node).split("{")[0]
            if "=>" in node_text(node) or "function" in node_text(node)
            else node_text(node)
        )


def list_exports(path: str, text: str) -> list[str]:
    """List the names of the values that a file exports, in order and without the default export."""
    names = dict[str, None]()
    for statement in parse(path, text).named_children:
        if statement.type != "export_statement" or {child.type for child in statement.children} & {"default", "type"}:
            continue
        for node in (grandchild for child in statement.named_children for grandchild in (child, *child.named_children)):
            if node.type in _VALUES:
                names[node_text(node.child_by_field_name("alias") or node.child_by_field_name("name"))] = None
    return [name for name in names if name != "default"]


def _head(node: Node) -> str:
    body = node.child_by_field_name("body")
    end = body.start_byte - node.start_byte if body else None
    return (node.text or b"")[:end].decode("utf-8", "replace").strip()


def _methods(node: Node) -> Iterator[Node]:
    body = node.child_by_field_name("body")
    return (child for child in (body.named_children if body else ()) if child.type == "method_definition")


def _declarators(node: Node) -> Iterator[Node]:
    return (child for child in node.named_children if child.type == "variable_declarator")


def _value(node: Node) -> str:
    value = node.child_by_field_name("value")
    name = node_text(node.child_by_field_name("name"))
    return f"{name} = {_head(value)}" if value and value.type in _FUNCTIONS else f"{name} = …"


def local_files(path: str, text: str, files: Container[str]) -> list[str]:
    """List the files among `files` that a text at `path` imports."""
    matches = (
        next((candidate for candidate in _places(path, name) if candidate in files), None)
        for name in _relative(path, text)
    )
    return list(dict.fromkeys(match for match in matches if match))


def list_wanted_files(path: str, text: str, files: Container[str]) -> list[str]:
    """List the files that a test at `path` imports, also missing ones: `add.mjs` for the import `'../add.mjs'`."""
    return list(dict.fromkeys(_want(path, name, files) for name in _relative(path, text)))


def _relative(path: str, text: str) -> list[str]:
    return [name for name in specifiers(path, text) if name.startswith((".", "/"))] if len(text) <= MAX_CHARS else []


def _want(path: str, name: str, files: Container[str]) -> str:
    places = list(_places(path, name))
    return next(
        (candidate for candidate in places if candidate in files),
        places[0] if places[0].endswith(SOURCES) else places[1],
    )


def _places(path: str, name: str) -> Iterator[str]:
    stem = posixpath.normpath(posixpath.join(posixpath.dirname(path), name))
    yield stem
    yield from (stem + ending for ending in SOURCES)
    yield from (f"{stem}/index{ending}" for ending in SOURCES)
