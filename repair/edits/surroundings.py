"""What a whole file offers to the edits of its scopes; made once for all scopes of the same tree."""

from __future__ import annotations

import ast
from functools import cached_property

from repair.edits.once import once
from repair.edits.swapping import called
from repair.scoping import Outside, methods, outside
from repair.tree import Function


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
        methods = {id(node.func) for node in self._every if isinstance(node, ast.Call)}
        found = (node.attr for node in self._every if isinstance(node, ast.Attribute) and id(node) not in methods)
        return tuple(dict.fromkeys(found))

    @cached_property
    def indices(self) -> tuple[ast.expr, ...]:
        """The literals that the file takes items by, each once; at most four."""
        slices = (node.slice for node in self._every if isinstance(node, ast.Subscript))
        found = {self.text(node): node for node in slices if isinstance(node, ast.Constant)}
        return tuple(found.values())[:4]

    @cached_property
    def calls(self) -> frozenset[str]:
        """The names of functions and methods that the file calls."""
        return frozenset(called(node) for node in self._every if isinstance(node, ast.Call))

    @cached_property
    def keywords(self) -> dict[str, list[ast.keyword]]:
        """The keywords that calls of the file have, by the name of what is called."""
        found: dict[str, list[ast.keyword]] = {}
        for node in self._every:
            if isinstance(node, ast.Call) and node.keywords:
                found.setdefault(called(node), []).extend(node.keywords)
        return found

    @cached_property
    def turns(self) -> tuple[str, ...]:
        """The functions that the file calls with one plain argument, as text; methods of objects left out."""
        found: dict[str, None] = {}
        for node in self._every:
            if isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords:
                holder = node.func.value if isinstance(node.func, ast.Attribute) else node.func
                if isinstance(holder, ast.Name) and (holder is node.func or holder.id in self.outside.imports):
                    found.setdefault(self.text(node.func))
        return tuple(found)

    @cached_property
    def plain_methods(self) -> tuple[str, ...]:
        """The names of methods that the file calls without arguments."""
        calls = (node for node in self._every if isinstance(node, ast.Call) and not node.args and not node.keywords)
        return tuple(dict.fromkeys(node.func.attr for node in calls if isinstance(node.func, ast.Attribute)))

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
