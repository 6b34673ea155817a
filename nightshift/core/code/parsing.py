"""Parses Python source into a syntax tree, in one thread at a time, and finds functions without an implementation.

CPython before 3.13 counts the depth of the tree that it builds in a counter that all threads share. A garbage
collection during the parsing may let another thread build a tree too, and then one of the two fails with "AST
constructor recursion depth mismatch" (https://github.com/python/cpython/issues/106905). Test suites are planned in
several threads, so all packages parse source here.
"""

from __future__ import annotations

import ast
import re
import threading
import warnings

from nightshift.core.code.paths import is_test_path
from nightshift.core.text.encoding import encode

_TURN = threading.RLock()
_OF_TESTS = re.compile(r"(?:.*\.)?_*test|assert|pytest|unittest|\*\Z", re.IGNORECASE)
_IN_TEXTS = re.compile(r"test_\w*\Z|.*>>>", re.DOTALL)
"""Matches a text that may name a generated test, or that has an example for doctest."""


def parse(text: str | bytes) -> ast.Module:
    """Return the syntax tree of a module.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: As `ast.parse`.
    """
    with _TURN:
        try:
            return ast.parse(text)
        except UnicodeEncodeError:  # Text that is not UTF-8 is read in the encoding that its first lines name
            return ast.parse(encode(text) if isinstance(text, str) else text)


def parse_quietly(text: str) -> ast.Module | None:
    """Return the tree of a module, or None if the text does not parse; warnings about the text are suppressed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None


def syntax_fault(text: str) -> str | None:
    """Return why a text is not valid Python, with the line if known; None if it is valid."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            parse(encode(text))
        except SyntaxError as error:
            return f"line {error.lineno}: {error.msg}" if error.lineno else str(error.msg)
        except ValueError as error:
            return str(error)
        except (RecursionError, MemoryError):
            return "is nested too deeply to be read"
    return None


def parse_expression(text: str) -> ast.expr:
    """Return the syntax tree of an expression; raises the same errors as `parse`."""
    with _TURN:
        return ast.parse(text, mode="eval").body


def is_stub(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Return True if a function has no implementation.

    It then only has a docstring, `...`, `pass` or `return None`, or only raises NotImplementedError.
    """
    return all(map(_is_vacuous, node.body))


def _is_vacuous(statement: ast.stmt) -> bool:
    match statement:
        case ast.Pass() | ast.Return(value=None) | ast.Return(value=ast.Constant(value=None)):
            return True
        case ast.Expr(value=ast.Constant()):
            return True
        case ast.Raise(exc=ast.Name(id="NotImplementedError") | ast.Call(func=ast.Name(id="NotImplementedError"))):
            return True
    return False


def is_shell(text: str) -> bool:
    """Return True if Python code has functions and all of them are stubs."""
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError, RecursionError):
        return False
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return bool(functions) and all(map(is_stub, functions))


def is_test_file(path: str, *texts: str) -> bool:
    """Return True if a path is a test, unless no text of the Python module has a trace of a test.

    Products have modules with names such as `ab_test.py`.
    """
    is_module = path.endswith(".py") and not path.endswith("conftest.py")
    return is_test_path(path) and not (is_module and not any(map(_has_tests, texts)))


def _has_tests(text: str) -> bool:
    tree = parse_quietly(text)
    return tree is None or any(map(_is_of_tests, ast.walk(tree)))


def _is_of_tests(node: ast.AST) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str) and _IN_TEXTS.match(node.value) is not None
    names = (getattr(node, field, None) for field in ("name", "id", "attr", "module"))
    return isinstance(node, ast.Assert) or any(isinstance(name, str) and _OF_TESTS.match(name) for name in names)
