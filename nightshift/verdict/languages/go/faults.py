"""The faults from which Go mutants are made, like `verdict.languages.python.faults` for Python.

Only edits that keep types are made, because a mutant that does not build proves nothing about the tests.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from nightshift.core.code.golang import is_test, node_text, parse
from nightshift.core.text.encoding import encode
from nightshift.sandbox.source import Edit, edit
from nightshift.verdict.languages.dialect import DOUBTFUL, LIKELY, PLAIN, Fault, Text, fault_at

if TYPE_CHECKING:
    from tree_sitter import Node

_FUNCTIONS = frozenset({"function_declaration", "method_declaration"})
_LOOPS = frozenset({"for_statement"})
# `+` is missing, because it may also concatenate strings, for which `-` does not exist.
_NUMERIC = {"-": "+", "*": "+", "&": "|", "|": "&", "<<": ">>", ">>": "<<", "-=": "+=", "*=": "+="}
_SWAPS = {
    **{was: ("arithmetic", PLAIN, now) for was, now in _NUMERIC.items()},
    **{was: ("comparison", PLAIN, now) for was, now in {"==": "!=", "!=": "=="}.items()},
    **{was: ("boundary", LIKELY, now) for was, now in {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}.items()},
    **{was: ("connective", LIKELY, now) for was, now in {"&&": "||", "||": "&&"}.items()},
}


def mutate(path: str, text: str, lines: Collection[int]) -> Iterator[tuple[str, Fault, Text]]:
    """Yield the faults at these lines, each with the function's name and a callable that makes the faulty file.

    Args:
        path: the path of the source; test files have no faults.
        text: the source; if it does not parse, there are no faults.
        lines: the line numbers, counted from 1.
    """
    root, raw = parse(text), encode(text)
    if root.has_error or is_test(path):
        return
    for function in root.named_children:
        body = function.child_by_field_name("body")
        if function.type not in _FUNCTIONS or body is None:
            continue
        name = node_text(function.child_by_field_name("name"))
        for fault in _below(body):
            if fault.line in lines:
                yield name, fault, partial(edit, raw, [fault.edit])


def _below(top: Node) -> Iterator[Fault]:
    """List the faults in a function body.

    A fault in a loop gets a higher rank number, so it is tried later, because an endless loop takes long.
    """
    waiting = [(top, False)]
    while waiting:
        node, in_loop = waiting.pop()
        in_loop = in_loop or node.type in _LOOPS
        for fault in _at(node):
            yield replace(fault, rank=fault.rank + 2 * in_loop)
        waiting += [(child, in_loop) for child in reversed(node.named_children)]


def _at(node: Node) -> Iterator[Fault]:
    if node.type == "if_statement" and (test := node.child_by_field_name("condition")):
        yield fault_at("condition", PLAIN, test, Edit(test.start_byte, test.end_byte, f"!({node_text(test)})"))
    elif node.type in {"binary_expression", "assignment_statement"}:
        operator = node.child_by_field_name("operator")
        if operator is None:
            return
        if swap := _SWAPS.get(operator.type):
            kind, rank, now = swap
            yield fault_at(kind, rank, node, Edit(operator.start_byte, operator.end_byte, now))
        elif operator.type == "+" and not _joins_texts(node):
            yield fault_at("arithmetic", PLAIN, node, Edit(operator.start_byte, operator.end_byte, "-"))
    elif node.type in {"true", "false"}:
        other = "false" if node.type == "true" else "true"
        yield fault_at("constant", LIKELY, node, Edit(node.start_byte, node.end_byte, other))
    elif node.type == "int_literal":
        yield fault_at("constant", LIKELY, node, Edit(node.start_byte, node.end_byte, f"({node_text(node)} + 1)"))
    elif node.type == "interpreted_string_literal" and len(node_text(node)) > 2 and not _names_a_package(node):
        yield fault_at("text", DOUBTFUL, node, Edit(node.end_byte - 1, node.end_byte - 1, "x"))


def _joins_texts(node: Node) -> bool:
    """Check whether an operand shows that an expression concatenates strings."""
    kinds = {"interpreted_string_literal", "raw_string_literal"}
    sides = (node.child_by_field_name("left"), node.child_by_field_name("right"))
    operands = [side for side in sides if side is not None]
    return any(side.type in kinds or (side.type == "binary_expression" and _joins_texts(side)) for side in operands)


def _names_a_package(node: Node) -> bool:
    return node.parent is not None and node.parent.type == "import_spec"
