"""Whether a fault takes something out of a program that stands nowhere else in it.

An engine that knows no model can copy, turn and combine what is there; what somebody thought of once and what is gone
without a trace it can only meet by chance. Such faults are counted apart. A piece of a program is not lost if another
piece differs from it in one word at most, or if it is one of the usual guards against what is empty, None or zero.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator

TAKING = frozenset({"statement deleted", "guard deleted", "clause missing", "condition missing", "return lost"})
"""The kinds of faults that take something away; all others leave what is needed in its place, changed."""
_USUAL = re.compile(
    r"(not )?[\w.]+|[\w.]+ is (not )?None|(len\([\w.]+\)|[\w.]+) (==|!=|<=|<|>|>=) [01]|"
    r"return( (-1|''|\[\]|\{\}|[\w.]+))?|continue|break"
)


def is_lost(kind: str, before: ast.Module, after: ast.Module) -> bool:
    """Tell whether a fault of this kind took away what stands nowhere else."""
    if kind not in TAKING:
        return False
    left = set(_pieces(after))
    gone = [piece for piece in _pieces(before) if piece not in left]
    return any(not _USUAL.fullmatch(piece) and not _is_near(piece, left) for piece in gone)


def _pieces(tree: ast.Module) -> Iterator[str]:
    """Simple statements, conditions and parts of conditions, as text."""
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and not hasattr(node, "body"):
            yield ast.unparse(node)
        for test in [getattr(node, "test", None), *getattr(node, "ifs", ())]:
            if isinstance(test, ast.BoolOp):
                yield from map(ast.unparse, test.values)
            elif isinstance(test, ast.expr):
                yield ast.unparse(test)


def _is_near(piece: str, others: Iterable[str]) -> bool:
    words = _words(piece)
    for other in others:
        found = _words(other)
        if len(found) == len(words) and sum(a != b for a, b in zip(words, found, strict=True)) <= 1:
            return True
    return False


def _words(text: str) -> list[str]:
    return [token.string for token in tokenize.generate_tokens(io.StringIO(text).readline) if token.string.strip()]
