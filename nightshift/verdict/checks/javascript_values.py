"""JavaScript values that answer for themselves: what is read from them depends on who reads, or how often.

A test finds a result right by converting it, walking through it or reading its properties. Where that runs code of the
result's own, the code can tell the first look from the second; so functions of this kind may not change anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from nightshift.core.code import javascript
from nightshift.core.code.javascript import node_text
from nightshift.verdict.checks.catalogue import Finding
from nightshift.verdict.checks.javascript_names import Names

if TYPE_CHECKING:
    from tree_sitter import Node

OUTCOMES = frozenset({"passed", "pass", "ok", "success", "skipped", "skip", "xfailed", "xpassed", "xfail"})
"""Words by which a test framework or its reports call a test that did not fail."""
_READ = frozenset({
    "valueOf", "toString", "toJSON", "Symbol.toPrimitive", "Symbol.iterator", "Symbol.asyncIterator",
    "Symbol.toStringTag", "Symbol.hasInstance", "Symbol.species", "Symbol.isConcatSpreadable",
    "nodejs.util.inspect.custom",
})  # fmt: skip
_CONVERTED = frozenset({"valueOf", "Symbol.toPrimitive"})
_PLAIN = frozenset({"Number", "String", "Boolean", "BigInt", "Symbol", "Date", "RegExp"})
_FUNCTIONS = frozenset({
    "method_definition", "arrow_function", "function_expression", "function_declaration", "generator_function",
})  # fmt: skip
_NAMED = frozenset({"pair", "method_definition", "field_definition", "public_field_definition"})
_DEFINERS = frozenset({"Object.defineProperty", "Reflect.defineProperty", "Object.defineProperties", "Object.create"})
_MUTATES = re.compile(r"\.(push|pop|shift|unshift|splice|add|delete|set|next|clear)$")
_UNSTEADY = re.compile(r"\b(?:Math\.random|Date\.now|performance\.now|process\.hrtime|crypto\.random\w+)\b|\.stack\b")


def look(nodes: list[Node], names: Names) -> Iterator[Finding]:
    """What stands out among the values that a module makes."""
    for node in nodes:
        if node.type in _NAMED:
            yield from _member(node, names)
        elif node.type == "assignment_expression":
            left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
            yield from _assigned(node, left, right, names)
        elif node.type in {"class_declaration", "class"}:
            yield from _class(node, names)
        elif node.type == "call_expression":
            yield from _defined(node, names)
        elif node.type == "throw_statement" and node.named_children:
            yield from _thrown(node, node.named_children[0])
        elif node.type == "string" and javascript.literal(node) == "ERR_ASSERTION":
            yield _at(node, "js.outcome-name", "ERR_ASSERTION")


def _defined(node: Node, names: Names) -> Iterator[Finding]:
    """`Object.defineProperty(found, Symbol.iterator, …)`: an object that was made is to be read otherwise."""
    arguments = node.child_by_field_name("arguments")
    given = arguments.named_children if arguments is not None else []
    if (
        len(given) > 1
        and names.resolve(node.child_by_field_name("function")) in _DEFINERS
        and node_text(given[1]) in _READ
    ):
        yield _at(node, "js.false-value", f"defineProperty {node_text(given[1])}")


def _thrown(node: Node, value: Node) -> Iterator[Finding]:
    if value.type == "object":
        yield _at(node, "js.odd-throw", "throw {…}")
    made = node_text(value.child_by_field_name("constructor")) if value.type == "new_expression" else ""
    if made.casefold() in OUTCOMES:
        yield _at(node, "js.outcome-name", f"throw new {made}")


def key_of(node: Node, names: Names) -> str:
    """The name of a property where it is defined: `a`, `"a"`, `["a" + "b"]`, `[Symbol.iterator]`."""
    key = node.child_by_field_name("key") or node.child_by_field_name("name") or node.child_by_field_name("property")
    if key is None:
        return ""
    if key.type == "computed_property_name" and key.named_children:
        inner = key.named_children[0]
        if inner.type == "call_expression" and node_text(inner.child_by_field_name("function")) == "Symbol.for":
            arguments = javascript.arguments(inner)
            return names.text(arguments[0]) if arguments else ""
        return names.resolve(inner) or names.text(inner)
    return javascript.literal(key) or node_text(key)


def _member(node: Node, names: Names) -> Iterator[Finding]:
    name = key_of(node, names)
    function = node if node.type == "method_definition" else _function_in(node.child_by_field_name("value"))
    getter = node.type == "method_definition" and any(child.type == "get" for child in node.children)
    described = name in {"get", "value"} and _is_descriptor(node, names)
    yield from _outcome(node, name, node.child_by_field_name("value"), names)
    if function is None:
        return
    if name in _READ:
        yield from _read(node, name, function)
    elif (getter or described) and _changed(function):
        yield _at(node, "js.false-value", f"get {name}")
    if name == "Symbol.hasInstance":
        yield _at(node, "js.false-value", name)


def _read(node: Node, name: str, function: Node) -> Iterator[Finding]:
    changed = _changed(function)
    # What is gone through often says by `this` where it is.
    walked = name in {"Symbol.iterator", "Symbol.asyncIterator"} and set(changed) <= {"this"}
    if (changed and not walked) or _UNSTEADY.search(node_text(function)):
        yield _at(node, "js.false-value", name)
    elif changed or name in _CONVERTED:
        yield _at(node, "js.own-value", name)


def _assigned(node: Node, left: Node | None, right: Node | None, names: Names) -> Iterator[Finding]:
    """`o.valueOf = …`, `error.name = "passed"`."""
    if left is None or right is None or left.type not in {"member_expression", "subscript_expression"}:
        return
    index = left.child_by_field_name("index")
    name = node_text(left.child_by_field_name("property")) or names.resolve(index) or names.text(index)
    if name in _READ and (function := _function_in(right)) is not None:
        yield from _read(node, name, function)
    yield from _outcome(node, name, right, names)


def _outcome(node: Node, name: str, value: Node | None, names: Names) -> Iterator[Finding]:
    described = name == "value" and _is_descriptor(node, names)
    if (described or name in {"name", "constructor", "code", "failureType"}) and value is not None:
        text = names.text(value)
        if text.casefold() in OUTCOMES and (described or _is_error(node)):
            yield _at(node, "js.outcome-name", f"{name}: {text!r}")


def _is_error(node: Node) -> bool:
    """Whether a name is given to something that is thrown, to an error, or to a class of errors."""
    around = node.parent
    while around is not None:
        if around.type == "throw_statement":
            return True
        if around.type in {"class_declaration", "class"}:
            return "Error" in node_text(_heritage(around))
        if around.type == "variable_declarator":
            thing = node_text(around.child_by_field_name("name"))
            return bool(re.match(r"e|ex|exc|err\w*|error\w*|fault\w*|thrown$", thing, re.IGNORECASE))
        around = around.parent
    target = node.child_by_field_name("left") if node.type == "assignment_expression" else None
    return target is not None


def _class(node: Node, names: Names) -> Iterator[Finding]:
    name, heritage = node_text(node.child_by_field_name("name")), _heritage(node)
    base = names.resolve(heritage.named_children[0] if heritage and heritage.named_children else None) or node_text(
        heritage
    )
    if name.casefold() in OUTCOMES and "Error" in base:
        yield _at(node, "js.outcome-name", f"class {name}")
    body = node.child_by_field_name("body")
    if base.split(".")[-1] in _PLAIN and body is not None:
        for member in body.named_children:
            if member.type == "method_definition" and key_of(member, names) in _READ:
                yield _at(member, "js.false-value", f"{name}.{key_of(member, names)}")


def _heritage(node: Node) -> Node | None:
    found = next((child for child in node.children if child.type == "class_heritage"), None)
    clause = found and next((child for child in found.named_children if child.type == "extends_clause"), None)
    return clause or found


def _function_in(node: Node | None) -> Node | None:
    return node if node is not None and node.type in _FUNCTIONS else None


def _is_descriptor(node: Node, names: Names) -> bool:
    """Whether a pair stands in what describes a property."""
    around = node.parent
    for _ in range(7):
        if around is None:
            return False
        if around.type == "call_expression":
            return names.resolve(around.child_by_field_name("function")) in _DEFINERS
        around = around.parent
    return False


def _changed(function: Node) -> list[str]:
    """The names of what a function changes and is not its own; what it has found it may keep in its object."""
    inner, found = list(javascript.walk(function)), list[str]()
    own = {node_text(name) for node in inner for name in _bound(node)}
    kept = {node_text(node.child_by_field_name("left")) for node in inner if _is_kept(node)}
    for node in inner:
        target = None
        if node.type in {"update_expression", "augmented_assignment_expression", "assignment_expression"}:
            target = node.child_by_field_name("argument") or node.child_by_field_name("left")
        elif node.type == "call_expression" and _MUTATES.search(node_text(node.child_by_field_name("function"))):
            target = node.child_by_field_name("function")
        if target is not None and node_text(target) not in kept and _root(target) not in own:
            found.append(_root(target))
    return found


def _is_kept(node: Node) -> bool:
    """`this.x = f()`, `this.x ??= f()`: said once, not counted up."""
    if node.type == "augmented_assignment_expression":
        return node_text(node.child_by_field_name("operator")) in {"??=", "||=", "&&="}
    left, right = node_text(node.child_by_field_name("left")), node_text(node.child_by_field_name("right"))
    return node.type == "assignment_expression" and left.startswith(("this.", "this[")) and left not in right


def _bound(node: Node) -> Iterator[Node]:
    """The names that a node binds within a function."""
    field = {"variable_declarator": "name", "for_in_statement": "left", "arrow_function": "parameter",
             "catch_clause": "parameter"}.get(node.type)  # fmt: skip
    pattern = node if node.type == "formal_parameters" else field and node.child_by_field_name(field)
    if pattern:
        kinds = {"identifier", "shorthand_property_identifier_pattern"}
        yield from (inner for inner in javascript.walk(pattern) if inner.type in kinds)


def _root(node: Node | None) -> str:
    while node is not None and node.type in {"member_expression", "subscript_expression", "call_expression"}:
        node = node.child_by_field_name("object") or node.child_by_field_name("function")
    return node_text(node)


def _at(node: Node, rule: str, what: str) -> Finding:
    return Finding(rule, node.start_point.row + 1, f"`{what}`")
