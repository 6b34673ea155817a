"""What a JavaScript or TypeScript file offers and needs: signatures for a model, its imports, idle tests."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Container, Iterator
from typing import TYPE_CHECKING

from nightshift.core.code.javascript import SOURCES, arguments, literal, node_text, parse, specifiers, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_MAX_CHARS = 400_000
_MAX_LINE = 160
_DECLARED = frozenset({"lexical_declaration", "variable_declaration"})
_FUNCTIONS = frozenset({"arrow_function", "function_expression"})
_MOST_ROUTES = 30
_ROUTE = re.compile(r"""\b\w+\.(?:get|post|put|patch|delete|all|use)\(\s*(["'`])/[^"'`\n]*\1""")
_LETS_OFF = frozenset({"skip", "todo"})
_CALL = re.compile(
    r"(?:(?:test|it|describe|suite)(?:\.(?P<how>skip|todo|only))?|t\.test|(?P<own>t)\.(?P<said>skip|todo))"
)
_TESTS = frozenset({"test", "it", "test.only", "it.only"})


def signatures(path: str, text: str) -> list[str]:
    """A file's face: functions, classes with their methods, and what it exports, each without its body."""
    root = parse(path, text) if len(text) <= _MAX_CHARS else None
    return [
        " ".join(line.split())[:_MAX_LINE] for node in (root.named_children if root else ()) for line in _face(node)
    ]


def offered(path: str, text: str, lines: frozenset[int], short: int) -> list[str]:
    """A file's face for whoever tests it: comments above what was changed, and the routes that calls declare.

    Args:
        path: its ending says which of the two languages it is.
        text: the file.
        lines: those that the change wrote, counting from 1.
        short: of a file with more definitions than this only those are shown that are changed or named in these.
    """
    found = parse(path, text).named_children if len(text) <= _MAX_CHARS else []
    told = [node for node in found if any(_face(node))]
    touched = [node for node in told if not lines.isdisjoint(range(node.start_point[0] + 1, node.end_point[0] + 2))]
    used = {node_text(one) for node in touched for one in walk(node) if one.type == "identifier"}
    kept = [node for node in told if len(told) <= short or node in touched or not used.isdisjoint(_defined(node))]
    shown = list[str]()
    for node in kept:
        above = node.prev_named_sibling
        if node in touched and above is not None and above.type == "comment":
            shown += node_text(above).split("\n")
        shown += [" ".join(line.split())[:_MAX_LINE] for line in _face(node)]
    routes = [call[0] for call in _ROUTE.finditer(text)][:_MOST_ROUTES]
    more = len(told) - len(kept)
    return [
        *shown,
        *([f"routes: {', '.join(dict.fromkeys(routes))}"] if routes else []),
        *([f"… and {more} other definitions"] if more else []),
    ]


def _defined(node: Node) -> set[str]:
    """The names that a statement at the top of a file defines."""
    names = (one.child_by_field_name("name") for one in walk(node) if one.type.endswith(("_declaration", "declarator")))
    return {node_text(name) for name in names if name is not None}


def _face(node: Node) -> Iterator[str]:
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
            word + node_text(node.child_by_field_name("kind")) + " " + _value(one) for one in _declarators(node)
        )
    elif node.type in {"interface_declaration", "type_alias_declaration", "enum_declaration"}:
        yield word + node_text(node)
    elif node.type == "expression_statement" and "exports" in node_text(node)[:40]:
        yield (
            node_text(node).split("{")[0]
            if "=>" in node_text(node) or "function" in node_text(node)
            else node_text(node)
        )


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
    """The files among `files` that a text at `path` imports."""
    found = (next((place for place in _places(path, name) if place in files), None) for name in _relative(path, text))
    return list(dict.fromkeys(place for place in found if place))


def wanted_files(path: str, text: str, files: Container[str]) -> list[str]:
    """The files that a test at `path` imports and that may be missing: `'../add.mjs'` wants `add.mjs`."""
    return list(dict.fromkeys(_want(path, name, files) for name in _relative(path, text)))


def _relative(path: str, text: str) -> list[str]:
    return [name for name in specifiers(path, text) if name.startswith((".", "/"))] if len(text) <= _MAX_CHARS else []


def _want(path: str, name: str, files: Container[str]) -> str:
    places = list(_places(path, name))
    return next((place for place in places if place in files), places[0] if places[0].endswith(SOURCES) else places[1])


def _places(path: str, name: str) -> Iterator[str]:
    stem = posixpath.normpath(posixpath.join(posixpath.dirname(path), name))
    yield stem
    yield from (stem + ending for ending in SOURCES)
    yield from (f"{stem}/index{ending}" for ending in SOURCES)


def idle_tests(path: str, text: str) -> list[str]:
    """Titles of the tests that neither assert anything themselves nor call a function of the file that does."""
    root = parse(path, text)
    helpers = {node_text(node.child_by_field_name("name")) for node in root.named_children if _asserts(node)} - {""}
    return [title for title, body in _tests(root) if not (_asserts(body) or _called(body) & helpers)]


def number_of_tests(path: str, text: str) -> int:
    """How many tests a file has."""
    return sum(1 for _ in _tests(parse(path, text)))


def let_off(path: str, text: str) -> Iterator[tuple[str, str]]:
    """Each place in which a test is skipped or still to do: the titles above it, and the word for it."""
    waiting: list[tuple[Node, str]] = [(parse(path, text), "")]
    while waiting:
        node, holder = waiting.pop()
        if node.type == "call_expression" and (found := _CALL.fullmatch(_name(node))):
            given = arguments(node)
            if found["own"] is None and given:
                title = literal(given[0]) or node_text(given[0])
                holder = f"{holder} > {title}" if holder else title
            if (how := found["how"] or found["said"]) in _LETS_OFF:
                yield holder, how
            yield from ((holder, word) for each in given if each.type == "object" for word in _options(each))
        waiting += [(child, holder) for child in node.children]


def _name(call: Node) -> str:
    return node_text(call.child_by_field_name("function"))


def _options(given: Node) -> Iterator[str]:
    """The options of a test that let it off."""
    for each in given.named_children:
        key, value = (each.child_by_field_name(name) for name in ("key", "value"))
        word = node_text(key).strip("'\"") if key else node_text(each)
        if word in _LETS_OFF and node_text(value) != "false":
            yield word


def _tests(root: Node) -> Iterator[tuple[str, Node]]:
    for node in walk(root):
        if node.type == "call_expression" and node_text(node.child_by_field_name("function")) in _TESTS:
            given = arguments(node)
            if len(given) > 1 and given[-1].type in _FUNCTIONS:
                yield literal(given[0]) or node_text(given[0]), given[-1]


def _asserts(node: Node) -> bool:
    return any(name.startswith(("assert", "t.assert", "expect")) or name.endswith("Equal") for name in _called(node))


def _called(node: Node) -> set[str]:
    calls = (inner for inner in walk(node) if inner.type == "call_expression")
    return {node_text(call.child_by_field_name("function")) for call in calls}
