"""The scopes of a file: each outermost function, and what is left of the file without them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from repair.tree import Function, Place, at


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """An outermost function, or the rest of the file (`place` and `name` are empty then).

    `statements` are all statements in it at any depth; those of the rest stand outside of functions, and the heads of
    functions are among them, because decorators and defaults are evaluated there.
    """

    name: str
    place: Place
    statements: tuple[ast.stmt, ...]

    @property
    def is_rest(self) -> bool:
        """Whether this is what is left of a file without its functions."""
        return not self.place

    @property
    def lines(self) -> range:
        """From the first to the last line."""
        lasts = [statement.end_lineno or statement.lineno for statement in self.statements]
        return range(min((s.lineno for s in self.statements), default=1), max(lasts, default=0) + 1)

    def node(self, tree: ast.Module) -> ast.AST:
        """The function, or the module."""
        return at(tree, self.place)


def scopes(tree: ast.Module) -> list[Scope]:
    """All scopes of a file, in the order of the text, the rest last."""
    found = [Scope(name=name, place=place, statements=tuple(_all(node.body))) for name, place, node in functions(tree)]
    return [*found, Scope(name="", place=(), statements=tuple(_outside(tree.body)))]


def functions(tree: ast.Module) -> Iterator[tuple[str, Place, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """The outermost functions with their qualified names, methods of classes among them."""
    yield from _functions(tree, "", ())


def _functions(
    holder: ast.AST, prefix: str, place: Place
) -> Iterator[tuple[str, Place, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for field, block in ast.iter_fields(holder):
        for index, node in enumerate(block if isinstance(block, list) else ()):
            here = (*place, (field, index))
            if isinstance(node, Function):
                yield prefix + node.name, here, node
            elif isinstance(node, ast.ClassDef):
                yield from _functions(node, f"{prefix}{node.name}.", here)
            elif isinstance(node, ast.stmt | ast.excepthandler):
                yield from _functions(node, prefix, here)


def _all(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        yield from (node for node in ast.walk(statement) if isinstance(node, ast.stmt))


def _outside(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        yield statement
        if isinstance(statement, Function):
            continue
        for _, block in ast.iter_fields(statement):
            if isinstance(block, list):
                inner = [node for node in block if isinstance(node, ast.stmt)]
                yield from _outside(inner)
