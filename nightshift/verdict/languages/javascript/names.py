"""Finds the local names that refer to node:test, vitest or jest and to their checks, from the imports of a file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from nightshift.core.code.javascript import arguments, literal, node_text, walk

if TYPE_CHECKING:
    from tree_sitter import Node

TEST, SUITE = "test", "suite"
_TESTS = {"test": TEST, "it": TEST, "describe": SUITE, "suite": SUITE}
_VARIANTS = frozenset({"only", "skip", "todo", "concurrent", "sequential", "fails", "failing", "shuffle"})
_MAKING = frozenset({"each", "for", "skipIf", "runIf"})
_TEST_MODULES = frozenset({"node:test"})
_EXPECT_MODULES = frozenset({"vitest", "@jest/globals"})
_OF_EXPECT = frozenset({"soft", "poll"})
_GLOBALS = {
    **_TESTS, "xit": TEST, "fit": TEST, "xtest": TEST, "xdescribe": SUITE, "fdescribe": SUITE,
}  # fmt: skip
_ASSERT_MODULES = frozenset({"assert", "assert/strict", "node:assert", "node:assert/strict"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """A check with `expect`, as in vitest and jest.

    Attributes:
        start: the node of the call `expect(x)`.
        chain: the property names after it, such as `not` and `toBe`.
    """

    start: Node
    chain: tuple[str, ...]


@dataclass(slots=True)
class Names:
    """The local names in a file that refer to tests and checks.

    Attributes:
        tests: functions that create tests, each with `test` or `suite`.
        runners: names of the whole node:test module.
        checks: imported functions of node:assert, each with its original name.
        asserts: names of the node:assert object, which can be called itself.
        contexts: parameters of test functions that receive the running test, such as `t`.
        expects: names of `expect` from vitest or jest.
    """

    tests: dict[str, str] = field(default_factory=dict)
    runners: set[str] = field(default_factory=set)
    checks: dict[str, str] = field(default_factory=dict)
    asserts: set[str] = field(default_factory=set)
    contexts: set[str] = field(default_factory=set)
    expects: set[str] = field(default_factory=set)

    def kind(self, function: Node | None) -> str | None:
        """Return `test` or `suite` if a called function creates one; otherwise None."""
        if function is None:
            return None
        if function.type == "identifier":
            return self.tests.get(node_text(function))
        if self.is_made(function):
            return self.kind(_member(_inner(function))[0])
        owner, name = _member(function)
        if owner is None:
            return None
        if name in _VARIANTS:
            return self.kind(owner)
        if node_text(owner) in self.runners:
            return _TESTS.get(name)
        return TEST if name == "test" and node_text(owner) in self.contexts else None

    def is_made(self, function: Node | None) -> bool:
        """Check whether a called function is itself the result of a call, as in `test.each(table)(…)`.

        Such a function creates any number of tests.
        """
        return function is not None and _inner(function) is not function and _member(_inner(function))[1] in _MAKING

    def expectation(self, call: Node) -> Expectation | None:
        """Return a call as a check with `expect`; None for other calls."""
        node, chain = call.child_by_field_name("function"), list[str]()
        while node is not None and node.type == "member_expression":
            node, name = _member(node)
            chain.insert(0, name)
        if node is None or node.type != "call_expression" or not chain:
            return None
        function = node.child_by_field_name("function")
        owner, name = _member(function) if function is not None else (None, "")
        if name in _OF_EXPECT and owner is not None:
            function = owner
        is_expect = function is not None and function.type == "identifier" and node_text(function) in self.expects
        return Expectation(start=node, chain=tuple(chain)) if is_expect else None

    def check(self, function: Node | None) -> str | None:
        """Return the name of a called function in node:assert; None for other functions.

        The name of `assert(x)` is `ok`.
        """
        if function is None:
            return None
        if function.type == "identifier":
            return "ok" if node_text(function) in self.asserts else self.checks.get(node_text(function))
        owner, name = _member(function)
        if owner is None or not self._is_assert(owner):
            return None
        return "ok" if name == "strict" else name

    def _is_assert(self, node: Node) -> bool:
        if node.type == "identifier":
            return node_text(node) in self.asserts
        owner, name = _member(node)
        if owner is None:
            return False
        return self._is_assert(owner) if name in {"strict", "default"} else self._is_of_context(owner, name)

    def _is_of_context(self, owner: Node, name: str) -> bool:
        return name == "assert" and node_text(owner) in self.contexts


def read(root: Node, *, has_globals: bool = False) -> Names:
    """Return the local names of a file that refer to tests and checks.

    Args:
        root: the file's syntax tree.
        has_globals: whether tests and checks may be used without an import, as in jest.
    """
    names = Names(tests=dict(_GLOBALS), expects={"expect"}) if has_globals else Names()
    for node in walk(root):
        if node.type == "import_statement":
            _import(node, names)
        elif node.type == "variable_declarator":
            _require(node, names)
    for node in walk(root):
        if node.type == "call_expression" and names.kind(node.child_by_field_name("function")):
            names.contexts |= {name for argument in arguments(node) if (name := first_parameter(argument))}
    return names


def first_parameter(function: Node) -> str | None:
    """Return the name of a function's first parameter; None if it is not a plain name."""
    if single := function.child_by_field_name("parameter"):
        return node_text(single)
    parameters = function.child_by_field_name("parameters")
    inner = parameters.named_children if parameters else ()
    first = next((child for child in inner if child.type != "comment"), None)
    if first is not None and first.type in {"required_parameter", "optional_parameter"}:
        first = first.child_by_field_name("pattern")
    return node_text(first) if first is not None and first.type == "identifier" else None


def _inner(function: Node) -> Node:
    """Return `f` if the called function is itself the call `f(…)`; return any other function unchanged."""
    if function.type == "call_expression" and (inner := function.child_by_field_name("function")):
        return inner
    return function


def _member(node: Node) -> tuple[Node | None, str]:
    if node.type != "member_expression":
        return None, ""
    return node.child_by_field_name("object"), node_text(node.child_by_field_name("property"))


def _import(node: Node, names: Names) -> None:
    module = literal(node.child_by_field_name("source")) or ""
    clause = next((child for child in node.named_children if child.type == "import_clause"), None)
    for part in clause.named_children if clause else ():
        if part.type == "identifier":
            _bind(module, "default", node_text(part), names)
        elif part.type == "namespace_import":
            _bind(module, "*", node_text(part.named_children[0]), names)
        for specifier in part.named_children if part.type == "named_imports" else ():
            imported = node_text(specifier.child_by_field_name("name"))
            _bind(module, imported, node_text(specifier.child_by_field_name("alias")) or imported, names)


def _require(node: Node, names: Names) -> None:
    target, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    suffix = ""
    if value is not None and value.type == "member_expression":  # require('node:assert').strict
        value, suffix = _member(value)
    call = value is not None and value.type == "call_expression" and node_text(value.child_by_field_name("function"))
    if target is None or value is None or call != "require":
        return
    module = literal(next(iter(arguments(value)), None)) or ""
    if target.type == "identifier":
        _bind(module, suffix or "default", node_text(target), names)
    for member in target.named_children if target.type == "object_pattern" else ():
        if member.type == "shorthand_property_identifier_pattern":
            _bind(module, node_text(member), node_text(member), names)
        elif member.type == "pair_pattern":
            _bind(
                module,
                node_text(member.child_by_field_name("key")),
                node_text(member.child_by_field_name("value")),
                names,
            )


def _bind(module: str, name: str, local: str, names: Names) -> None:
    if module in _TEST_MODULES:
        if name in {"default", "*"}:
            names.runners.add(local)
        kind = TEST if name == "default" else _TESTS.get(name)
        if kind:
            names.tests[local] = kind
    elif module in _EXPECT_MODULES:
        if name in _TESTS:
            names.tests[local] = _TESTS[name]
        elif name == "expect":
            names.expects.add(local)
        elif name == "assert":
            names.asserts.add(local)
    elif module in _ASSERT_MODULES:
        if name in {"default", "*", "strict", "ok"}:
            names.asserts.add(local)
        else:
            names.checks[local] = name
