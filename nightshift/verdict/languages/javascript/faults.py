"""The faults from which JavaScript mutants are made, like `verdict.languages.python.faults` for Python."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from nightshift.core.code.javascript import node_text, parse
from nightshift.core.text.encoding import encode
from nightshift.sandbox.source import Edit, edit
from nightshift.verdict.languages.dialect import DOUBTFUL, LIKELY, PLAIN, Fault, Text, fault_at, shorten

if TYPE_CHECKING:
    from tree_sitter import Node

FUNCTIONS = frozenset({
    "function_declaration", "function_expression", "arrow_function", "method_definition", "generator_function",
    "generator_function_declaration",
})  # fmt: skip
_ARITHMETIC = {"+": "-", "-": "+", "*": "+", "/": "*", "%": "*", "**": "*", "&": "|", "|": "&", "<<": ">>", ">>": "<<"}
_COMPARISON = {"===": "!==", "!==": "===", "==": "!=", "!=": "=="}
_BOUNDARY = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
_CONNECTIVE = {"&&": "||", "||": "&&", "??": "&&"}
_ASSIGNED = {"+=": "-=", "-=": "+=", "*=": "+=", "/=": "*="}
_SWAPS = {
    **{was: ("arithmetic", PLAIN, now) for was, now in _ARITHMETIC.items()},
    **{was: ("comparison", PLAIN, now) for was, now in _COMPARISON.items()},
    **{was: ("boundary", LIKELY, now) for was, now in _BOUNDARY.items()},
    **{was: ("connective", LIKELY, now) for was, now in _CONNECTIVE.items()},
    **{was: ("assignment", PLAIN, now) for was, now in _ASSIGNED.items()},
}
_LOOPS = frozenset({"while_statement", "do_statement", "for_statement"})
# Tests rarely assert error messages, so `throw` is excluded. Nested functions are processed on their own.
_LEFT_OUT = frozenset({"throw_statement", "import_statement", "template_string", "class_declaration", *FUNCTIONS})
_OTHER = "_otherValue"
_OTHER_TEXT = """
function _otherValue(value) {
  if (typeof value === "boolean") return !value;
  if (typeof value === "number") return Number.isFinite(value) ? value + Math.abs(value) + 1 : 0;
  if (typeof value === "bigint") return value + 1n;
  if (typeof value === "string") return value + "x";
  if (Array.isArray(value)) return value.length ? [_otherValue(value[0]), ...value.slice(1)] : [0];
  if (value instanceof Promise) return value.then(_otherValue);
  if (value instanceof Map) return new Map([...value, [{}, 0]]);
  if (value instanceof Set) return new Set([...value, {}]);
  if (value && Object.getPrototypeOf(value) === Object.prototype) {
    const [key] = Object.keys(value);
    return key === undefined ? { other: 0 } : { ...value, [key]: _otherValue(value[key]) };
  }
  return value === undefined ? 0 : undefined;
}
"""


def mutate(path: str, text: str, lines: Collection[int]) -> Iterator[tuple[str, Fault, Text]]:
    """Yield the faults at these lines, each with the function's name and a callable that makes the faulty file.

    Args:
        path: the path of the source; its extension selects the language.
        text: the source; if it does not parse, or is nested too deeply, there are no faults.
        lines: the line numbers, counted from 1.
    """
    root = parse(path, text)
    raw = encode(text)
    faults = list[tuple[str, Fault]]()
    if not root.has_error:
        with contextlib.suppress(RecursionError):
            faults = [(name, fault) for name, function in _functions(root, "") for fault in _of_body(function)]
    for name, fault in faults:
        if fault.line in lines:
            yield name, fault, partial(_write_mutant, path, raw, fault)


def _write_mutant(path: str, raw: bytes, fault: Fault) -> str | None:
    """Return the text of the file with the fault; None if it does not parse."""
    changed = edit(raw, [fault.edit]) + (_OTHER_TEXT if fault.needs_other else "")
    return None if parse(path, changed).has_error else changed


def _functions(node: Node, name: str) -> Iterator[tuple[str, Node]]:
    own = node_text(node.child_by_field_name("name")) if node.type in FUNCTIONS | {"variable_declarator"} else ""
    name = own if own.isidentifier() else name
    if node.type in FUNCTIONS:
        yield name or "a function", node
    for child in node.named_children:
        yield from _functions(child, name)


def _of_body(function: Node) -> Iterator[Fault]:
    body = function.child_by_field_name("body")
    if body is None:
        return
    if body.type != "statement_block":  # an arrow without braces returns its expression
        yield _result(body)
        yield from _walk(body, in_loop=False)
        return
    for statement in body.named_children:
        yield from _walk(statement, in_loop=False)


def _walk(node: Node, *, in_loop: bool) -> Iterator[Fault]:
    """List the faults at a node and below it.

    A fault in a loop gets a higher rank number, so it is tried later, because an endless loop takes long.
    """
    if node.type in _LEFT_OUT:
        return
    in_loop = in_loop or node.type in _LOOPS
    for fault in _at(node):
        yield replace(fault, rank=fault.rank + 2 * in_loop)
    for child in node.named_children:
        yield from _walk(child, in_loop=in_loop)


def _at(node: Node) -> Iterator[Fault]:
    inner = node.named_children[0] if node.named_children else None
    if node.type in {"return_statement", "yield_expression"} and inner is not None:
        yield _result(inner)
    elif node.type in {"if_statement", "ternary_expression"} and (test := node.child_by_field_name("condition")):
        yield fault_at("condition", PLAIN, test, Edit(test.start_byte, test.end_byte, f"(!({node_text(test)}))"))
    elif node.type in {"binary_expression", "augmented_assignment_expression"}:
        operator = node.child_by_field_name("operator")
        if operator is not None and (swap := _SWAPS.get(operator.type)):
            kind, rank, now = swap
            yield fault_at(kind, rank, node, Edit(operator.start_byte, operator.end_byte, now))
    else:
        yield from _constant(node)


def _constant(node: Node) -> Iterator[Fault]:
    if node.type in {"true", "false"}:
        other = "false" if node.type == "true" else "true"
        yield fault_at("constant", LIKELY, node, Edit(node.start_byte, node.end_byte, other))
    elif node.type == "number" and not node_text(node).endswith("n"):
        yield fault_at("constant", LIKELY, node, Edit(node.start_byte, node.end_byte, f"({node_text(node)} + 1)"))
    elif node.type == "string" and len(node_text(node)) > 2:
        yield fault_at("text", DOUBTFUL, node, Edit(node.end_byte - 1, node.end_byte - 1, "x"))


def _result(value: Node) -> Fault:
    text = node_text(value)
    return Fault(
        kind="result",
        rank=PLAIN,
        line=value.start_point.row + 1,
        edit=Edit(value.start_byte, value.end_byte, f"{_OTHER}({text})"),
        was=shorten(text),
        now="another value of the same type",
        needs_other=True,
    )
