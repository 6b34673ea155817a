"""Reads JavaScript and TypeScript into syntax trees, and says where a text is none.

The parser (tree-sitter) mends what it cannot read and goes on, so a tree always comes; faults are nodes in it. It knows
the grammar only: a name that is declared twice, or `await` in a place where it may not stand, is found when it is run.
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
"""Sources that Node.js runs, typed files only in newer versions of it, and what tools make it run."""

STRINGS = frozenset({"string", "template_string"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Why a text does not parse; `line` counts from 1."""

    line: int
    message: str


def is_source(path: str) -> bool:
    """Tell whether a path names JavaScript or TypeScript."""
    return path.endswith(SOURCES)


def parse(path: str, text: str) -> Node:
    """The root of a text's syntax tree; positions in it are in bytes of UTF-8.

    Args:
        path: its ending says which of the two languages it is.
        text: the source.
    """
    from tree_sitter import Parser  # noqa: PLC0415 (loaded when the first JavaScript task comes)

    # A parser of its own for each text: they are cheap, and one may not be used by two threads at once.
    with_tags = path.endswith((*SCRIPTS, ".tsx"))
    return Parser(_grammar(typed=path.endswith(TYPED), with_tags=with_tags)).parse(encode(text)).root_node


def fault(path: str, text: str) -> Fault | None:
    """The first place at which a text is not of its language, or None."""
    return fault_in(parse(path, text), text)


def fault_in(root: Node, text: str) -> Fault | None:
    """The first fault in a syntax tree of a text, or None."""
    if not root.has_error:
        return None
    node = next((node for node in walk(root) if node.is_error or node.is_missing), root)
    if node.is_missing:
        return Fault(line=node.start_point.row + 1, message=f"missing {node.type}")
    near = encode(text)[node.start_byte : node.start_byte + 40]
    first = near.decode("utf-8", "replace").split("\n")[0].strip()
    return Fault(line=node.start_point.row + 1, message=f"unexpected {first!r}" if first else "unexpected end")


def walk(node: Node) -> Iterator[Node]:
    """A node and all below it, in the order of the text; without recursion, since models nest deeply."""
    waiting = [node]
    while waiting:
        current = waiting.pop()
        yield current
        waiting += reversed(current.children)


def node_text(node: Node | None) -> str:
    """A node as it was written."""
    return (node.text or b"").decode("utf-8", "replace") if node else ""


def literal(node: Node | None) -> str | None:
    """The value of a string that is written out; None for anything else, and where something is put into it."""
    if node is None or node.type not in STRINGS:
        return None
    if any(child.type not in {"string_fragment", "escape_sequence"} for child in node.named_children):
        return None
    return "".join(_unescape(child) for child in node.named_children)


def arguments(call: Node) -> list[Node]:
    """The arguments of a call, without comments."""
    argument_list = call.child_by_field_name("arguments")
    return [child for child in argument_list.named_children if child.type != "comment"] if argument_list else []


def specifiers(path: str, text: str) -> list[str]:
    """List the names that a text imports, exports from or requires, where they are written out; in order."""
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
