"""Lists the tests of a Python file from its text. Tests that the file generates on import cannot be listed."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from nightshift.verdict.languages.python.pytest_settings import PytestSettings

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A test function.

    Attributes:
        name: the name as in pytest, such as `TestX::test_y`.
        node: the syntax node of the function.
        required: true if the run must report the test.
    """

    name: str
    node: Function
    required: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """The tests that the text of a file defines."""

    cases: tuple[Case, ...]

    @property
    def required(self) -> frozenset[str]:
        """The names of the tests that the run must report."""
        return frozenset(case.name for case in self.cases if case.required)


def outline(tree: ast.Module, settings: PytestSettings) -> Outline:
    """List the tests of a parsed file."""
    return Outline(cases=tuple(_Reader(tree, settings).module()))


class _Reader:
    def __init__(self, tree: ast.Module, settings: PytestSettings) -> None:
        self._tree, self._settings = tree, settings
        self._classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}

    def module(self) -> Iterator[Case]:
        """Yield the tests at the top level and in classes.

        Tests inside `if`, `try` or `with` are listed but not required, because they may not exist at run time. Neither
        are tests that the module deletes.
        """
        deletions = (target for node in self._tree.body if isinstance(node, ast.Delete) for target in node.targets)
        gone = set(map(last_name, deletions))
        for node in self._tree.body:
            yield from self._statement(node, required=getattr(node, "name", "") not in gone)

    def _statement(self, node: ast.stmt, *, required: bool) -> Iterator[Case]:
        if isinstance(node, Function) and self._settings.is_function(node.name):
            yield Case(name=node.name, node=node, required=required)
        elif isinstance(node, ast.ClassDef):
            yield from self._class(node, node.name, required=required)
        elif isinstance(node, ast.If | ast.Try | ast.With):
            for inner in ast.iter_child_nodes(node):
                if isinstance(inner, ast.stmt):
                    yield from self._statement(inner, required=False)
                elif isinstance(inner, ast.ExceptHandler):
                    for statement in inner.body:
                        yield from self._statement(statement, required=False)

    def _class(self, node: ast.ClassDef, name: str, *, required: bool) -> Iterator[Case]:
        chain = list(self._ancestry(node))
        is_unittest = any(last_name(base).endswith("TestCase") for ancestor in chain for base in ancestor.bases)
        if not is_unittest and (not self._settings.is_class(node.name) or _is_hidden(chain)):
            return
        seen: set[str] = set()
        for ancestor in chain:
            for member in ancestor.body:
                if isinstance(member, Function) and member.name not in seen and self._is_method(member, is_unittest):
                    seen.add(member.name)
                    yield Case(name=f"{name}::{member.name}", node=member, required=required)
                elif isinstance(member, ast.ClassDef) and not is_unittest:
                    yield from self._class(member, f"{name}::{member.name}", required=required)

    def _is_method(self, node: Function, is_unittest: bool) -> bool:
        return node.name.startswith("test") if is_unittest else self._settings.is_function(node.name)

    def _ancestry(self, node: ast.ClassDef) -> Iterator[ast.ClassDef]:
        """Yield a class and its ancestors in the file, nearest first."""
        waiting, seen = [node], set()
        while waiting:
            current = waiting.pop(0)
            if current.name not in seen:
                seen.add(current.name)
                yield current
                bases = [base.id for base in current.bases if isinstance(base, ast.Name)]
                waiting += [self._classes[name] for name in bases if name in self._classes]


def last_name(node: ast.expr) -> str:
    """Return a name, or the last part of a dotted name; empty for any other expression."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _is_hidden(chain: list[ast.ClassDef]) -> bool:
    """Check whether pytest ignores a class, because it has a constructor or sets `__test__` to false."""
    for member in (member for ancestor in chain for member in ancestor.body):
        if isinstance(member, Function) and member.name in {"__init__", "__new__"}:
            return True
        if isinstance(member, ast.Assign) and any(getattr(t, "id", "") == "__test__" for t in member.targets):
            return isinstance(member.value, ast.Constant) and not member.value.value
    return False
