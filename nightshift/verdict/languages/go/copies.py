"""Creates the must-fail copy of a Go test file by inverting each comparison that leads to a failure.

Go has no assertions: a test compares values and calls `t.Error` or a similar method. Where the original finds nothing
wrong, the copy fails, in the same test and by the same comparison. For Python, a copy changes an expected value; Go
does not need this, because types are fixed before the run, and tested code cannot redefine a comparison. If no
comparison of a test is certain to be reached, a call is added that makes the copy fail at its end. That failure
distinguishes a genuine report from a forged one, but says nothing about what the test checks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nightshift.core.code.golang import imports, node_text, walk
from nightshift.sandbox.source import Edit
from nightshift.verdict.languages.go.outline import Case, all_handles, cases

if TYPE_CHECKING:
    from tree_sitter import Node

_FAILING = frozenset({"Error", "Errorf", "Fatal", "Fatalf", "Fail", "FailNow"})
_TESTIFY = ("github.com/stretchr/testify/assert", "github.com/stretchr/testify/require", "gotest.tools/v3/assert")
_PAIRS = (
    ("Equal", "NotEqual"), ("EqualValues", "NotEqualValues"), ("True", "False"), ("Nil", "NotNil"),
    ("NoError", "Error"), ("Contains", "NotContains"), ("Empty", "NotEmpty"), ("Zero", "NotZero"), ("Same", "NotSame"),
    ("ErrorIs", "NotErrorIs"), ("Panics", "NotPanics"), ("Regexp", "NotRegexp"), ("Subset", "NotSubset"),
    ("Greater", "LessOrEqual"), ("Less", "GreaterOrEqual"),
)  # fmt: skip
_OPPOSITE = {**dict(_PAIRS), **{other: assertion for assertion, other in _PAIRS}}
_LEAVING = frozenset({"return_statement", "break_statement", "continue_statement", "goto_statement"})


@dataclass(frozen=True, slots=True)
class Check:
    """A piece of code that can fail a test, with edits so that it fails the test whenever the original would not."""

    node: Node
    edits: tuple[Edit, ...]


def edits(root: Node) -> tuple[list[Edit], tuple[str, ...]]:
    """Return the edits that turn a parsed file into its must-fail copy.

    Returns:
        The edits, and the names of the tests that fail only because of an added call.
    """
    checks = _Checks(root)
    changes = [edit for check in checks.checks.values() for edit in check.edits]
    added = list[str]()
    for case in cases(root):
        body = case.function.child_by_field_name("body")
        if body is not None and not checks.is_certain(body) and case.handle.isidentifier():
            changes.append(
                Edit(body.start_byte + 1, body.start_byte + 1, f" {case.handle}.Cleanup({case.handle}.Fail);")
            )
            added.append(case.name)
    return changes, tuple(added)


def checks_something(root: Node) -> bool:
    """Check whether a file contains anything that can fail a test."""
    handles = all_handles(root)
    calls = (node for node in walk(root) if node.type == "call_expression")
    if any(_fails(call, handles) for call in calls):
        return True
    checks = _Checks(root)
    return bool(checks.checks) or _has_example(root)


def name_tests(root: Node, handle: str) -> list[Edit]:
    """Return the edits that name the `testing` parameter of each test that leaves it unnamed."""
    return [edit for case in cases(root) if not case.handle.strip("_") for edit in _naming(case, handle)]


def _naming(case: Case, handle: str) -> Iterator[Edit]:
    given = case.function.child_by_field_name("parameters")
    parameter = given.named_children[0] if given else None
    kind = parameter.child_by_field_name("type") if parameter else None
    if parameter is not None and kind is not None:
        yield Edit(parameter.start_byte, kind.start_byte, f"{handle} ")


class _Checks:
    """The checks of a file, keyed by the position and type of their syntax nodes."""

    def __init__(self, root: Node) -> None:
        self._handles = all_handles(root)
        self._testify = {name for name, path in imports(root) if path in _TESTIFY}
        self.checks = dict[tuple[int, int, str], Check]()
        for node in walk(root):
            if check := self._check(node):
                self.checks[_locate(node)] = check
        self._helpers: dict[str, Node] = {}
        for node in root.named_children:
            body = node.child_by_field_name("body")
            if node.type == "function_declaration" and body is not None:
                self._helpers[node_text(node.child_by_field_name("name"))] = body

    def _check(self, node: Node) -> Check | None:
        if node.type == "if_statement":
            return self._comparison(node)
        if node.type == "call_expression":
            return self._assertion(node)
        return None

    def _comparison(self, node: Node) -> Check | None:
        condition = node.child_by_field_name("condition")
        for branch in (node.child_by_field_name("consequence"), node.child_by_field_name("alternative")):
            if branch is None or branch.type != "block" or condition is None:
                continue
            if handle := next((owner for owner in map(self._failure, _statements(branch)) if owner), ""):
                turned = Edit(condition.start_byte, condition.end_byte, f"!({node_text(condition)})")
                # The block may rely on the condition, for example by calling `err.Error()`. So the added failure comes
                # before the block's own code.
                return Check(
                    node, (turned, Edit(branch.start_byte + 1, branch.start_byte + 1, f" {handle}.FailNow();"))
                )
        return None

    def _failure(self, statement: Node) -> str:
        """Return the variable (such as `t`) on which a statement reports a failure; empty if it reports none."""
        call = statement.named_children[0] if statement.type == "expression_statement" else None
        return _fails(call, self._handles) if call is not None and call.type == "call_expression" else ""

    def _assertion(self, call: Node) -> Check | None:
        function = call.child_by_field_name("function")
        if function is None or function.type != "selector_expression":
            return None
        field = function.child_by_field_name("field")
        opposite = _OPPOSITE.get(node_text(field).removesuffix("f"))
        if field is None or opposite is None or node_text(function.child_by_field_name("operand")) not in self._testify:
            return None
        ending = "f" if node_text(field).endswith("f") and node_text(field) not in _OPPOSITE else ""
        return Check(call, (Edit(field.start_byte, field.end_byte, f"{opposite}{ending}"),))

    def is_certain(self, body: Node, within: tuple[str, ...] = ()) -> bool:
        """Check whether a block that runs to its end certainly reaches a check."""
        for statement in _statements(body):
            if self._reaches(statement, within):
                return True
            if any(node.type in _LEAVING for node in walk(statement)):
                return False
        return False

    def _reaches(self, statement: Node, within: tuple[str, ...]) -> bool:
        if _locate(statement) in self.checks:
            return True
        if statement.type in {"for_statement", "labeled_statement", "block"}:
            body = statement if statement.type == "block" else statement.child_by_field_name("body")
            return body is not None and self.is_certain(body, within)
        if statement.type == "defer_statement" or statement.type != "expression_statement":
            return False
        call = statement.named_children[0]
        return call.type == "call_expression" and self._calls_a_check(call, within)

    def _calls_a_check(self, call: Node, within: tuple[str, ...]) -> bool:
        """Check whether a call is certain to reach a check.

        The call may be the check itself, a call of a helper, or a `t.Run` with a function.
        """
        if _locate(call) in self.checks:
            return True
        function, given = call.child_by_field_name("function"), call.child_by_field_name("arguments")
        name = node_text(function)
        if function is None or given is None:
            return False
        if function.type == "selector_expression" and name.rpartition(".")[2] == "Run":
            bodies = (
                argument.child_by_field_name("body")
                for argument in given.named_children
                if argument.type == "func_literal"
            )
            return any(body is not None and self.is_certain(body, within) for body in bodies)
        helper = self._helpers.get(name)
        return helper is not None and name not in within and self.is_certain(helper, (*within, name))


def _fails(call: Node, handles: frozenset[str]) -> str:
    """Return the variable (such as `t`) on which a call reports a failure; empty if it reports none."""
    function = call.child_by_field_name("function")
    if function is None or function.type != "selector_expression":
        return ""
    owner = node_text(function.child_by_field_name("operand"))
    return owner if owner in handles and node_text(function.child_by_field_name("field")) in _FAILING else ""


def _statements(block: Node) -> list[Node]:
    nodes: list[Node] = []
    for child in block.named_children:
        nodes += child.named_children if child.type == "statement_list" else [child]
    return [node for node in nodes if node.type != "comment"]


def _has_example(root: Node) -> bool:
    comments = (node_text(node) for node in walk(root) if node.type == "comment")
    return any(text.lstrip("/ ").lower().startswith(("output:", "unordered output:")) for text in comments)


def _locate(node: Node) -> tuple[int, int, str]:
    return node.start_byte, node.end_byte, node.type
