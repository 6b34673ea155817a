"""Finds the names that Python source defines, without running the source."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from nightshift.core.code.parsing import parse_quietly


def find_functions(text: str) -> frozenset[str]:
    """Return the names of the functions at the top level of a module; empty if the text is not valid Python."""
    tree = parse_quietly(text)
    return frozenset(_find_functions(tree.body)) if tree else frozenset()


def _find_functions(body: Sequence[ast.stmt]) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name
        elif isinstance(node, ast.If | ast.Try):
            yield from _find_functions([*node.body, *node.orelse])


def find_bound(text: str) -> frozenset[str]:
    """Return all names that a module may bind; empty if the text is not valid Python.

    A name counts if it is defined, assigned or imported anywhere, or if it is the content of a string literal. The
    result may contain names that the module does not bind.
    """
    tree = parse_quietly(text)
    return frozenset(_find_bound(tree)) if tree else frozenset()


def _find_bound(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name
            case ast.alias(name=name, asname=other):
                yield other or name.rpartition(".")[2]
            case ast.Constant(value=str(name)):  # A call may bind this name: `setattr(module, "name", …)`.
                yield name
