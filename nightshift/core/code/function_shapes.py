"""Fingerprints of Python functions, which recognise code that failed in an earlier task even if its names differ.

Names that a function binds are replaced by numbers in the order of their appearance. Its own name, docstring,
annotations and decorators are ignored. Names from outside (globals, attributes and keywords) and constants stay
unchanged, because a failure is often just `n` in place of `n - 1`. Small functions have no fingerprint, because a wrong
small function looks too much like a right one.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from nightshift.core.code.parsing import parse_quietly
from nightshift.core.tasks.task import Change

LEAST_NODES = 20
"""Minimum number of nodes in a function's syntax tree, not counting the contexts of names; about three lines of code.
"""
MAX_CHARS = 400_000
MAX_FUNCTIONS = 500

Function = ast.FunctionDef | ast.AsyncFunctionDef
_PASSED_OVER = frozenset({"ctx", "annotation", "returns", "type_comment", "decorator_list", "type_params"})
_NAMES = frozenset({"id", "arg", "name"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A function: its first line (counted from 1), its name, and its fingerprint."""

    line: int
    name: str
    digest: str


def shapes(text: str) -> list[Shape]:
    """Return the functions and methods of a module that are large enough for a fingerprint.

    The result is empty if the text is not Python.
    """
    tree = parse_quietly(text) if len(text) <= MAX_CHARS else None
    functions = [node for node in ast.walk(tree) if isinstance(node, Function)] if tree else []
    return [shape for node in functions[:MAX_FUNCTIONS] if (shape := _shape_or_none(node))]


def _shape_or_none(function: Function) -> Shape | None:
    try:
        return _shape(function)
    except RecursionError:  # No person writes code that nests this deeply
        return None


def _shape(function: Function) -> Shape | None:
    body = _without_docstring(function.body)
    nodes = sum(not isinstance(node, ast.expr_context) for top in body for node in ast.walk(top))
    if nodes < LEAST_NODES:
        return None
    numbers = {name: f"v{at}" for at, name in enumerate(dict.fromkeys(_list_bound(function)))}
    numbers[function.name] = "f"
    text = "\n".join(_text(node, numbers) for node in (function.args, *body))
    digest = hashlib.sha256(f"{type(function).__name__}\n{text}".encode("utf-8", "backslashreplace")).hexdigest()[:32]
    return Shape(line=function.lineno, name=function.name, digest=digest)


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    first = body[0] if body else None
    documented = (
        isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    )
    return body[1:] if documented else body


def _list_bound(function: Function) -> Iterator[str]:
    """Yield the names that a function binds, in the order of its text.

    Names that it declares global or nonlocal are left out.
    """
    outer = {name for node in ast.walk(function) if isinstance(node, ast.Global | ast.Nonlocal) for name in node.names}
    for node in _in_order(function):
        match node:
            case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()) | ast.ExceptHandler(name=str(name)):
                yield from [name] if name not in outer else ()
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield from [name] if node is not function else ()
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield name


def _in_order(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _in_order(child)


def _text(node: object, numbers: dict[str, str]) -> str:
    """Return a syntax tree as text with the names replaced. Constants keep their type, since 1, 1.0 and True differ."""
    if isinstance(node, list):
        return f"[{','.join(_text(child, numbers) for child in node)}]"
    if isinstance(node, ast.Constant):
        return f"{type(node.value).__name__}:{node.value!r}"
    if not isinstance(node, ast.AST):
        return repr(node)
    parts = (_field(name, value, node, numbers) for name, value in ast.iter_fields(node) if name not in _PASSED_OVER)
    return f"{type(node).__name__}({','.join(parts)})"


def _field(name: str, value: object, node: ast.AST, numbers: dict[str, str]) -> str:
    if name in _NAMES and isinstance(value, str) and not isinstance(node, ast.keyword | ast.alias):
        return numbers.get(value, value)
    if name == "body" and isinstance(node, Function) and isinstance(value, list):
        return _text(_without_docstring(value), numbers)
    return _text(value, numbers)


MOST_EACH = 20
"""Maximum number of functions of one failed change. If a failed change rewrites more functions, its failure says
nothing about any single one.
"""


def shapes_of(change: Change) -> set[str]:
    """Return the fingerprints of all functions of a change."""
    return {shape.digest for path, text in change.items() if text and path.endswith(".py") for shape in shapes(text)}


def list_changed_by_fix(failing: Change, passing: Collection[str]) -> set[str]:
    """Return the fingerprints that a failed change has and the passing change lacks; empty if there are too many."""
    digests = shapes_of(failing) - set(passing)
    return digests if len(digests) <= MOST_EACH else set()
