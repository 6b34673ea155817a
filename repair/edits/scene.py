"""A ground, laid out once for all generators: its expressions with their places, roles, visible names and kinds.

Left alone are the texts of f-strings, decorators, annotations, docstrings, patterns, what
is deleted, and the targets of assignments (what stands in the brackets of a target is not).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property
from typing import TypeVar

from repair.edits.expecting import expected
from repair.edits.once import once
from repair.edits.spot import Spot
from repair.edits.surroundings import Surroundings, surroundings
from repair.edits.walking import Walk
from repair.ground import Ground
from repair.inference import inferred
from repair.kinds import UNKNOWN, Kind, Kinds
from repair.scoping import Outside
from repair.tree import at

Node = TypeVar("Node", bound=ast.AST)


class Scene:
    """All spots of a ground, outer ones first in the order of the text."""

    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        self.file: Surroundings = surroundings(ground.tree)
        self.outside: Outside = self.file.outside
        self.spots = tuple(Walk(ground).spots())

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
        return self.file.text(node)


@once
def scene_of(ground: Ground) -> Scene:
    """The scene of a ground; made once for the generators that ask one after the other."""
    return Scene(ground)
