"""Reads Python source into a syntax tree, one thread at a time.

CPython before 3.13 counts the depth of the tree that it builds in one place for all threads. A garbage collection in
the middle may let another thread build a tree too, and then either ends with "AST constructor recursion depth mismatch"
(https://github.com/python/cpython/issues/106905). Suites are planned in threads, so all packages read source here.
"""

from __future__ import annotations

import ast
import threading
import warnings

from nightshift.core.text.encoding import encode

_TURN = threading.RLock()


def parse(text: str | bytes) -> ast.Module:
    """The tree of a module.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: as `ast.parse`.
    """
    with _TURN:
        try:
            return ast.parse(text)
        except UnicodeEncodeError:  # a text that is no UTF-8 is read in the encoding that its own first lines name
            return ast.parse(encode(text) if isinstance(text, str) else text)


def parse_quietly(text: str) -> ast.Module | None:
    """The tree of a module, or None for what is none; warnings about the text are not given."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None


def syntax_fault(text: str) -> str | None:
    """Tell why a file's text is no Python, with the line where it can be told; None where it is."""
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
    """The tree of an expression; raises as `parse`."""
    with _TURN:
        return ast.parse(text, mode="eval").body
