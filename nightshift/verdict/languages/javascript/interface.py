"""Describes the interface of changed JavaScript and TypeScript files, and finds tests that assert nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from nightshift.agent.javascript_outline import MAX_CHARS, MAX_LINE, describe
from nightshift.core.code.javascript import arguments, literal, node_text, parse, walk
from nightshift.core.ports import LEFT_OUT

if TYPE_CHECKING:
    from tree_sitter import Node

_FUNCTIONS = frozenset({"arrow_function", "function_expression"})
_MOST_ROUTES = 30
_ROUTE = re.compile(r"""\b\w+\.(?:get|post|put|patch|delete|all|use)\(\s*(["'`])/[^"'`\n]*\1""")
_LETS_OFF = frozenset({"skip", "todo"})
_CALL = re.compile(
    r"(?:(?:test|it|describe|suite)(?:\.(?P<how>skip|todo|only))?|t\.test|(?P<own>t)\.(?P<said>skip|todo))"
)
_TESTS = frozenset({"test", "it", "test.only", "it.only"})


def describe_offer(path: str, text: str, lines: frozenset[int], short: int) -> list[str]:
    """Describe the definitions and the declared routes of a file; a changed definition includes the comment above it.

    Args:
        path: the file's path; its extension selects the language.
        text: the text of the file.
        lines: the lines that the change wrote, counted from 1.
        short: if a file has more definitions than this, only the changed definitions and those that they use are
            described.
    """
    nodes = parse(path, text).named_children if len(text) <= MAX_CHARS else []
    definitions = [node for node in nodes if any(describe(node))]
    touched = [
        node for node in definitions if not lines.isdisjoint(range(node.start_point[0] + 1, node.end_point[0] + 2))
    ]
    used = {node_text(child) for node in touched for child in walk(node) if child.type == "identifier"}
    chosen = [
        node
        for node in definitions
        if len(definitions) <= short or node in touched or not used.isdisjoint(_list_defined(node))
    ]
    shown = list[str]()
    for node in chosen:
        above = node.prev_named_sibling
        if node in touched and above is not None and above.type == "comment":
            shown += node_text(above).split("\n")
        shown += [" ".join(line.split())[:MAX_LINE] for line in describe(node)]
    routes = [call[0] for call in _ROUTE.finditer(text)][:_MOST_ROUTES]
    more = len(definitions) - len(chosen)
    return [
        *shown,
        *([f"routes: {', '.join(dict.fromkeys(routes))}"] if routes else []),
        *([f"{LEFT_OUT}{more} other definitions"] if more else []),
    ]


def _list_defined(node: Node) -> set[str]:
    """Return the names that a top-level statement defines."""
    names = (
        child.child_by_field_name("name") for child in walk(node) if child.type.endswith(("_declaration", "declarator"))
    )
    return {node_text(name) for name in names if name is not None}


def idle_tests(path: str, text: str) -> list[str]:
    """Return the titles of tests that assert nothing, neither directly nor by calling an asserting function."""
    root = parse(path, text)
    helpers = {node_text(node.child_by_field_name("name")) for node in root.named_children if _asserts(node)} - {""}
    return [title for title, body in _tests(root) if not (_asserts(body) or _list_called(body) & helpers)]


def number_of_tests(path: str, text: str) -> int:
    """Count the tests of a file."""
    return sum(1 for _ in _tests(parse(path, text)))


def let_off(path: str, text: str) -> Iterator[tuple[str, str]]:
    """List each `skip` or `todo`: the titles of the enclosing suites and the test, joined by ` > `, and the keyword."""
    waiting: list[tuple[Node, str]] = [(parse(path, text), "")]
    while waiting:
        node, holder = waiting.pop()
        if node.type == "call_expression" and (match := _CALL.fullmatch(_name(node))):
            given = arguments(node)
            if match["own"] is None and given:
                title = literal(given[0]) or node_text(given[0])
                holder = f"{holder} > {title}" if holder else title
            if (how := match["how"] or match["said"]) in _LETS_OFF:
                yield holder, how
            yield from ((holder, word) for each in given if each.type == "object" for word in _options(each))
        waiting += [(child, holder) for child in node.children]


def _name(call: Node) -> str:
    return node_text(call.child_by_field_name("function"))


def _options(given: Node) -> Iterator[str]:
    """List the keys `skip` and `todo` in the options object of a test."""
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
    return any(
        name.startswith(("assert", "t.assert", "expect")) or name.endswith("Equal") for name in _list_called(node)
    )


def _list_called(node: Node) -> set[str]:
    calls = (inner for inner in walk(node) if inner.type == "call_expression")
    return {node_text(call.child_by_field_name("function")) for call in calls}
