"""Parses Go into syntax trees and finds syntax errors, as `core.code.javascript` does for JavaScript."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import TYPE_CHECKING

from nightshift.core.code.javascript import Fault, fault_in, node_text, walk
from nightshift.core.text.encoding import encode

if TYPE_CHECKING:
    from tree_sitter import Language, Node

__all__ = ["Fault", "fault", "imports", "is_source", "is_test", "node_text", "package", "parse", "walk"]


def is_source(path: str) -> bool:
    """Return True if a path is a Go file."""
    return path.endswith(".go")


def is_test(path: str) -> bool:
    """Return True if `go test` treats a file as tests."""
    return path.endswith("_test.go")


def parse(text: str) -> Node:
    """Return the root of a text's syntax tree; positions are byte offsets in UTF-8."""
    from tree_sitter import Parser  # noqa: PLC0415 (loaded when the first Go task comes)

    return Parser(_grammar()).parse(encode(text)).root_node


def fault(text: str) -> Fault | None:
    """Return the first syntax error of a text, or None."""
    return fault_in(parse(text), text)


def package(root: Node) -> str:
    """Return the package name in the package clause; empty if there is no clause."""
    clause = next((node for node in root.named_children if node.type == "package_clause"), None)
    return node_text(clause.named_children[0]) if clause and clause.named_children else ""


def imports(root: Node) -> Iterator[tuple[str, str]]:
    """Yield each import as a pair: the name that the file uses for the package, and the import path.

    If the import gives no name, the name is the last part of its path.
    """
    for declaration in root.named_children:
        if declaration.type == "import_declaration":
            for spec in (node for node in walk(declaration) if node.type == "import_spec"):
                path = node_text(spec.child_by_field_name("path")).strip('"`')
                yield node_text(spec.child_by_field_name("name")) or path.rpartition("/")[2], path


@functools.cache
def _grammar() -> Language:
    import tree_sitter_go  # noqa: PLC0415 (see `parse`)
    from tree_sitter import Language  # noqa: PLC0415 (see `parse`)

    return Language(tree_sitter_go.language())
