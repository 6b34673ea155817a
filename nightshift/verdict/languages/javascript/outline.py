"""Lists the tests of a JavaScript test file from its text. The report of a run is compared with this list.

The name of a test includes the titles of the suites around it, as in `suite > test`; repeated names are numbered. Tests
that are created in a loop, under a condition, or with a computed title cannot be listed. If the run reports such tests,
they are accepted in addition to the listed ones.
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
# Types of syntax nodes that run their content exactly once. If a call is separated from a block only by such nodes, the
# call runs exactly once whenever the block runs.
_PLAIN = frozenset({"program", "expression_statement", "await_expression", "statement_block", "comment"})
_NO_CALLBACK = frozenset({"string", "template_string", "object", "number"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A call that creates a test.

    Attributes:
        name: the name of the test; empty if the text does not show it.
        required: true if the run must report the test.
        callback: the test's function; for a file that is itself a test, the root of its syntax tree.
        is_marked: true if a constant mark skips the test.
    """

    name: str
    required: bool
    callback: Node | None
    is_marked: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """The tests of a file.

    Attributes:
        cases: the calls that create tests.
        is_script: true if the file has no test calls and counts as one test itself.
    """

    cases: tuple[Case, ...]
    is_script: bool = False

    @property
    def required(self) -> frozenset[str]:
        """The names of the tests that the run must report."""
        return frozenset(case.name for case in self.cases if case.required)

    @property
    def is_closed(self) -> bool:
        """True if the text names every test."""
        return all(case.name for case in self.cases)


def script(path: str, root: Node) -> Outline:
    """Return the outline of a file that is itself one test, with the file's name.

    The test is not required, because a helper that the file imports may create tests in its place.
    """
    case = Case(name=PurePosixPath(path).name, required=False, callback=root)
    return Outline(cases=(case,), is_script=True)


def outline(root: Node, local_names: Names) -> Outline:
    """List the tests of a parsed file.

    Args:
        root: the file's syntax tree.
        local_names: the local names of the file that refer to tests and checks.
    """
    reader = _Reader(local_names)
    reader.visit(root, "", certain=True)
    return Outline(cases=tuple(reader.cases))


class _Reader:
    def __init__(self, local_names: Names) -> None:
        self._names, self._seen = local_names, Counter[str]()
        self.cases: list[Case] = []

    def visit(self, node: Node, scope: str, *, certain: bool) -> None:
        """Record the tests inside a node; `certain` is true if the node runs exactly once whenever its parent runs."""
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
            # The body of an arrow function without braces is its expression.
            around = body if body.type == "statement_block" else callback
            self.visit(around, name or scope, certain=bool(name and certain))

    def _number_name(self, name: str, kind: str) -> str:
        if kind == names.SUITE:
            return name
        self._seen[name] += 1
        return name if self._seen[name] == 1 else f"{name} #{self._seen[name]}"


def _is_marked(call: Node) -> bool:
    """Check whether a constant in the text marks a test as `skip` or `todo`."""
    function = node_text(call.child_by_field_name("function"))
    if function.endswith((".skip", ".todo")) or function in {"xit", "xtest"}:
        return True
    options = (pair for given in arguments(call) if given.type == "object" for pair in given.named_children)
    named = ((node_text(pair.child_by_field_name("key")), pair.child_by_field_name("value")) for pair in options)
    return any(
        key in {"skip", "todo"} and value is not None and value.type in {"true", "string"} for key, value in named
    )
