"""The signatures and types of a Go file's declarations, for a model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from nightshift.core.code.golang import node_text, parse

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_CHARS = 400_000
MAX_LINE = 300
_MOST_MEMBERS = 40
_FUNCTIONS = frozenset({"function_declaration", "method_declaration"})


def signatures(text: str) -> list[str]:
    """Return a file's outline: its package, functions and methods without bodies, and types with their fields."""
    root = parse(text) if len(text) <= MAX_CHARS else None
    return [
        line.rstrip()[:MAX_LINE]
        for node in (root.named_children if root else ())
        for line in describe(node).split("\n")
    ]


def names(text: str) -> Iterator[tuple[str, bool]]:
    """Yield each name in a file, and True if the file declares the name at the top level."""
    root = parse(text)
    declared = {node_text(name) for node in root.named_children for name in _names(node)}
    yield from ((name, True) for name in sorted(declared))
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.type in {"identifier", "type_identifier", "field_identifier"} and node_text(node) not in declared:
            yield node_text(node), False
        waiting += node.named_children


def parts(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the first line, the last line (both counted from 1) and the name of each declaration in a file."""
    for node in parse(text).named_children:
        if node.type != "comment":
            name = next((node_text(name_node) for name_node in _names(node)), "")
            yield node.start_point[0] + 1, node.end_point[0] + 1, name


def _names(node: Node) -> Iterator[Node]:
    own = node.child_by_field_name("name")
    if own is not None:
        yield own
    elif node.type in {"type_declaration", "const_declaration", "var_declaration", "var_spec_list"}:
        for child in node.named_children:
            yield from _names(child)


def describe(node: Node) -> str:
    """Return a declaration without function bodies; "" for a long constant or variable, and for any other node."""
    if node.type in _FUNCTIONS:
        body = node.child_by_field_name("body")
        raw = node.text or b""
        head = raw if body is None else raw[: body.start_byte - node.start_byte]
        return " ".join(head.decode("utf-8", "replace").split())
    if node.type in {"type_declaration", "package_clause"}:
        lines = node_text(node).split("\n")
        return "\n".join(lines if len(lines) <= _MOST_MEMBERS else [*lines[:_MOST_MEMBERS], "\t…"])
    return (
        node_text(node) if node.type in {"const_declaration", "var_declaration"} and len(node.text or b"") < 400 else ""
    )
