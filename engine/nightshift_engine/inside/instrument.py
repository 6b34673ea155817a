"""Serves the tree's own modules instrumented: loop turns and function entries use up a limited number of steps.

So an endless loop ends after some thousand turns, in milliseconds, instead of at a timeout. The counter is a chain of C
iterators, which costs some thirty nanoseconds per turn: first one None per allowed step, then an iterator that only
raises. The exception does not derive from `Exception`, so that handlers in the tested code do not catch it.

Line numbers stay those of the file. A changed text can be served in place of a file.
"""
# Importing pathlib would add some milliseconds to every start of the sandbox.
# ruff: noqa: PTH109, PTH118, PTH123

import ast
import builtins
import itertools
import operator
import os
import sys
from collections.abc import Iterable
from importlib.machinery import SourceFileLoader
from types import CodeType
from typing import Any

NAME = "__nightshift_tick__"

Allowed = tuple[int, "itertools.repeat[None]"]


class OutOfSteps(BaseException):
    """Raised when the code takes more loop turns and calls than allowed."""


class _Beyond:
    """The iterator after the last allowed step; it only raises."""

    def __iter__(self) -> "_Beyond":
        return self

    def __next__(self) -> None:
        raise OutOfSteps


def allow(steps: int) -> Allowed:
    """Allow this many steps from now on; return the argument for `count_used`."""
    left = itertools.repeat(None, steps)
    setattr(builtins, NAME, itertools.chain(left, _Beyond()).__next__)
    return steps, left


def count_used(allowed: Allowed) -> int:
    """Return how many of the allowed steps were taken."""
    steps, left = allowed
    return steps - operator.length_hint(left)


class Entered:
    """Counts steps in Python instead of in C, and records the functions and modules that take them.

    Each is recorded as (file, first line).
    """

    def __init__(self, steps: int) -> None:
        self._left = steps
        self.places = set[tuple[str, int]]()

    def __enter__(self) -> "Entered":
        setattr(builtins, NAME, self._tick)
        return self

    def __exit__(self, *_: object) -> None:
        allow(self._left)

    def _tick(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise OutOfSteps
        code = sys._getframe(1).f_code  # noqa: SLF001 (the only way to ask)
        self.places.add((code.co_filename, code.co_firstlineno))


def ticking(tree: ast.Module) -> ast.Module:
    """Insert the calls that count steps (ticks) into a module's tree, in place; return the tree."""
    _enter_blocks(tree)
    return tree


def _enter_blocks(node: Any) -> None:
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        for inner in getattr(node, field, ()):
            _enter_blocks(inner)
    if isinstance(node, ast.While | ast.For | ast.AsyncFor):
        node.body.insert(0, _tick(node.body[0]))
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        after = 1 if ast.get_docstring(node, clean=False) is not None else 0
        node.body.insert(after, _tick(node.body[min(after, len(node.body) - 1)]))


def _tick(near: ast.stmt) -> ast.Expr:
    name = ast.Name(NAME, ast.Load())
    call = ast.Call(name, [], [])
    tick = ast.Expr(call)
    for node in (tick, call, name):
        ast.copy_location(node, near)
    return tick


class Served:
    """Serves the tree's modules to the import system, instrumented or with a changed text.

    Args:
        tests: paths that are left as they are.

    Attributes:
        root: the folder of the tree, with a separator at its end.
        is_ticking: whether modules are instrumented.
        over: maps the path of a file to the syntax tree that is served in place of the file.
        codes: maps the path of a module to its code as last imported.
    """

    def __init__(self, tests: Iterable[str]) -> None:
        self.root = os.path.join(os.getcwd(), "")
        self.is_ticking = True
        self.over, self.codes = dict[str, ast.Module](), dict[str, CodeType]()
        self._tests = frozenset(tests)
        self._usual = SourceFileLoader.get_code

    def install(self) -> None:
        """Replace the usual loader for files of the tree."""
        served, usual = self, self._usual

        def get_code(self: SourceFileLoader, fullname: str) -> CodeType | None:
            path = served.path_of(self.path)
            return usual(self, fullname) if path is None else served.code(path)

        SourceFileLoader.get_code = get_code  # type: ignore[method-assign, assignment] # there is no other place for it

    def path_of(self, filename: str) -> str | None:
        """Return a file's path in the tree if this object serves the file; None for any other file."""
        full = os.path.normpath(os.path.join(os.getcwd(), filename))
        path = full[len(self.root) :].replace(os.sep, "/")
        return path if full.startswith(self.root) and path not in self._tests else None

    def tree(self, path: str) -> ast.Module:
        """Parse a file as it is, without ticks."""
        with open(self.root + path, "rb") as source:
            return ast.parse(source.read(), self.root + path)

    def code(self, path: str) -> CodeType:
        """Return the compiled code of a module, instrumented if `is_ticking` is true."""
        tree = self.over.get(path) or self.tree(path)
        if self.is_ticking:
            ticking(tree)
        code: CodeType = compile(tree, self.root + path, "exec", dont_inherit=True)
        self.codes[path] = code
        return code
