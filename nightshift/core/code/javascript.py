"""Parses JavaScript and TypeScript into syntax trees and finds syntax errors.

The parser (tree-sitter) recovers from errors, so it always returns a tree, in which the errors are nodes. It knows only
the grammar: a name that is declared twice, or a misplaced `await`, is found only when the code runs.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nightshift.core.text.encoding import encode

if TYPE_CHECKING:
    from tree_sitter import Language, Node

SCRIPTS = (".js", ".mjs", ".cjs", ".jsx")
TYPED = (".ts", ".mts", ".cts", ".tsx")
SOURCES = (*SCRIPTS, *TYPED)
"""Suffixes of files that Node.js runs, directly (only newer versions run TypeScript) or with the help of tools."""

STRINGS = frozenset({"string", "template_string"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """The reason why a text does not parse; `line` counts from 1."""

    line: int
    message: str


def is_source(path: str) -> bool:
    """Return True if a path is a JavaScript or TypeScript file."""
    return path.endswith(SOURCES)


def parse(path: str, text: str) -> Node:
    """Return the root of a text's syntax tree; positions are byte offsets in UTF-8.

    Args:
        path: The file's path, whose suffix selects the language.
        text: The source.
    """
    from tree_sitter import Parser  # noqa: PLC0415 (loaded when the first JavaScript task comes)

    # A new parser for each text: parsers are cheap, and two threads must not share one.
    with_tags = path.endswith((*SCRIPTS, ".tsx"))
    return Parser(_grammar(typed=path.endswith(TYPED), with_tags=with_tags)).parse(encode(text)).root_node


def fault(path: str, text: str) -> Fault | None:
    """Return the first syntax error of a text, or None."""
    return fault_in(parse(path, text), text)


def fault_in(root: Node, text: str) -> Fault | None:
    """Return the first error in a text's syntax tree, or None."""
    if not root.has_error:
        return None
    node = next((node for node in walk(root) if node.is_error or node.is_missing), root)
    if node.is_missing:
        return Fault(line=node.start_point.row + 1, message=f"missing {node.type}")
    near = encode(text)[node.start_byte : node.start_byte + 40]
    first = near.decode("utf-8", "replace").split("\n")[0].strip()
    return Fault(line=node.start_point.row + 1, message=f"unexpected {first!r}" if first else "unexpected end")


def walk(node: Node) -> Iterator[Node]:
    """Yield a node and all its descendants in source order; not recursive, because models write deeply nested code."""
    waiting = [node]
    while waiting:
        current = waiting.pop()
        yield current
        waiting += reversed(current.children)


def node_text(node: Node | None) -> str:
    """Return the source text of a node."""
    return (node.text or b"").decode("utf-8", "replace") if node else ""


def literal(node: Node | None) -> str | None:
    """Return the value of a string literal; None for any other node and for a template with substitutions."""
    if node is None or node.type not in STRINGS:
        return None
    if any(child.type not in {"string_fragment", "escape_sequence"} for child in node.named_children):
        return None
    return "".join(_unescape(child) for child in node.named_children)


def arguments(call: Node) -> list[Node]:
    """Return the arguments of a call, without comments."""
    argument_list = call.child_by_field_name("arguments")
    return [child for child in argument_list.named_children if child.type != "comment"] if argument_list else []


def specifiers(path: str, text: str) -> list[str]:
    """List the module names that a text imports, re-exports or requires as string literals, in order."""
    names: dict[str, None] = {}
    for node in walk(parse(path, text)):
        source = node.child_by_field_name("source") if node.type in {"import_statement", "export_statement"} else None
        if node.type == "call_expression" and node_text(node.child_by_field_name("function")) in {"require", "import"}:
            source = next(iter(arguments(node)), None)
        if name := literal(source):
            names[name] = None
    return list(names)


def _unescape(node: Node) -> str:
    text = node_text(node)
    if node.type == "string_fragment":
        return text
    simple = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": ""}
    if text[1:2] in {"x", "u"}:
        number = int(text[2:].strip("{}"), 16)
        return chr(number) if number < 0x110000 else text
    return simple.get(text[1:], text[1:])


@functools.cache
def _grammar(*, typed: bool, with_tags: bool) -> Language:
    import tree_sitter_javascript  # noqa: PLC0415 (see `parse`)
    import tree_sitter_typescript  # noqa: PLC0415 (see `parse`)
    from tree_sitter import Language  # noqa: PLC0415 (see `parse`)

    if not typed:
        return Language(tree_sitter_javascript.language())
    return Language(
        tree_sitter_typescript.language_tsx() if with_tags else tree_sitter_typescript.language_typescript()
    )
