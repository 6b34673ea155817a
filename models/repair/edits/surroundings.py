"""What a whole file offers to the edits of its scopes; made once for all scopes of the same tree."""

from __future__ import annotations

import ast
from functools import cached_property

from models.repair.edits.once import once
from models.repair.scoping import Outside, methods, outside
from models.repair.tree import Function


class Surroundings:
    """A file as seen from one of its scopes."""

    def __init__(self, tree: ast.Module) -> None:
        self._every = list(ast.walk(tree))
        self.outside: Outside = outside(tree)
        self._texts: dict[int, str] = {}
        self._parts: dict[int, frozenset[str]] = {}

    @cached_property
    def attributes(self) -> tuple[str, ...]:
        """The data attributes that the file reads or sets on objects, the outermost first; methods left out."""
        called = {id(node.func) for node in self._every if isinstance(node, ast.Call)}
        found = (node.attr for node in self._every if isinstance(node, ast.Attribute) and id(node) not in called)
        return tuple(dict.fromkeys(found))

    @cached_property
    def calls(self) -> frozenset[str]:
        """The names of functions and methods that the file calls."""
        every = (node.func for node in self._every if isinstance(node, ast.Call))
        return frozenset(getattr(func, "id", "") or getattr(func, "attr", "") for func in every)

    @cached_property
    def methods(self) -> dict[str, Function]:
        """The methods of all classes of the file by name."""
        return {name: item for owner in self.outside.classes.values() for name, item in methods(owner).items()}

    @cached_property
    def coroutines(self) -> frozenset[str]:
        """The names of all coroutines of the file."""
        return frozenset(node.name for node in self._every if isinstance(node, ast.AsyncFunctionDef))

    @cached_property
    def expressions(self) -> tuple[ast.expr, ...]:
        """All expressions of the file, those nearest to the root first."""
        return tuple(node for node in self._every if isinstance(node, ast.expr))

    def text(self, node: ast.AST) -> str:
        """The source text of a node of the tree."""
        known = self._texts.get(id(node))
        if known is None:
            known = self._texts[id(node)] = ast.unparse(node)
        return known

    def parts(self, node: ast.expr) -> frozenset[str]:
        """The texts of an expression of the tree and of all expressions in it."""
        known = self._parts.get(id(node))
        if known is None:
            below = (part for part in ast.walk(node) if isinstance(part, ast.expr) and not isinstance(part, ast.Slice))
            known = self._parts[id(node)] = frozenset(map(self.text, below))
        return known


@once
def surroundings(tree: ast.Module) -> Surroundings:
    """What the file with this tree offers."""
    return Surroundings(tree)
