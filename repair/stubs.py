"""Functions that have a signature and no body yet."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from core.stubs import is_stub
from core.trials import Sight
from repair.scopes import functions
from repair.tree import Place, replaced


@dataclass(frozen=True, slots=True, kw_only=True)
class Stub:
    """A function without a body: its file, qualified name and place."""

    path: str
    scope: str
    place: Place


def find(trees: Mapping[str, ast.Module], sight: Sight) -> list[Stub]:
    """The stubs that failing tests run; all stubs where it is not known what they run."""
    ran = {(path, line) for test in sight.failing for path, lines in test.lines.items() for line in lines}
    found = list[Stub]()
    for path, tree in trees.items():
        for name, place, node in functions(tree):
            body_lines = {(path, line) for one in node.body for line in range(one.lineno, (one.end_lineno or 0) + 1)}
            if is_stub(node) and (not ran or ran & body_lines):
                found.append(Stub(path=path, scope=name, place=place))
    return found


def filled(tree: ast.Module, stub: Stub, text: str) -> ast.Module:
    """The tree with another text of the function, which begins at column 0."""
    made = ast.parse(text).body
    function = next(node for node in made if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    whole: ast.Module = replaced(tree, stub.place, function)
    return whole
