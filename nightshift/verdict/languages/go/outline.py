"""Finds the tests of a Go file in its text. `go test` recognises them by the names and types of functions alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nightshift.core.code.golang import node_text, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_KINDS = {"Test": "testing.T", "Fuzz": "testing.F"}
_NAME = re.compile(r"(Test|Fuzz|Example)(?![a-z])\w*")
HANDLES = frozenset({"testing.T", "testing.B", "testing.F", "testing.TB"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A test.

    Attributes:
        name: the name of the test function.
        handle: the name of its `testing` parameter, usually `t`; empty or `_` if the parameter has no name.
        function: the syntax node of the test function.
    """

    name: str
    handle: str
    function: Node


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """The tests of a file.

    Attributes:
        names: the names of the tests.
        examples: the names of the example functions, which are checked as well but not reported one by one.
    """

    names: frozenset[str]
    examples: tuple[str, ...] = ()

    @property
    def required(self) -> frozenset[str]:
        """The names of the tests that the run must report."""
        return self.names

    @property
    def is_closed(self) -> bool:
        """Always true, because the text names every test; subtests are reported in addition."""
        return True


def outline(root: Node) -> Outline:
    """Return the tests of a parsed file."""
    names = (node_text(function.child_by_field_name("name")) for function in _functions(root))
    examples = tuple(name for name in names if name.startswith("Example") and _NAME.fullmatch(name))
    return Outline(names=frozenset(case.name for case in cases(root)), examples=examples)


def cases(root: Node) -> Iterator[Case]:
    """Yield the tests of a parsed file in order, without `TestMain`."""
    for function in _functions(root):
        name = node_text(function.child_by_field_name("name"))
        match = _NAME.fullmatch(name)
        given = handles(function)
        if match and name != "TestMain" and len(given) == 1 and _KINDS.get(match[1]) == given[0][1]:
            yield Case(name=name, handle=given[0][0], function=function)


def handles(function: Node) -> list[tuple[str, str]]:
    """Return the name and the type of each parameter of a function.

    The name of an unnamed parameter is empty or `_`. The type of a pointer is returned without the `*`.
    """
    given = function.child_by_field_name("parameters")
    parameters = list[tuple[str, str]]()
    for parameter in given.named_children if given else ():
        if parameter.type == "parameter_declaration":
            kind = node_text(parameter.child_by_field_name("type")).lstrip("*")
            names = [node_text(child) for child in parameter.children_by_field_name("name")]
            parameters += [(name, kind) for name in names or [""]]
    return parameters


def all_handles(root: Node) -> frozenset[str]:
    """Return the names of all `testing` parameters in a file, such as `t` and `b`."""
    kinds = {"function_declaration", "method_declaration", "func_literal"}
    functions = (node for node in walk(root) if node.type in kinds)
    return frozenset(name for function in functions for name, kind in handles(function) if kind in HANDLES)


def _functions(root: Node) -> Iterator[Node]:
    return (node for node in root.named_children if node.type == "function_declaration")
