"""A ground, laid out once for all generators: its expressions with their places, roles, visible names and kinds.

Left alone are f-strings, decorators, annotations, docstrings, patterns, what
is deleted, and the targets of assignments (what stands in the brackets of a target is not).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property, lru_cache
from typing import TypeVar

from models.repair.edits.expecting import expected
from models.repair.edits.spot import Spot
from models.repair.edits.walking import Walk
from models.repair.ground import Ground
from models.repair.inference import inferred
from models.repair.kinds import UNKNOWN, Kind, Kinds
from models.repair.scoping import Outside, methods, outside
from models.repair.tree import Function, at

Node = TypeVar("Node", bound=ast.AST)


class Scene:
    """All spots of a ground, outer ones first in the order of the text."""

    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        self.outside: Outside = outside(ground.tree)
        self.spots = tuple(Walk(ground).spots())
        self._texts: dict[int, str] = {}
        self._parts: dict[int, frozenset[str]] = {}

    @cached_property
    def kinds(self) -> Kinds:
        """Tells the kinds of the scope's expressions."""
        return inferred(list(ast.walk(self.root)), self.outside, self.ground.kinds)

    def of(self, *types: type[Node]) -> Iterator[tuple[Spot, Node]]:
        """The spots whose nodes have one of these types."""
        for spot in self.spots:
            if isinstance(spot.node, types):
                yield spot, spot.node

    @cached_property
    def values(self) -> tuple[tuple[Spot, ast.expr], ...]:
        """The spots where any other expression may stand."""
        return tuple((spot, spot.node) for spot in self.spots if spot.whole and isinstance(spot.node, ast.expr))

    @cached_property
    def attributes(self) -> tuple[str, ...]:
        """The data attributes that the file reads or sets on objects, those of the scope first; methods left out."""
        found: dict[str, None] = {}
        for root in (self.root, self.ground.tree):
            every = list(ast.walk(root))
            called = {id(node.func) for node in every if isinstance(node, ast.Call)}
            found |= {node.attr: None for node in every if isinstance(node, ast.Attribute) and id(node) not in called}
        return tuple(found)

    @cached_property
    def calls(self) -> frozenset[str]:
        """The names of functions and methods that the file calls."""
        every = (node.func for node in ast.walk(self.ground.tree) if isinstance(node, ast.Call))
        return frozenset(getattr(func, "id", "") or getattr(func, "attr", "") for func in every)

    @cached_property
    def methods(self) -> dict[str, Function]:
        """The methods of all classes of the file by name."""
        return {name: item for owner in self.outside.classes.values() for name, item in methods(owner).items()}

    @property
    def root(self) -> ast.AST:
        """The function of the scope, or the module."""
        return at(self.ground.tree, self.ground.scope)

    def kind(self, node: ast.AST) -> Kind:
        """The kind of an expression of the tree."""
        return self.kinds.of(node)

    def wanted(self, spot: Spot) -> Kind:
        """The kind that belongs at a spot: what stands there, or what the place asks for; unknown is any.

        Where only the truth counts any kind does.
        """
        if spot.truth:
            return UNKNOWN
        here = self.kinds.of(spot.node)
        return here | expected(spot, self.kinds) if here else UNKNOWN

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


class _Same:
    """A ground as a key: the same object, and no comparison of what it holds."""

    __slots__ = ("ground",)

    def __init__(self, ground: Ground) -> None:
        self.ground = ground

    def __hash__(self) -> int:
        return id(self.ground)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.ground is self.ground


def scene_of(ground: Ground) -> Scene:
    """The scene of a ground; made once for the generators that ask one after the other."""
    return _scene(_Same(ground))


@lru_cache(maxsize=4)
def _scene(key: _Same) -> Scene:
    return Scene(key.ground)
