"""Reads the tests of a file of node:test from its text: the list that a run's reports are held against.

A test is named by the titles above it, as in `suite > test`; further ones of the same name are numbered. Tests that
are made in a loop, under a condition, or with a title that is put together cannot be listed: what stands around them
is open, and reports below it are accepted besides those that are listed.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from nightshift.core.code.javascript import arguments, literal, node_text
from nightshift.verdict.languages.javascript import names
from nightshift.verdict.languages.javascript.names import Names

if TYPE_CHECKING:
    from tree_sitter import Node

JOINED = " > "
FUNCTIONS = frozenset({"arrow_function", "function_expression"})
# What may stand around a call that is certainly made once when its block runs.
_PLAIN = frozenset({"program", "expression_statement", "await_expression", "statement_block", "comment"})
_NO_CALLBACK = frozenset({"string", "template_string", "object", "number"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One call that makes a test.

    `name` is empty where it cannot be known; `callback` is the test's function, or the whole file; `is_marked` tells
    that a constant mark skips it.
    """

    name: str
    required: bool
    callback: Node | None
    is_marked: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """The tests of a file.

    `is_script` tells that the file itself is its only test.
    """

    cases: tuple[Case, ...]
    is_script: bool = False

    @property
    def required(self) -> frozenset[str]:
        """The names that must be reported."""
        return frozenset(case.name for case in self.cases if case.required)

    @property
    def is_closed(self) -> bool:
        """Tell whether its text names every test."""
        return all(case.name for case in self.cases)


def script(path: str, root: Node) -> Outline:
    """The outline of a file that is a test by itself, named like the file; a helper may add tests to it."""
    case = Case(name=PurePosixPath(path).name, required=False, callback=root)
    return Outline(cases=(case,), is_script=True)


def outline(root: Node, local_names: Names) -> Outline:
    """List the tests of a parsed file.

    Args:
        root: its syntax tree.
        local_names: what its names stand for.
    """
    reader = _Reader(local_names)
    reader.visit(root, "", certain=True)
    return Outline(cases=tuple(reader.cases))


class _Reader:
    def __init__(self, local_names: Names) -> None:
        self._names, self._seen = local_names, Counter[str]()
        self.cases: list[Case] = []

    def visit(self, node: Node, scope: str, *, certain: bool) -> None:
        """Look for tests in a node; `certain` tells that it runs once when what is around it runs."""
        for child in node.named_children:
            kind = None
            if child.type == "call_expression":
                kind = self._names.kind(child.child_by_field_name("function"))
            if kind:
                is_made = self._names.is_made(child.child_by_field_name("function"))
                self._add_test(child, kind, scope, certain=certain and not is_made, is_titled=not is_made)
            else:
                self.visit(child, scope, certain=certain and child.type in _PLAIN)

    def _add_test(self, call: Node, kind: str, scope: str, *, certain: bool, is_titled: bool) -> None:
        given = arguments(call)
        title = literal(given[0]) if given and is_titled else None
        name = self._number_name(f"{scope}{JOINED}{title}" if scope else title, kind) if title else ""
        callback = next((argument for argument in reversed(given[:3]) if argument.type not in _NO_CALLBACK), None)
        if kind == names.TEST:
            is_marked = _is_marked(call)
            self.cases.append(Case(name=name, required=bool(name and certain), callback=callback, is_marked=is_marked))
        body = callback.child_by_field_name("body") if callback and callback.type in FUNCTIONS else None
        if callback is not None and body is not None:
            # An arrow without braces has its one expression for a body.
            around = body if body.type == "statement_block" else callback
            self.visit(around, name or scope, certain=bool(name and certain))

    def _number_name(self, name: str, kind: str) -> str:
        if kind == names.SUITE:
            return name
        self._seen[name] += 1
        return name if self._seen[name] == 1 else f"{name} #{self._seen[name]}"


def _is_marked(call: Node) -> bool:
    """Tell whether a test is skipped, or still to be written, by its text alone."""
    function = node_text(call.child_by_field_name("function"))
    if function.endswith((".skip", ".todo")) or function in {"xit", "xtest"}:
        return True
    options = (pair for given in arguments(call) if given.type == "object" for pair in given.named_children)
    named = ((node_text(pair.child_by_field_name("key")), pair.child_by_field_name("value")) for pair in options)
    return any(
        key in {"skip", "todo"} and value is not None and value.type in {"true", "string"} for key, value in named
    )
