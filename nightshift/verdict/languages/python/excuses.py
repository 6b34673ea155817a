"""Which tests of a file its own text lets off: by marks, or by a call in a line of it."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from nightshift.verdict.languages.plan import Excuses
from nightshift.verdict.languages.python.outline import Case

_MARKS = {"skip": "skip", "skipif": "skip", "xfail": "xfail"}
_CALLS = frozenset({"skip", "xfail", "importorskip"})
_UNCONDITIONAL = {"skip": "skip", "expectedFailure": "xfail"}
"""Decorators of unittest's; its other skips are read as pytest's (`verdict.languages.python.unittest_skips`)."""


def excuses(tree: ast.Module, cases: Collection[Case]) -> Excuses:
    """Read which tests of a module it marks, and in which lines it skips or gives up what runs.

    Args:
        tree: the module.
        cases: its tests.
    """
    reader = _Reader(tree)
    of_all = reader.marks_in(_pytestmark(tree.body))
    marked = {case.name: of_all | reader.of_test(case) for case in cases}
    return Excuses(marked={name: marks for name, marks in marked.items() if marks}, lines=frozenset(reader.lines()))


class _Reader:
    def __init__(self, tree: ast.Module) -> None:
        self._tree = tree
        self._classes = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
        stored = [node for node in tree.body if isinstance(node, ast.Assign)]
        self._stored = {name.id: node.value for node in stored for name in node.targets if isinstance(name, ast.Name)}
        imported = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        self._imported = {
            alias.asname or alias.name: (node.module, alias.name) for node in imported for alias in node.names
        }

    def of_test(self, case: Case) -> frozenset[str]:
        """The marks of a test: its own, those that it gives itself, and those of its classes."""
        inside = [node for node in ast.walk(case.node) if isinstance(node, ast.Attribute)]
        found = self.marks_in(case.node.decorator_list) | {mark for node in inside if (mark := self._mark(node))}
        waiting = case.owner.split("::") if case.owner else []
        seen = set[str]()
        while waiting:
            node = self._classes.get(name := waiting.pop())
            if node is None or name in seen:
                continue
            seen.add(name)
            found |= self.marks_in([*node.decorator_list, *_pytestmark(node.body)])
            waiting += [base.id for base in node.bases if isinstance(base, ast.Name)]
        return found

    def marks_in(self, expressions: Collection[ast.expr]) -> frozenset[str]:
        """The marks that expressions hold or name."""
        found, waiting, seen = set[str](), list(expressions), set[str]()
        while waiting:
            for node in ast.walk(waiting.pop()):
                if isinstance(node, ast.Name) and node.id in self._stored and node.id not in seen:
                    seen.add(node.id)
                    waiting.append(self._stored[node.id])
                if isinstance(node, ast.Name | ast.Attribute) and (mark := self._mark(node)):
                    found.add(mark)
        return frozenset(found)

    def _mark(self, node: ast.Name | ast.Attribute) -> str:
        module, name = self._meant(node)
        if module in {"pytest.mark", "mark"}:
            return _MARKS.get(name, "")
        return _UNCONDITIONAL.get(name, "") if module == "unittest" else ""

    def _meant(self, node: ast.expr) -> tuple[str, str]:
        """What a name or an attribute stands for: the end of a module's name, and a name in it."""
        if isinstance(node, ast.Name):
            module, name = self._imported.get(node.id, ("", node.id))
            return module or "", name
        if not isinstance(node, ast.Attribute):
            return "", ""
        module, name = self._meant(node.value)
        owner = f"{module}.{name}" if module else name
        return ("pytest.mark" if owner.endswith(".mark") else owner), node.attr

    def lines(self) -> Iterator[int]:
        """The lines of calls that skip what runs, or say that it fails as expected."""
        for node in ast.walk(self._tree):
            match node:
                case ast.Call(func=ast.Name() | ast.Attribute() as function):
                    module, name = self._meant(function)
                    if module == "pytest" and name in _CALLS:
                        yield from range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _pytestmark(body: Collection[ast.stmt]) -> list[ast.expr]:
    return [
        node.value
        for node in body
        if isinstance(node, ast.Assign) and any(getattr(name, "id", "") == "pytestmark" for name in node.targets)
    ]
